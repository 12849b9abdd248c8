"""Pairs of a question and an answer, one pair per row.

Fine-tuning rows of OpenAI (``prompt``, ``completion``), TRL (also as lists of messages, and ``prompt``, ``chosen``,
``rejected``), OpenAI's preferences (``input``, ``preferred_output``), Alpaca (``instruction``, ``input``, ``output``),
Dolly (``instruction``, ``context``, ``response``), and ``question``, ``answer``. JSONL, JSON, CSV or Parquet.

Sources: https://huggingface.co/docs/trl/dataset_formats,
https://platform.openai.com/docs/guides/direct-preference-optimization, https://github.com/tatsu-lab/stanford_alpaca.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from turnlens.formats.bad_input import BadRow, parse_record
from turnlens.formats.chat import plain_messages
from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import Source

_PAIRS = (
    ("prompt", "completion"),
    ("prompt", "response"),
    ("prompt", "chosen"),
    ("input", "preferred_output"),
    ("instruction", "output"),
    ("instruction", "response"),
    ("question", "answer"),
)
_FURTHER_INPUT = ("input", "context")  # what an instruction is about


def convert(raw: Any, source: Source) -> dict[str, Any]:
    """Two messages, or as many as the lists have; an instruction's input follows it after a blank line."""
    row = parse_record(raw)
    pair = _pair(row)
    if pair is None:
        raise KeyError(" and ".join(_PAIRS[0]))
    asked, answered = _said(row.pop(pair[0]), "user", pair[0]), _said(row.pop(pair[1]), "assistant", pair[1])
    if pair[0] == "instruction":
        further = [row.pop(name) for name in _FURTHER_INPUT if isinstance(row.get(name), str)]
        asked[-1]["content"] = "\n\n".join(filter(None, [asked[-1]["content"], *further]))
    return {**row, "messages": [*asked, *answered]}


def _pair(keys: Collection[str]) -> tuple[str, str] | None:
    return next((pair for pair in _PAIRS if pair[0] in keys and pair[1] in keys), None)


def _said(value: Any, role: str, key: str) -> list[Any]:
    if isinstance(value, str):
        return [{"role": role, "content": value}]
    messages = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(messages, list) or not messages:
        raise BadRow(f"found no text under {key!r}; expected one, or a list of messages")
    return plain_messages(messages)


def matches(head: Head) -> bool:
    """Any of the pairs of names."""
    return _pair(head.keys) is not None


FORMAT = Format(
    name="pairs",
    description="prompts and completions, instructions and outputs, questions and answers",
    layout="two columns: " + ", or ".join(" and ".join(pair) for pair in _PAIRS),
    records=Source.records,
    convert=convert,
    matches=matches,
)
