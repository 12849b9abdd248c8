"""Training an encoder on conversations, and the recipes of all methods."""

from turnlens._utils.registries import require_training

require_training()

from turnlens.training import recipes  # noqa: E402 (needs what was just required)
from turnlens.training.model_card import TrainingReport  # noqa: E402
from turnlens.training.recipes import METHODS, get_recipe, read_recipe  # noqa: E402

__all__ = ["METHODS", "TrainingReport", "get_recipe", "read_recipe", "recipes"]
