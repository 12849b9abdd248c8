"""Self-dialogue corpus: CSV, one person playing both sides in ``Answer.sentence1``, ``Answer.sentence2``, ….

The topic is the file's name without its digits (``fashion2.csv`` is about fashion). Runs of whitespace, which the
crowd workers' typing left in many sentences, become one space; blank sentences are dropped.
"""

from __future__ import annotations

import re
from itertools import count, takewhile
from typing import Any

from turnlens.formats.bad_input import parse_record
from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import Source


def convert(raw: Any, source: Source) -> dict[str, Any]:
    """Sides alternate over all columns; only then are blank sentences dropped."""
    record = parse_record(raw)
    columns = list(takewhile(record.__contains__, (f"Answer.sentence{i}" for i in count(1))))
    if not columns:
        raise KeyError("Answer.sentence1")
    sentences = [" ".join(record[column].split()) for column in columns]
    roles = ("user", "assistant")
    return {
        "id": record["AssignmentId"],
        "topic": re.sub(r"\d+", "", source.stem).strip("_- "),
        "messages": [{"role": roles[i % 2], "content": text} for i, text in enumerate(sentences) if text],
    }


def matches(head: Head) -> bool:
    """``AssignmentId`` is the column of the crowd-working platform."""
    return {"AssignmentId", "Answer.sentence1"} <= head.keys


FORMAT = Format(
    name="self_dialogue",
    description="Self-dialogue corpus (CSV)",
    layout="CSV with the columns AssignmentId, Answer.sentence1, Answer.sentence2, …",
    records=Source.rows,
    convert=convert,
    matches=matches,
)
