# What `turnlens.training.recipes` offers, at run time as well (see __init__.py).

from .base import METHODS as METHODS
from .base import EncoderRecipe as EncoderRecipe
from .base import Inputs as Inputs
from .base import Recipe as Recipe
from .base import get_recipe as get_recipe
from .base import read_recipe as read_recipe
from .complete import Complete as Complete
from .in_context import InContext as InContext
from .reply_head import ReplyHeadRecipe as ReplyHeadRecipe
from .settings import Pace as Pace
from .settings import Schedule as Schedule
