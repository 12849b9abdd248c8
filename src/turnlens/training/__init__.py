"""Training an encoder on conversations, and the recipes of all methods."""

from turnlens.training import recipes
from turnlens.training.recipes import METHODS, get_recipe, read_recipe
from turnlens.training.training_report import TrainingReport

__all__ = ["METHODS", "TrainingReport", "get_recipe", "read_recipe", "recipes"]
