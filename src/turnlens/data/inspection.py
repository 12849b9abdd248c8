"""Counting what conversations hold, in one pass and with little memory, before anything is trained on them."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np

from turnlens.data.languages import language_of, tokenize
from turnlens.data.personal.person_names import holds_names
from turnlens.data.personal.redaction import PATTERNS, find_personal_data, searched_text

_MOST_VALUES = 1000  # distinct values of a label, or speakers; beyond this, new ones are only counted
_SHOWN_VALUES = 5


@dataclass
class Values:
    """Counts of the values of a label, or of speakers."""

    given: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    is_cut: bool = False
    least: str | None = None
    most: str | None = None
    searched: set[str] = field(default_factory=set)  # values that may be personal data

    def add(self, value: Any) -> None:
        """Count a value."""
        self.given += 1
        written = str(value)
        self.least = written if self.least is None else min(self.least, written)
        self.most = written if self.most is None else max(self.most, written)
        if written in self.counts or len(self.counts) < _MOST_VALUES:
            self.counts[written] += 1
            if (searched := searched_text(value)) is not None:
                self.searched.add(searched)
        else:
            self.is_cut = True

    def personal(self, label: str) -> set[str]:
        """Return the kinds of personal data in these values, and in the name of their label."""
        finds = [find_personal_data(label), *(find_personal_data(value, label) for value in self.searched)]
        return {kind for found in finds for kind, spans in found.items() if spans}

    def summary(self) -> dict[str, Any]:
        """Return the number of values, a lower bound if there are very many, and the most frequent ones."""
        return {
            "given": self.given,
            "distinct": len(self.counts),
            "distinct_is_cut": self.is_cut,
            "most_frequent": dict(self.counts.most_common(_SHOWN_VALUES)),
            "times": self._times(),
        }

    def _times(self) -> dict[str, str | None] | None:
        """Return the first and last value if there are many and all kept ones are times in ISO 8601."""
        is_times = len(self.counts) > _SHOWN_VALUES and all(map(_is_time, self.counts))
        return {"first": self.least, "last": self.most} if is_times else None


@dataclass
class Inspection:
    """Counts over conversations. It keeps the first one; of the texts of all others, only hashes."""

    first: dict[str, Any] | None = None
    speakers: Values = field(default_factory=Values)
    conversation_labels: dict[str, Values] = field(default_factory=dict)
    message_labels: dict[str, Values] = field(default_factory=dict)
    _numbers: dict[str, array[int]] = field(default_factory=lambda: defaultdict(lambda: array("q")))
    _hashes: dict[str, array[int]] = field(default_factory=lambda: defaultdict(lambda: array("q")))
    _languages: Counter[str] = field(default_factory=Counter)
    _personal: dict[str, Counter[str]] = field(
        default_factory=lambda: {name: Counter(found=0, messages=0) for name in PATTERNS}
    )
    _trainable: int = 0
    _empty: int = 0
    _following: int = 0

    def add(self, row: dict[str, Any]) -> None:
        """Count a conversation as `read_conversations` gives it."""
        messages = row["messages"]
        self.first = self.first or row
        if (language := language_of(messages)) is not None:
            self._languages[language] += 1
        self._numbers["turns"].append(len(messages))
        self._numbers["speakers"].append(len({message["role"] for message in messages}))
        self._hash("ids", row["id"])
        self._hash("conversations", "\n".join(f"{message['role']}\t{message['content']}" for message in messages))
        self._trainable += takes_turns(messages)
        self._following += sum(before["role"] == after["role"] for before, after in pairwise(messages))
        for name, value in row.items():
            if name not in ("id", "messages"):
                _count(self.conversation_labels, name, value)
        for message in messages:
            self._add_message(message)

    def _add_message(self, message: dict[str, Any]) -> None:
        text = message["content"].strip()
        self.speakers.add(message["role"])
        self._empty += not text
        self._numbers["tokens"].append(len(tokenize(text)))
        self._numbers["characters"].append(len(text))
        self._hash("messages", text)
        for name, spans in find_personal_data(text).items():
            if spans:
                self._personal[name].update(found=len(spans), messages=1)
        for name, value in message.items():
            if name not in ("role", "content"):
                _count(self.message_labels, name, value)

    def _hash(self, kind: str, text: str) -> None:
        self._hashes[kind].append(hash(text))

    def summary(self) -> dict[str, Any]:
        """Return all counts, ready for JSON."""
        labels = {**self.conversation_labels, **self.message_labels}
        return {
            "conversations": len(self._numbers["turns"]),
            "messages": len(self._numbers["tokens"]),
            "tokens": sum(self._numbers["tokens"]),
            "turns_per_conversation": _spread(self._numbers["turns"]),
            "tokens_per_message": _spread(self._numbers["tokens"]),
            "characters_per_message": _spread(self._numbers["characters"]),
            "speakers": self.speakers.summary(),
            "speakers_per_conversation": _spread(self._numbers["speakers"]),
            "languages": dict(self._languages.most_common()),
            "conversation_labels": {name: values.summary() for name, values in self.conversation_labels.items()},
            "message_labels": {name: values.summary() for name, values in self.message_labels.items()},
            "repeated": {kind: len(hashes) - len(np.unique(hashes)) for kind, hashes in self._hashes.items()},
            "trainable_conversations": self._trainable,
            "empty_messages": self._empty,
            "messages_by_the_same_speaker_again": self._following,
            "conversations_of_one_message": self._numbers["turns"].count(1),
            "conversations_of_one_speaker": self._numbers["speakers"].count(1),
            "personal_data": self._personal_data(),
            "labels_with_names": [name for name, values in labels.items() if holds_names(name, values.counts)],
        }

    def _personal_data(self) -> dict[str, dict[str, Any]]:
        """Return the counts of each kind in texts and messages, and the labels and speakers that hold some."""
        others = {"speakers": self.speakers, **self.conversation_labels, **self.message_labels}
        places = {place: values.personal(place) for place, values in others.items()}
        return {
            name: {**counts, "labels": [place for place, kinds in places.items() if name in kinds]}
            for name, counts in self._personal.items()
        }


def takes_turns(messages: list[dict[str, Any]]) -> bool:
    """Return true if training can learn from a conversation: it has two turns with a text."""
    roles = [message["role"] for message in messages if message["content"].strip()]
    turns = sum(before != after for before, after in pairwise(roles)) + 1
    return (turns if len(set(roles)) > 1 else len(roles)) > 1


def inspect_conversations(rows: Iterable[dict[str, Any]]) -> Inspection:
    """Count conversations in a single pass over them."""
    inspection = Inspection()
    for row in rows:
        inspection.add(row)
    return inspection


def _is_time(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return "-" in value


def _count(labels: dict[str, Values], name: str, value: Any) -> None:
    for entry in value if isinstance(value, list) else [value]:
        if entry is not None and entry != "":
            labels.setdefault(name, Values()).add(entry)


def _spread(values: array[int]) -> dict[str, float]:
    """Return minimum, median, mean, ninth decile and maximum."""
    if not values:
        return {}
    numbers = np.asarray(values)
    low, middle, high, most = np.percentile(numbers, [0, 50, 90, 100], method="inverted_cdf").tolist()
    return {"least": low, "median": middle, "mean": round(float(numbers.mean()), 2), "ninth_decile": high, "most": most}
