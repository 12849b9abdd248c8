"""The settings of each method, by name and from TOML files."""

from turnwise._utils.names import METHODS
from turnwise.training.recipes.base import EncoderRecipe, Inputs, Recipe
from turnwise.training.recipes.complete import Complete
from turnwise.training.recipes.in_context import InContext
from turnwise.training.recipes.registry import get_recipe, read_recipe
from turnwise.training.recipes.reply_head import ReplyHeadRecipe
from turnwise.training.recipes.settings import Pace, Schedule

__all__ = [
    "METHODS",
    "Complete",
    "EncoderRecipe",
    "InContext",
    "Inputs",
    "Pace",
    "Recipe",
    "ReplyHeadRecipe",
    "Schedule",
    "get_recipe",
    "read_recipe",
]
