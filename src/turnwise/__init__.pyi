# The public face: what is imported here is what `import turnwise` offers, at run time as well (see __init__.py).

from . import collators as collators
from . import evaluation as evaluation
from . import explorer as explorer
from . import losses as losses
from . import papers as papers
from . import replies as replies
from . import service as service
from . import store as store
from . import training as training
from .collators import UtteranceCollator as UtteranceCollator
from .data.cleaning import drop_empty_messages as drop_empty_messages
from .data.cleaning import keep_long_enough as keep_long_enough
from .data.cleaning import merge_consecutive_messages as merge_consecutive_messages
from .data.conversations import convert_conversations as convert_conversations
from .data.conversations import read_conversations as read_conversations
from .data.sample_corpus import sample_conversations as sample_conversations
from .data.splitting import split_conversations as split_conversations
from .distributed.corpus import embed_corpus as embed_corpus
from .distributed.datasets import embed_dataset as embed_dataset
from .distributed.datasets import read_dataset as read_dataset
from .encoders.conversation_encoder import ConversationEncoder as ConversationEncoder
from .encoders.history import add_history as add_history
from .encoders.loading import load_encoder as load_encoder
from .encoders.static import distill_static as distill_static
from .encoders.vector_cache import VectorCache as VectorCache
from .errors import ConversationError as ConversationError
from .evaluation import evaluate as evaluate
from .evaluation import mteb_tasks as mteb_tasks
from .explorer import explore as explore
from .replies import ReplyModel as ReplyModel
from .store import ConversationStore as ConversationStore
from .training import adapt_encoder as adapt_encoder
from .training import centre_encoder as centre_encoder
from .training import merge_encoders as merge_encoders
from .training import recipes as recipes
from .training import train as train
from .training.recipes import get_recipe as get_recipe

__version__: str
