"""The README of a saved model: how it was made and how to use it, but nothing from its training data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from turnwise.encoders.centre import CENTRE_FILES
from turnwise.encoders.reply_head import HEAD_FILES

_CARD = """---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags: [sentence-transformers, turnwise, conversations]
---

# {level} encoder trained with turnwise

```python
from sentence_transformers import SentenceTransformer

encoder = SentenceTransformer("path/to/this/folder")
embeddings = encoder.encode({example})
```

{note}Started from: {encoder}

Trained on: {conversations}

| setting | value |
|---|---|
{settings}
"""


_EXAMPLES = {
    "utterance": '["where is my parcel", "i want to speak to a human"]',
    "turn-order": '["where is my parcel"], prompt_name="after"',
    "dialogue": '[[{"role": "user", "content": "where is my parcel"}, {"role": "assistant", "content": "on its way"}]]',
}


def without_paths(record: dict[str, Any]) -> dict[str, Any]:
    """A training record fit for publication, without the folders in which files were kept."""
    shown = {**record, "recipe": dict(record.get("recipe", {}))}
    for of, name in ((shown, "encoder"), (shown["recipe"], "teacher"), (shown["recipe"], "nli")):
        if of.get(name):
            of[name] = "/".join(Path(of[name]).parts[-1 if name == "nli" else -2 :])  # two parts, like a Hub name
    return shown


def model_card(record: dict[str, Any], has_head: bool, has_centre: bool) -> str:
    """The card of a model from its training record (see ``training.json`` beside it).

    Args:
        record: The record.
        has_head: Whether the model has a reply head.
        has_centre: Whether it has a centre.
    """
    rows = "\n".join(f"| {name} | {value} |" for name, value in record.get("recipe", {}).items())
    level = record.get("level", "utterance")
    has_tables = record.get("recipe", {}).get("turn_inputs", False)
    note = "Its turn and role inputs need `turnwise.load_encoder` and `encode_conversations`.\n\n" if has_tables else ""
    if has_centre:
        note += f"Its centre, {CENTRE_FILES[0]}, needs `turnwise.load_encoder` and `encode_conversations`.\n\n"
    if has_head:
        note += f"Its reply head, {HEAD_FILES[0]}, is for `turnwise.SequenceModel`; `encode` goes on without it.\n\n"
    elif level == "turn-order":
        note += "Its views are prompts, listed in `encoder.prompts`. See turnwise for how their cosines are used.\n\n"
    texts = {"note": note, "level": level.capitalize(), "example": _EXAMPLES["utterance" if has_head else level]}
    return _CARD.format(
        **texts,
        encoder=record.get("encoder", "unknown"),
        conversations=record.get("conversations", "unknown"),
        settings=rows,
    )
