"""The data sets released with dial2vec: text without a header, columns separated by tabs, in two layouts.

Both are taken from the code of the release (``data/generate_training.py``, ``data/generate_clustering.py`` and
``data/data_provider.py``).

``datasets/<name>/train.tsv``, ``clustering_dev.tsv`` and ``clustering_test.tsv`` have one dialogue per line, as the
loader expects it:

1. the speakers, one digit per turn (``0101``)
2. ten samples separated by ``|``, the turns of each separated by ``#``. The first is the dialogue. For training, the
   others have one speaker's turns replaced by turns from elsewhere; for evaluation, they repeat the first.
3. the topic as a number; for training always ``0``, which means none

A training file has ten consecutive lines for every dialogue, each with different samples. The dialogue is read once;
the samples made from it are left out.

The files these were made from (``preprocess_session_<name>.txt``) have one message per line: session, speaker (0 or 1),
text, topics separated by ``|``. The lines of a session are consecutive.

The release does not say which speaker is the user; 0 is read as user and 1 as assistant. The label ``topics`` is a
list. Such a file with a header is a `table`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import chain, groupby
from typing import Any

from turnlens.formats.bad_input import BadRow
from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import Source

_ROLES = {"0": "user", "1": "assistant"}
_NO_TOPIC = "0"

Line = tuple[int, list[str]]


def _split_line(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("\t")]


def _turns(samples: str) -> list[str]:
    return [turn.strip() for turn in samples.split("|", 1)[0].split("#")]


def _session(line: Line) -> Hashable:
    return line[1][0]


def _dialogue(line: Line) -> Hashable:
    number, cells = line
    return (cells[0], cells[1].split("|", 1)[0]) if len(cells) == 3 else number


def records(source: Source) -> Iterator[tuple[int, list[Line]]]:
    """Lines that make up one dialogue: ten with different samples for training, or the messages of a session."""
    # surrogateescape keeps bytes that are not UTF-8, so that the rows they are in can be named or skipped
    lines = ((number, _split_line(raw.decode("utf-8", "surrogateescape"))) for number, raw in source.lines())
    first = next(lines, None)
    if first is None:
        return
    for _, group in groupby(chain([first], lines), key=_session if len(first[1]) == 4 else _dialogue):
        together = list(group)
        yield together[0][0], together


def convert(raw: list[Line], source: Source) -> dict[str, Any]:
    """Three columns hold a whole dialogue, four a message of a session."""
    cells = raw[0][1]
    return _from_dialogue(cells) if len(cells) == 3 else _from_session(raw)


def _from_dialogue(cells: list[str]) -> dict[str, Any]:
    speakers, samples, topic = cells
    turns = _turns(samples)
    if not speakers or not set(speakers) <= _ROLES.keys():
        raise BadRow(f"found {speakers[:40]!r} as speakers; expected a 0 or 1 for each turn")
    if len(turns) != len(speakers):
        raise BadRow(f"found {len(speakers)} speakers for {len(turns)} turns; expected {FORMAT.layout}")
    messages = [{"role": _ROLES[speaker], "content": turn} for speaker, turn in zip(speakers, turns)]
    return {"messages": messages, "topics": None if topic == _NO_TOPIC else [topic]}


def _from_session(lines: list[Line]) -> dict[str, Any]:
    messages = []
    topics: dict[str, None] = {}
    for number, cells in lines:
        if len(cells) != 4:
            raise BadRow(f"found {len(cells)} columns; expected {FORMAT.layout}", number)
        _, speaker, text, topic = cells
        if speaker not in _ROLES:
            raise BadRow(f"found {speaker!r} as speaker; expected 0 or 1", number)
        if text:  # the release leaves blank messages out too
            messages.append({"role": _ROLES[speaker], "content": text})
        topics |= dict.fromkeys(filter(None, topic.split("|")))
    return {"id": lines[0][1][0], "messages": messages, "topics": list(topics)}


def matches(head: Head) -> bool:
    """Three columns, the first with a digit for each turn in the second; or four, the second a 0 or 1."""
    cells = _split_line(head.line)
    if len(cells) == 3:
        return set(cells[0]) <= _ROLES.keys() and len(cells[0]) == len(_turns(cells[1])) > 1
    return len(cells) == 4 and cells[1] in _ROLES


FORMAT = Format(
    name="dial2vec",
    description="data sets as released with dial2vec (train.tsv, clustering_test.tsv, preprocess_session_*.txt)",
    layout="columns separated by tabs without a header: speakers (0101), samples (a#b#c#d|…) and topic, or session, "
    "speaker (0 or 1), text and topic",
    records=records,
    convert=convert,
    matches=matches,
)
