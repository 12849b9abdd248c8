"""The settings of each method, by name and from TOML files."""

from turnwise.training.recipes.base import Adaptation, Inputs, Pace, Recipe, Schedule
from turnwise.training.recipes.heads import TurnOrderHeadRecipe
from turnwise.training.recipes.in_context import InContext
from turnwise.training.recipes.registry import METHODS, get_recipe, read_recipe

__all__ = [
    "METHODS",
    "Adaptation",
    "InContext",
    "Inputs",
    "Pace",
    "Recipe",
    "Schedule",
    "TurnOrderHeadRecipe",
    "get_recipe",
    "read_recipe",
]
