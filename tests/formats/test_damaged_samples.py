"""Values of another type, wherever they stand, end in a sentence; any text comes back from a mailbox."""

import copy
import json
import mailbox
import re
import tempfile
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from format_cases import read, write
from samples import SAMPLES
from turnlens.errors import ConversationError

PYTHON = re.compile(
    r"object has no|not subscriptable|indices must|NoneType|unsupported operand|unhashable|not iterable"
)
OTHERS = ("some text", 7, None, [1], {"a": "b"})
MOST = 25  # of a sample


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*at, key)
        yield from paths(item, (*at, key))


def damaged(value: Any, number: int) -> Any:
    """The value with one of another type at one of its paths."""
    value = copy.deepcopy(value)
    every = list(paths(value))
    *way, last = every[number * 7919 % len(every)]
    inside = value
    for key in way:
        inside = inside[key]
    inside[last] = OTHERS[number % len(OTHERS)]
    return value


@pytest.mark.parametrize("numbers", [range(8), pytest.param(range(8, MOST), marks=pytest.mark.slow)], ids=str)
def test_values_of_other_types_end_in_sentences(numbers: range, tmp_path: Path) -> None:
    for _, name, content in SAMPLES:
        if isinstance(content, str):
            continue
        for number in numbers:
            path = write(tmp_path / name, damaged(content, number))
            try:
                read(path)
            except (ConversationError, ValueError) as error:
                assert not PYTHON.search(str(error)), (name, number, json.dumps(damaged(content, number)))


LINES = st.lists(st.sampled_from(["From Leeds", "From a@b Mon Jan 5 10:00:00 2026", "To: you", "", "> y", "Grüße"]))


@settings(max_examples=60, deadline=None)
@given(st.lists(LINES, min_size=1, max_size=3))
def test_texts_come_back_from_pythons_mailboxes(texts: list[list[str]]) -> None:
    written = ["\n".join(text).strip() for text in texts]
    assume(all(written))
    with tempfile.TemporaryDirectory() as folder:
        box = mailbox.mbox(Path(folder) / "in.mbox")
        for number, text in enumerate(written):
            mail = EmailMessage()
            mail["From"], mail["Message-ID"] = "ann@example.org", f"<{number}@x>"
            mail.set_content(text, cte="8bit")
            box.add(mail)
        box.close()
        rows = read(Path(folder) / "in.mbox")
    assert [[message["content"] for message in row["messages"]] for row in rows] == [[text] for text in written]
