# What `turnlens.training.losses` offers, at run time as well (see __init__.py).

from .base import ConversationLoss as ConversationLoss
from .base import CosineSettings as CosineSettings
from .composed import ComposedSettings as ComposedSettings
from .composed import composed_loss as composed_loss
from .in_context import InContextLoss as InContextLoss
from .in_context import RequestAnswerLoss as RequestAnswerLoss
