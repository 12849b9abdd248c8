"""Writing a trained encoder."""

from __future__ import annotations

import json
import os
from typing import Any

from sentence_transformers import SentenceTransformer

from turnwise._utils.files import atomic_path
from turnwise.encoders.centre import centre_of, save_centre
from turnwise.encoders.reply_head import reply_head_of, save_reply_head
from turnwise.training.model_card import model_card, without_paths


def save_encoder(encoder: SentenceTransformer, output: str | os.PathLike[str], record: dict[str, Any]) -> None:
    """Write an encoder as a stock SentenceTransformer, with a model card and how it was trained."""
    record = without_paths(record)
    with atomic_path(output) as temporary:
        # Without the library's own card: it would quote conversations of the training data.
        encoder.save_pretrained(str(temporary), create_model_card=False)
        save_reply_head(encoder, temporary)
        save_centre(encoder, temporary)
        (temporary / "training.json").write_text(json.dumps(record, indent=2), encoding="utf-8")
        has_head, has_centre = reply_head_of(encoder) is not None, bool(centre_of(encoder))
        card = model_card(record, has_head, has_centre)
        (temporary / "README.md").write_text(card, encoding="utf-8")
