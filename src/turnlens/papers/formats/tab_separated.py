"""Published corpora in lines of text, most of them with columns separated by tabs."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain, groupby
from typing import Any, TypeVar

from turnlens.errors import ConversationError
from turnlens.formats.bad_input import BadRow
from turnlens.formats.format import Format, Head, signs
from turnlens.formats.source_file import Source
from turnlens.papers.formats.speakers import alternating, role_of

T = TypeVar("T")
Line = tuple[int, T]  # its number in the file, and its content
_ROLES = {"0": "user", "1": "assistant"}


def _sessions(lines: Iterable[Line[T]], key: Callable[[Line[T]], Hashable]) -> Iterator[tuple[int, list[Line[T]]]]:
    """Yield consecutive lines that belong together, with the number of the first."""
    for _, group in groupby(lines, key):
        session = list(group)
        yield session[0][0], session


# --- Microsoft Dialogue Challenge: ``movie_all.tsv``, ``restaurant_all.tsv``, ``taxi_all.tsv``; one message per row.
#
# The columns are ``session.ID``, ``Message.ID``, ``Message.Timestamp``, ``Message.From`` (user or agent),
# ``Message.Text`` and then any number of dialogue acts, most of whose columns have no name. The rows of a session are
# consecutive. Session ids repeat from file to file, so the domain, the first word of the file's name, precedes them.
# Messages carry their acts as they stand (``request(city;date)``) as ``acts``, and the names of these, each once, as
# ``intents``: the intents of DialogueCSE, for semantic retrieval.

_COLUMNS = ["session.ID", "Message.ID", "Message.Timestamp", "Message.From", "Message.Text"]
_ROLES_MDC = {"user": "user", "agent": "assistant"}


def _records_mdc(source: Source) -> Iterator[tuple[int, list[Line[list[str]]]]]:
    """Sessions of consecutive rows; a file without the five columns is refused as a whole."""
    rows = source.cells()
    _, header = next(rows, (1, _COLUMNS))
    if header[: len(_COLUMNS)] != _COLUMNS:
        raise ConversationError(source.name, f"found the columns {', '.join(header)}; expected {MDC.layout}")
    yield from _sessions(rows, lambda row: row[1][0])


def _message(number: int, cells: list[str]) -> dict[str, Any]:
    if len(cells) < len(_COLUMNS):
        raise BadRow(f"found {len(cells)} cells; expected {MDC.layout}", number)
    speaker, text, *acts = cells[3:]
    role = role_of(speaker, _ROLES_MDC, "in Message.From", number)
    acts = [act.strip() for act in acts if act.strip()]
    intents = dict.fromkeys(act.partition("(")[0].strip().lower() for act in acts)
    return {"role": role, "content": text, "acts": acts, "intents": [name for name in intents if name]}


def _convert_mdc(raw: list[Line[list[str]]], source: Source) -> dict[str, Any]:
    """Puts the domain before the session's id, which occurs in other files too."""
    domain = re.split(r"[^A-Za-z]", source.stem)[0].lower()
    return {
        "id": f"{domain}-{raw[0][1][0]}",
        "messages": [_message(number, cells) for number, cells in raw],
        "domain": domain,
    }


MDC = Format(
    name="mdc",
    description="Microsoft Dialogue Challenge (TSV)",
    layout=f"a header of {', '.join(_COLUMNS)} and dialogue acts, separated by tabs",
    records=_records_mdc,
    convert=_convert_mdc,
    # Most columns of dialogue acts have no name, so only columns that always have one count.
    matches=signs("session.ID Message.From Message.Text"),
)


# --- Jing Dong Dialogue Corpus (``chat.txt``): one message a line, columns separated by tabs, with a header.
#
# The columns include ``session_id``, ``waiter_send`` (1: the message is from customer service, 0: from the customer)
# and ``content``, the last. The lines of a session are consecutive. Texts are not quoted, and a tab in one is part of
# it.

_NEEDED = ("session_id", "waiter_send", "content")

SessionLine = Line[dict[str, str] | BadRow]


def _records_jddc(source: Source) -> Iterator[tuple[int, list[SessionLine]]]:
    """Sessions of consecutive lines; a file without the header is refused as a whole."""
    lines = source.text_lines()
    header = next(lines, (1, ""))[1].split("\t")
    if not _is_header(header):
        raise ConversationError(source.name, f"found the columns {', '.join(header)}; expected {JDDC.layout}")
    yield from _sessions(((number, _cells(line, header)) for number, line in lines), _session_jddc)


def _cells(line: str, header: list[str]) -> dict[str, str] | BadRow:
    cells = line.split("\t", len(header) - 1)
    if len(cells) == len(header):
        return dict(zip(header, cells))
    return BadRow(f"found {len(cells)} columns; expected {len(header)} as in the header")


def _session_jddc(line: SessionLine) -> str | int:
    number, row = line
    return number if isinstance(row, BadRow) else row["session_id"]


def _convert_jddc(raw: list[SessionLine], source: Source) -> dict[str, Any]:
    """Leaves the other columns out: who the customer was, and flags of the collection."""
    messages, session = [], ""
    for number, row in raw:
        if isinstance(row, BadRow):
            raise row
        role = role_of(row["waiter_send"], _ROLES, "in waiter_send", number)
        session = row["session_id"]
        messages.append({"role": role, "content": row["content"]})
    return {"id": session, "messages": messages}


def _is_header(columns: list[str]) -> bool:
    return set(_NEEDED) <= set(columns) and columns[-1] == "content"


def _matches_jddc(head: Head) -> bool:
    """The header as a line, or as columns where the file's ending says that it is a table."""
    return _is_header(head.line.split("\t")) or set(_NEEDED) <= head.keys


JDDC = Format(
    name="jddc",
    description="Jing Dong Dialogue Corpus, sessions (chat.txt)",
    layout="a header of columns separated by tabs: session_id, waiter_send (0 or 1), …, and content as the last",
    records=_records_jddc,
    convert=_convert_jddc,
    matches=_matches_jddc,
)


# --- DailyDialog: ``dialogues_text.txt``, one dialogue per line, every turn ended by ``__eou__``.
#
# The two speakers take turns. The tokenisation of the release (spaces before punctuation) is kept.

_TURN_END = "__eou__"


def _convert_dailydialog(raw: str, source: Source) -> dict[str, Any]:
    """The release names no speakers, so user and assistant alternate."""
    if _TURN_END not in raw:
        raise BadRow(f"found no {_TURN_END}; expected {DAILYDIALOG.layout}")
    return {"messages": alternating(map(str.strip, raw.strip().removesuffix(_TURN_END).split(_TURN_END)))}


DAILYDIALOG = Format(
    name="dailydialog",
    description="DailyDialog (dialogues_text.txt)",
    layout=f"one dialogue a line, its turns separated by {_TURN_END}",
    records=Source.text_lines,
    convert=_convert_dailydialog,
    matches=lambda head: _TURN_END in head.line,  # the release's own
    sidecars={
        "dialogues_act.txt": "dialogue acts",
        "dialogues_emotion.txt": "emotions",
        "dialogues_topic.txt": "topics",
    },
)


# --- E-commerce Dialogue Corpus, response selection release: one session with its candidates per line.
#
# The layout, inferred from the files (six columns separated by tabs, lists separated by ``|``):
#
# 1. the utterances before the response
# 2. the utterances after it
# 3. who speaks, in three parts separated by ``-``: before, the response, after (``1|0|1-0-1|0``); 0 is the buyer
#    (user), 1 the seller (assistant)
# 4. a label, always 1
# 5. the candidates for the response
# 6. one flag per candidate; 1 marks the true response
#
# The session is restored: before, the true response, after. The other candidates are a label of the response,
# ``negatives``, from which DialogueCSE learns with the settings of its paper.

_SPEAKERS = re.compile(r"[01|]*-[01]-[01|]*")


def _split(cell: str) -> list[str]:
    return cell.split("|") if cell else []


def _convert_ecd(raw: str, source: Source) -> dict[str, Any]:
    """Puts the true response back between the utterances before and after it."""
    cells = raw.split("\t")
    if len(cells) != 6 or not _SPEAKERS.fullmatch(cells[2]):
        raise BadRow(f"found {len(cells)} columns; expected {ECD.layout}")
    before, after, speakers, _, candidates, flags = cells
    is_true = _split(flags)
    if is_true.count("1") != 1 or is_true.index("1") >= len(_split(candidates)):
        raise BadRow("expected exactly one 1 in the last column, marking one of the candidates")
    others = _split(candidates)
    response = others.pop(is_true.index("1"))
    texts = [*_split(before), response, *_split(after)]
    roles = [_ROLES[flag] for part in speakers.split("-") for flag in _split(part)]
    if len(roles) != len(texts):
        raise BadRow(f"found {len(roles)} speakers in the third column for {len(texts)} utterances")
    messages: list[dict[str, Any]] = [{"role": role, "content": text} for role, text in zip(roles, texts)]
    messages[len(_split(before))]["negatives"] = others
    return {"messages": messages}


def _matches_ecd(head: Head) -> bool:
    """Six columns, the third of which says who speaks (``1|0-1-0``)."""
    cells = head.line.split("\t")
    return len(cells) == 6 and bool(_SPEAKERS.fullmatch(cells[2]))


ECD = Format(
    name="ecd",
    description="E-commerce Dialogue Corpus, response selection release (text)",
    layout="six columns separated by tabs: before, after, speakers (0|1-0-1), label, candidates, flags",
    records=Source.text_lines,
    convert=_convert_ecd,
    matches=_matches_ecd,
)


# --- The data sets released with dial2vec: text without a header, columns separated by tabs, in two layouts.
#
# Both are taken from the code of the release (``data/generate_training.py``, ``data/generate_clustering.py`` and
# ``data/data_provider.py``).
#
# ``datasets/<name>/train.tsv``, ``clustering_dev.tsv`` and ``clustering_test.tsv`` have one dialogue per line, as the
# loader expects it:
#
# 1. the speakers, one digit per turn (``0101``)
# 2. ten samples separated by ``|``, the turns of each separated by ``#``. The first is the dialogue. For training, the
#    others have one speaker's turns replaced by turns from elsewhere; for evaluation, they repeat the first.
# 3. the topic as a number; for training always ``0``, which means none
#
# A training file has ten consecutive lines for every dialogue, each with different samples. The dialogue is read once;
# the samples made from it are left out.
#
# The files these were made from (``preprocess_session_<name>.txt``) have one message per line: session, speaker (0 or
# 1), text, topics separated by ``|``. The lines of a session are consecutive.
#
# The release does not say which speaker is the user; 0 is read as user and 1 as assistant. The label ``topics`` is a
# list. Such a file with a header is a `table`.

_NO_TOPIC = "0"

Cells = Line[list[str]]


def _split_line(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("\t")]


def _turns(samples: str) -> list[str]:
    return [turn.strip() for turn in samples.split("|", 1)[0].split("#")]


def _dialogue(line: Cells) -> Hashable:
    number, cells = line
    return (cells[0], cells[1].split("|", 1)[0]) if len(cells) == 3 else number


def _records_dial2vec(source: Source) -> Iterator[tuple[int, list[Cells]]]:
    """Lines that make up one dialogue: ten with different samples for training, or the messages of a session."""
    lines = ((number, _split_line(line)) for number, line in source.text_lines())
    for first in lines:
        yield from _sessions(chain([first], lines), (lambda line: line[1][0]) if len(first[1]) == 4 else _dialogue)


def _convert_dial2vec(raw: list[Cells], source: Source) -> dict[str, Any]:
    """Three columns hold a whole dialogue, four a message of a session."""
    cells = raw[0][1]
    return _from_dialogue(cells) if len(cells) == 3 else _from_session(raw)


def _from_dialogue(cells: list[str]) -> dict[str, Any]:
    speakers, samples, topic = cells
    turns = _turns(samples)
    if not speakers or not set(speakers) <= _ROLES.keys():
        raise BadRow(f"found {speakers[:40]!r} as speakers; expected a 0 or 1 for each turn")
    if len(turns) != len(speakers):
        raise BadRow(f"found {len(speakers)} speakers for {len(turns)} turns; expected {DIAL2VEC.layout}")
    messages = [{"role": _ROLES[speaker], "content": turn} for speaker, turn in zip(speakers, turns)]
    return {"messages": messages, "topics": None if topic == _NO_TOPIC else [topic]}


def _from_session(lines: list[Cells]) -> dict[str, Any]:
    messages = []
    topics: dict[str, None] = {}
    for number, cells in lines:
        if len(cells) != 4:
            raise BadRow(f"found {len(cells)} columns; expected {DIAL2VEC.layout}", number)
        _, speaker, text, topic = cells
        role = role_of(speaker, _ROLES, "as speaker", number)
        if text:  # the release leaves blank messages out too
            messages.append({"role": role, "content": text})
        topics |= dict.fromkeys(filter(None, topic.split("|")))
    return {"id": lines[0][1][0], "messages": messages, "topics": list(topics)}


def _matches_dial2vec(head: Head) -> bool:
    """Three columns, the first with a digit for each turn in the second; or four, the second a 0 or 1."""
    cells = _split_line(head.line)
    if len(cells) == 3:
        return set(cells[0]) <= _ROLES.keys() and len(cells[0]) == len(_turns(cells[1])) > 1
    return len(cells) == 4 and cells[1] in _ROLES


DIAL2VEC = Format(
    name="dial2vec",
    description="data sets as released with dial2vec (train.tsv, clustering_test.tsv, preprocess_session_*.txt)",
    layout="columns separated by tabs without a header: speakers (0101), samples (a#b#c#d|…) and topic, or session, "
    "speaker (0 or 1), text and topic",
    records=_records_dial2vec,
    convert=_convert_dial2vec,
    matches=_matches_dial2vec,
)
