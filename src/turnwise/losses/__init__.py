"""The objectives: one paper, one file."""

from turnwise.losses.c3l import C3LLoss
from turnwise.losses.ccl import CCLLoss
from turnwise.losses.dial2vec import Dial2vecLoss
from turnwise.losses.dialogue_cse import DialogueCSELoss, context_aware_embeddings
from turnwise.losses.siamese import SiameseLoss
from turnwise.losses.single_vector import SingleVectorLoss

__all__ = [
    "C3LLoss",
    "CCLLoss",
    "Dial2vecLoss",
    "DialogueCSELoss",
    "SiameseLoss",
    "SingleVectorLoss",
    "context_aware_embeddings",
]
