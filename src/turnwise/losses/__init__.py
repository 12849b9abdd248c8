"""The losses: one paper, one file, with its settings."""

from turnwise.losses.base import ConversationLoss
from turnwise.losses.c3l import C3LLoss, C3LSettings
from turnwise.losses.ccl import CCLLoss, CCLSettings
from turnwise.losses.composed import ComposedSettings, composed_loss
from turnwise.losses.dial2vec import Dial2vecLoss, Dial2vecSettings
from turnwise.losses.dialogue_cse import DialogueCSELoss, DialogueCSESettings, context_aware_embeddings
from turnwise.losses.in_context import InContextLoss, InContextSettings
from turnwise.losses.local_to_global import LocalToGlobalLoss, LocalToGlobalSettings
from turnwise.losses.siamese import SiameseLoss, SiameseSettings
from turnwise.losses.single_vector import SingleVectorLoss, SingleVectorSettings
from turnwise.losses.unified import UnifiedLoss, UnifiedSettings

__all__ = [
    "C3LLoss",
    "C3LSettings",
    "CCLLoss",
    "CCLSettings",
    "ComposedSettings",
    "ConversationLoss",
    "Dial2vecLoss",
    "Dial2vecSettings",
    "DialogueCSELoss",
    "DialogueCSESettings",
    "InContextLoss",
    "InContextSettings",
    "LocalToGlobalLoss",
    "LocalToGlobalSettings",
    "SiameseLoss",
    "SiameseSettings",
    "SingleVectorLoss",
    "SingleVectorSettings",
    "UnifiedLoss",
    "UnifiedSettings",
    "composed_loss",
    "context_aware_embeddings",
]
