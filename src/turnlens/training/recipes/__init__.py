"""The settings of each method, by name and from TOML files."""

from turnlens._utils.registries import METHODS
from turnlens.training.recipes.base import EncoderRecipe, Inputs, Recipe, get_recipe, read_recipe
from turnlens.training.recipes.complete import Complete
from turnlens.training.recipes.in_context import InContext
from turnlens.training.recipes.reply_head import ReplyHeadRecipe
from turnlens.training.recipes.settings import Pace, Schedule

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
