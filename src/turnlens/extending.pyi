# What `turnlens.extending` offers, at run time as well (see extending.py).

from ._utils.arguments import Settings as Settings
from ._utils.arguments import check_positive as check_positive
from ._utils.vectors import bootstrap_interval as bootstrap_interval
from .encoders.forward import encode_sliced as encode_sliced
from .encoders.forward import full_precision as full_precision
from .encoders.forward import sliced_means as sliced_means
from .encoders.forward import take as take
from .errors import ConversationError as ConversationError
from .evaluation.scoring import sample_queries as sample_queries
from .evaluation.scoring import unit_embeddings as unit_embeddings
from .evaluation.task import CONVERSATION as CONVERSATION
from .evaluation.task import MESSAGE as MESSAGE
from .evaluation.task import LoadSettings as LoadSettings
from .evaluation.task import Task as Task
from .training.collators import TextCollator as TextCollator
from .training.losses.base import ConversationLoss as ConversationLoss
from .training.losses.base import CosineSettings as CosineSettings
from .training.losses.in_batch import InBatchSettings as InBatchSettings
from .training.losses.in_batch import batch_softmax as batch_softmax
from .training.losses.in_batch import check_batch_size as check_batch_size
from .training.recipes.base import EncoderRecipe as EncoderRecipe
from .training.recipes.base import Inputs as Inputs
