"""Training an encoder on conversations."""

from turnwise.training import recipes
from turnwise.training.adaptation import adapt_encoder
from turnwise.training.centre import centre_encoder
from turnwise.training.merging import merge_encoders
from turnwise.training.train import adapt_and_save, train

__all__ = ["adapt_and_save", "adapt_encoder", "centre_encoder", "merge_encoders", "recipes", "train"]
