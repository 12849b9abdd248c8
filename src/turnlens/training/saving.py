"""Writing a trained encoder."""

from __future__ import annotations

import json
import os
from typing import Any

from sentence_transformers import SentenceTransformer

from turnlens._utils.files import atomic_path
from turnlens._utils.registries import REPLY_MODELS
from turnlens.encoders.added_weights import added_modules
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.identity import set_encoder_source
from turnlens.training.model_card import model_card, without_paths


def save_encoder(encoder: SentenceTransformer, output: str | os.PathLike[str], record: dict[str, Any]) -> None:
    """Write an encoder as a stock SentenceTransformer, with a model card and how it was trained.

    From now on it is known by this folder, see `encoder_source`.
    """
    encoder, record = ConversationEncoder.of(encoder), without_paths(record)
    with atomic_path(output) as temporary:
        # Without the library's own card: it would quote conversations of the training data.
        encoder.save_pretrained(str(temporary), create_model_card=False)
        (temporary / "training.json").write_text(json.dumps(record, indent=2), encoding="utf-8")
        prompt = next((name for name in encoder.prompts if name in REPLY_MODELS), None)
        has_head, has_added = encoder.reply_head is not None, bool(added_modules(encoder))
        card = model_card(record, has_head, bool(encoder.centre), has_added, prompt)
        (temporary / "README.md").write_text(card, encoding="utf-8")
    set_encoder_source(encoder, os.fspath(output))
