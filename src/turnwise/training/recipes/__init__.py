"""The settings of each method, by name and from TOML files."""

from turnwise.training.recipes.base import Adaptation, Pace, Recipe, Schedule
from turnwise.training.recipes.dialogues import Dial2vec, LocalToGlobal
from turnwise.training.recipes.heads import TurnOrderHeadRecipe
from turnwise.training.recipes.in_context import InContext
from turnwise.training.recipes.registry import RECIPES, get_recipe, read_recipe, with_current_names
from turnwise.training.recipes.turn_order import C3L, CCL
from turnwise.training.recipes.unified import Unified
from turnwise.training.recipes.utterances import DialogueCSE, Siamese, SingleVector

__all__ = [
    "C3L",
    "CCL",
    "RECIPES",
    "Adaptation",
    "Dial2vec",
    "DialogueCSE",
    "InContext",
    "LocalToGlobal",
    "Pace",
    "Recipe",
    "Schedule",
    "Siamese",
    "SingleVector",
    "TurnOrderHeadRecipe",
    "Unified",
    "get_recipe",
    "read_recipe",
    "with_current_names",
]
