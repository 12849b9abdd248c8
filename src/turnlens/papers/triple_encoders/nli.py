"""Natural language inference pairs as a second objective beside the conversations, for CCL and C3L.

Batches of pairs and of conversations alternate (round robin) until one of the two is used up. The loss of the pairs is
the library's contrastive loss: entailed pairs are pulled together, and all others are pushed apart.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar

from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.data_collator import SentenceTransformerDataCollator
from torch import Tensor

_LABELS = ("entailment", "neutral", "contradiction")


def read_nli(path: str | os.PathLike[str], neutral: int = 0) -> Dataset:
    """Read pairs from a JSONL, CSV or TSV file (perhaps ``.gz``) with ``premise``, ``hypothesis`` and ``label``.

    Args:
        path: The file. A label is ``entailment``, ``neutral`` or ``contradiction``; rows labelled ``-`` (no agreement
            in SNLI) are left out. A TSV file is ``AllNLI.tsv.gz`` as it is distributed: the texts are ``sentence1``
            and ``sentence2``, nothing is quoted, and of the column ``split`` only ``train`` counts.
        neutral: What neutral pairs are labelled, see `turnlens.papers.triple_encoders.recipe.TurnOrder`.

    Returns:
        Columns ``premise``, ``hypothesis`` and ``label``: 1 where the hypothesis is entailed, 0 where it contradicts.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file has another ending, a row is not as expected (the message names the line), or there are no
            pairs.
    """
    path = Path(path)
    name = path.name.removesuffix(".gz")
    if not name.endswith((".jsonl", ".csv", ".tsv")):
        raise ValueError(f"{path}: expected natural language inference pairs in a .jsonl, .csv or .tsv file")
    rows = _tsv_rows if name.endswith(".tsv") else _csv_rows if name.endswith(".csv") else _json_rows
    labels = dict(zip(_LABELS, (1, neutral, 0)))
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8", newline="") as file:
            pairs = [_pair(row, labels, f"{path}:{line}") for line, row in rows(file, path)]
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not UTF-8 text; save the file as UTF-8") from None
    except (EOFError, zlib.error, gzip.BadGzipFile, csv.Error) as error:
        raise ValueError(f"{path}: the file is damaged ({error}); download or write it again") from None
    kept = [pair for pair in pairs if pair is not None]
    if not kept:
        raise ValueError(f"{path}: holds no pairs")
    return Dataset.from_list(kept)


def _csv_rows(file: IO[Any], path: Path) -> Iterator[tuple[int, Any]]:
    reader = csv.DictReader(file)
    for row in reader:
        yield reader.line_num, row


def _tsv_rows(file: IO[Any], path: Path) -> Iterator[tuple[int, Any]]:
    reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    for row in reader:
        if row.get("split", "train") == "train":
            texts = {"premise": row.get("sentence1"), "hypothesis": row.get("sentence2")}
            yield reader.line_num, {"label": row.get("label"), **texts}


def _json_rows(file: IO[Any], path: Path) -> Iterator[tuple[int, Any]]:
    for line, text in enumerate(file, start=1):
        try:
            yield line, json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}:{line}: not JSON: {error}") from error


def _pair(row: Any, labels: dict[str, int], where: str) -> dict[str, Any] | None:
    values = [row.get(name) if isinstance(row, dict) else None for name in ("premise", "hypothesis", "label")]
    premise, hypothesis, label = values
    if label == "-":
        return None
    if not all(isinstance(value, str) for value in values) or label not in labels:
        raise ValueError(
            f"{where}: expected texts premise and hypothesis and a label among {', '.join(_LABELS)}, got {values}"
        )
    return {"premise": premise, "hypothesis": hypothesis, "label": labels[label]}


CONVERSATIONS, PAIRS = "conversations", "nli"


class MixedCollator:
    """Collates a batch of conversations or of pairs, and says which it is, so that the trainer picks the right loss.

    Args:
        encoder: The encoder.
        conversations: The collator of the conversations.
        max_length: Longest premise or hypothesis in tokens.
    """

    valid_label_columns: ClassVar[list[str]] = ["label"]

    def __init__(
        self, encoder: SentenceTransformer, conversations: Callable[..., dict[str, Tensor]], max_length: int
    ) -> None:
        self.conversations = conversations
        self.pairs = SentenceTransformerDataCollator(
            encoder.preprocess, valid_label_columns=self.valid_label_columns, max_length=max_length
        )

    def set_epoch(self, epoch: int) -> None:
        """Tell the collator of the conversations the epoch, if it has a ``set_epoch``."""
        if hasattr(self.conversations, "set_epoch"):
            self.conversations.set_epoch(epoch)

    def __call__(self, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Collate rows that all have the same ``dataset_name``; a row of pairs holds a list of them."""
        if rows[0]["dataset_name"] == PAIRS:
            names = [name for name in rows[0] if name != "dataset_name"]
            pairs = [dict(zip(names, pair)) for row in rows for pair in zip(*(row[name] for name in names))]
            return dict(self.pairs([{"dataset_name": PAIRS, **pair} for pair in pairs]))
        return {"dataset_name": CONVERSATIONS, **self.conversations(rows)}
