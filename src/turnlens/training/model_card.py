"""The model card of a trained encoder, and the folder that holds both."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer

import turnlens
from turnlens._utils.files import atomic_path
from turnlens._utils.registries import REPLY_MODELS
from turnlens.encoders.centre import CENTRE_FILE
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.reply_scores import HEAD_FILE
from turnlens.encoders.transformer import added_modules
from turnlens.training.training_report import TrainingReport

_CARD = """---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags: [sentence-transformers, turnlens, conversations]
---

# {level} encoder trained with turnlens

```python
from sentence_transformers import SentenceTransformer

encoder = SentenceTransformer("path/to/this/folder")
embeddings = encoder.encode({example})
```

{note}Started from: {encoder}

Trained on: {conversations}

{figures}| setting | value |
|---|---|
{settings}
{citation}"""

_CITATION = """
The paper of its method:

```bibtex
{bibtex}
```
"""

_EXAMPLES = {
    "message": '["where is my parcel", "i want to speak to a human"]',
    "conversation": '[[{"role": "user", "content": "where is my parcel"}, {"role": "agent", "content": "on its way"}]]',
}


def without_paths(record: dict[str, Any]) -> dict[str, Any]:
    """A training record fit for publication, without the folders in which files were kept."""
    shown = {**record, "recipe": dict(record.get("recipe", {}))}
    for of, name in ((shown, "encoder"), (shown["recipe"], "teacher"), (shown["recipe"], "nli")):
        if of.get(name):
            of[name] = "/".join(Path(of[name]).parts[-1 if name == "nli" else -2 :])  # two parts, like a Hub name
    return shown


def model_card(
    record: dict[str, Any], has_head: bool, has_centre: bool, has_added: bool, prompt: str | None = None
) -> str:
    """The card of a model from its training record (see ``training.json`` beside it).

    Args:
        record: The record.
        has_head: Whether the model has a reply head.
        has_centre: Whether it has a centre.
        has_added: Whether its method has added weights to its transformer.
        prompt: A prompt that texts need, as its method trained it.
    """
    rows = "\n".join(f"| {name} | {value} |" for name, value in record.get("recipe", {}).items())
    level = record.get("level", "message")
    note = "Its added inputs need `turnlens.load_encoder` and `encode_conversations`.\n\n" if has_added else ""
    if has_centre:
        note += f"Its centre, {CENTRE_FILE}, needs `turnlens.load_encoder` and `encode_conversations`.\n\n"
    if has_head:
        note += f"Its reply head, {HEAD_FILE}, is for `turnlens.ReplyModel`; `encode` works without it.\n\n"
    elif prompt is not None:
        note += "Its prompts, listed in `encoder.prompts`, say what a text is to it; see turnlens for their use.\n\n"
    example = _EXAMPLES["conversation" if level == "conversation" else "message"]
    if prompt is not None and not has_head:
        example += f', prompt_name="{prompt}"'
    texts = {"note": note, "level": level.capitalize(), "example": example}
    return _CARD.format(
        **texts,
        encoder=record.get("encoder", "unknown"),
        conversations=record.get("conversations", "unknown"),
        settings=rows,
        figures=f"{TrainingReport(record)}\n\n" if "held_out" in record else "",
        citation=_CITATION.format(bibtex=record["citation"]) if record.get("citation") else "",
    )


def save_encoder(encoder: SentenceTransformer, output: str | os.PathLike[str], record: dict[str, Any]) -> None:
    """Write an encoder as a stock SentenceTransformer, with a model card and how it was trained.

    From now on it is known by this folder, see `encoder_source`.
    """
    encoder, record = ConversationEncoder.of(encoder), without_paths({"turnlens": turnlens.__version__, **record})
    with atomic_path(output) as temporary:
        # Without the library's own card: it would quote conversations of the training data.
        encoder.save_pretrained(str(temporary), create_model_card=False)
        (temporary / "training.json").write_text(json.dumps(record, indent=2), encoding="utf-8")
        prompt = next((name for name in encoder.prompts if name in REPLY_MODELS), None)
        has_head, has_added = encoder.reply_head is not None, bool(added_modules(encoder))
        card = model_card(record, has_head, bool(encoder.centre), has_added, prompt)
        (temporary / "README.md").write_text(card, encoding="utf-8")
    encoder.source = os.fspath(output)
