"""The result of a training, the model card of the encoder, and the folder that holds both."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
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


def model_card(encoder: ConversationEncoder, record: dict[str, Any]) -> str:
    """The card of a model, with its training record (see ``training.json`` beside it)."""
    prompt = next((name for name in encoder.prompts if name in REPLY_MODELS), None)  # which texts need
    rows = "\n".join(f"| {name} | {value} |" for name, value in record.get("recipe", {}).items())
    level = record.get("level", "message")
    note = ""
    if added_modules(encoder):
        note = "Its added inputs need `turnlens.load_encoder` and `encode_conversations`.\n\n"
    if encoder.centre:
        note += f"Its centre, {CENTRE_FILE}, needs `turnlens.load_encoder` and `encode_conversations`.\n\n"
    if encoder.reply_head is not None:
        note += f"Its reply head, {HEAD_FILE}, is for `turnlens.ReplyModel`; `encode` works without it.\n\n"
    elif prompt is not None:
        note += "Its prompts, listed in `encoder.prompts`, say what a text is to it; see turnlens for their use.\n\n"
    example = _EXAMPLES["conversation" if level == "conversation" else "message"]
    if prompt is not None and encoder.reply_head is None:
        example += f', prompt_name="{prompt}"'
    return _CARD.format(
        note=note,
        level=level.capitalize(),
        example=example,
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
        (temporary / "README.md").write_text(model_card(encoder, record), encoding="utf-8")
    encoder.source = os.fspath(output)


TITLES = {
    "next_message": "next message among those of other conversations, MRR",
    "in_context": "ten nearest messages, alone as in context, %",
    "stability": "groups of halves of the messages agree, adjusted, %",
}
_COLUMNS = ("before", "after", "difference")


@dataclass(frozen=True, repr=False)
class TrainingReport:
    """The record of a training, which is also in ``training.json``; shown as its table, in notebooks as HTML.

    Attributes:
        record: How many conversations were kept and left out, steps, losses, and figures on held-out conversations.

    Examples:
        >>> figures = {"stability": {"before": 40.0, "before_interval": [38, 42], "after": 44.0,
        ...     "after_interval": [42, 46], "difference": 4.0, "difference_interval": [2, 6]}}
        >>> report = TrainingReport({"held_out": {"conversations": 100, "figures": figures}})
        >>> report.before_after["stability"]["difference"]
        4.0
        >>> print(report.title)
        On 100 conversations held out from training, in percent, with 95 % intervals:
    """

    record: Mapping[str, Any]

    @property
    def before_after(self) -> dict[str, dict[str, Any]]:
        """The figures on held-out conversations in percent, each before, after and their difference, with intervals.

        Empty for methods that hold nothing out.
        """
        return dict(self.record.get("held_out", {}).get("figures", {}))

    @property
    def title(self) -> str:
        """The contents of the table; without a table, that there is none."""
        if not self.before_after:
            return "Nothing was held out from this training; turnlens.evaluate measures the encoder."
        conversations = self.record["held_out"]["conversations"]
        return f"On {conversations:,} conversations held out from training, in percent, with 95 % intervals:"

    def rows(self) -> list[list[str]]:
        """Return the cells of the table."""
        return [
            [TITLES[name], *(f"{figure[column]:.1f} ({_interval(figure, column)})" for column in _COLUMNS)]
            for name, figure in self.before_after.items()
        ]

    def __str__(self) -> str:
        if not self.before_after:
            return self.title
        lines = [["", *_COLUMNS], ["---"] * 4, *self.rows()]
        table = [f"| {' | '.join(cells)} |".replace("|  |", "| |").replace(" --- ", "---") for cells in lines]
        return "\n".join([self.title, "", *table])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = [
            "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
            for tag, cells in [("th", ["", *_COLUMNS]), *(("td", row) for row in self.rows())]
        ]
        table = f"<table>{''.join(lines)}</table>" if self.before_after else ""
        return f"<p>{escape(self.title)}</p>{table}"


def _interval(figure: Mapping[str, Any], column: str) -> str:
    low, high = figure[f"{column}_interval"]
    return f"{low:.1f} – {high:.1f}"
