"""Learn embeddings from conversations without labels, and put them to work."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Public name -> module. Loaded on first use, so that `import turnwise` and `turnwise --help` stay fast.
_PUBLIC = {
    "ConversationError": "turnwise.errors",
    "convert_conversations": "turnwise.conversations",
    "drop_empty_messages": "turnwise.conversations",
    "keep_long_enough": "turnwise.conversations",
    "merge_consecutive_messages": "turnwise.conversations",
    "read_conversations": "turnwise.conversations",
    "split_conversations": "turnwise.conversations",
    "sample_conversations": "turnwise.sample_corpus",
    "load_encoder": "turnwise.encoder",
    "encode_conversations": "turnwise.pooling",
    "encode_utterances": "turnwise.encoding",
    "ConversationCollator": "turnwise.conversation_collator",
    "TurnOrderCollator": "turnwise.turn_order_collator",
    "UtteranceCollator": "turnwise.collators",
    "CCLLoss": "turnwise.losses.ccl",
    "C3LLoss": "turnwise.losses.c3l",
    "Dial2vecLoss": "turnwise.losses.dial2vec",
    "DialogueCSELoss": "turnwise.losses.dialogue_cse",
    "context_aware_embeddings": "turnwise.losses.dialogue_cse",
    "SiameseLoss": "turnwise.losses.siamese",
    "SingleVectorLoss": "turnwise.losses.single_vector",
    "SequenceModel": "turnwise.sequence",
    "triple_query": "turnwise.sequence",
    "adapt_encoder": "turnwise.adaptation",
    "get_recipe": "turnwise.recipes",
    "train": "turnwise.training",
    "add_views": "turnwise.views",
    "add_turn_tables": "turnwise.turn_tables",
    "load_turn_tables": "turnwise.turn_tables",
    "evaluate": "turnwise.evaluation",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'turnwise' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return __all__
