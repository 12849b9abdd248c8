"""Training an encoder on conversations, and the recipes of all methods."""

from turnwise.training import recipes
from turnwise.training.recipes import METHODS, get_recipe, read_recipe

__all__ = ["METHODS", "get_recipe", "read_recipe", "recipes"]
