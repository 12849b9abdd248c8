# The public face: what is imported here is what `import turnlens` offers, at run time as well (see __init__.py).

from . import data as data
from . import evaluation as evaluation
from . import page as page
from . import papers as papers
from . import report as report
from . import scale as scale
from . import service as service
from . import store as store
from . import training as training
from .data.conversations import convert_conversations as convert_conversations
from .data.conversations import read_conversations as read_conversations
from .data.sample_corpus import sample_conversations as sample_conversations
from .encoders.conversation_encoder import ConversationEncoder as ConversationEncoder
from .encoders.loading import load_encoder as load_encoder
from .encoders.reply_model import ReplyModel as ReplyModel
from .errors import ConversationError as ConversationError
from .evaluation import evaluate as evaluate
from .page.explorer import explore as explore
from .report.clustering import cluster as cluster
from .scale.embed import embed as embed
from .store import ConversationStore as ConversationStore
from .training.centre import centre as centre
from .training.merging import merge as merge
from .training.train import train as train

__version__: str
