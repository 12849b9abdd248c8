"""Guesses of columns by their names and values: a score above 0 means that one may fit. The best are candidates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from statistics import mean
from typing import Any

from turnlens._utils.text_values import are_durations, minutes_of
from turnlens.formats.column_names import plain_name, tells_how_long, words_of
from turnlens.formats.columns import Columns
from turnlens.formats.message_times import lone_moment

# Words in the names of columns, by what these mean.
_HINTS = {
    "conversation": "conversation dialogue dialog chat session thread ticket case call issue room channel contact "
    "kontakt vorgang vorgangsnr vorgangsnummer ticketnr ticketnummer",
    "id": "id key number no nr ref uuid",
    "speaker": "speaker role author sender from user agent by name party direction who participant source side actor "
    "requester customer operator caller nick nickname",
    "text": "text body content message msg comment utterance reply note description transcript sentence said",
    "asked": "question prompt input request query customer user human inquiry ask description problem issue complaint "
    "frage pregunta pergunta domanda 问题",
    "answered": "answer answered response output out completion result resolution solution reply agent assistant bot "
    "antwort respuesta reponse resposta risposta 回答",
    "about": "summary title subject topic name instructions system tags",
    "time": "time date created sent at timestamp start when",
    "messages": "messages comments turns utterances replies entries events posts transcript conversation dialogue log",
}
_SAMPLE = 50  # values that show whether a column holds times
_TEXTS_TRIED = 3  # of one table or list
_CLEARLY = 1  # by how much a score is higher than the next one where there is no doubt
Fields = dict[str, list[Any]]


def ranked(fields: Fields, score: Callable[[str, list[Any]], float]) -> dict[str, float]:
    """The fields with a score above 0, the highest first, and in their order among equals."""
    filled = {name: [value for value in values if value not in (None, "")] for name, values in fields.items()}
    scores = {name: score(name, values) for name, values in filled.items()}
    return dict(sorted(((n, value) for n, value in scores.items() if value > 0), key=lambda item: -item[1]))


def is_json(values: list[Any]) -> bool:
    """Return whether most of the texts are JSON."""
    filled = [value for value in values if isinstance(value, str) and value]
    return bool(filled) and mean(value.startswith(("{", "[")) for value in filled) > 0.5


def hinted(name: str, meaning: str) -> bool:
    """Return whether a word of the name hints at the meaning."""
    return bool({*plain_name(name).split("_"), *words_of(name)} & set(_HINTS[meaning].split()))


def text_score(name: str, values: list[Any]) -> float:
    """Score a column of texts: they are long, differ, and have spaces or letters of scripts that need none."""
    if not values or not all(isinstance(value, str) for value in values):
        return 0
    has_words = mean(" " in value or bool(re.search(r"[^\W\d_a-zA-Z]{2}", value)) for value in values) >= 0.3
    if not has_words or time_score(name, values) > 0:
        return 0
    return 2 * hinted(name, "text") + min(mean(map(len, values)) / 20, 3) + len(set(values)) / len(values)


def time_score(name: str, values: list[Any]) -> float:
    """Score a column of times: written in a usual way, or as numbers in a column that is named after time."""
    if not values:
        return 0
    sample = values[:_SAMPLE]
    kinds = [_moment_kind(value) for value in sample]
    if None in kinds:
        return 0
    return 3 * mean(kind == "time" for kind in kinds) + 2 * hinted(name, "time") - 1 - 0.5 * _are_clocks(values)


def likeliest_time(fields: Fields) -> tuple[str, ...]:
    """The column that is likeliest to hold times, together with its other half if it has days or times of day alone."""
    times = [*ranked(fields, time_score)]
    filled = {name: [value for value in fields[name] if value not in (None, "")] for name in times}
    days = [name for name in times if all(map(_is_day, filled[name][:_SAMPLE]))]
    clocks = [name for name in times if _are_clocks(filled[name]) and not _are_durations(name, filled[name])]
    if days and clocks and times[0] in (days[0], clocks[0]):
        return days[0], clocks[0]
    return tuple(times[:1])


def _is_day(value: Any) -> bool:
    time = None if ":" in str(value) else lone_moment(value)
    return time is not None and "T00:00:00" in time.labels.get("time", "")


def _are_clocks(values: list[Any]) -> bool:
    """Return whether all values are like 08:48, or all like 08:48:49."""
    parts = {minutes_of(value)[1] if isinstance(value, str) else 0 for value in values}
    return len(parts) == 1 and 0 not in parts


def _are_durations(name: str, clocks: list[str]) -> bool:
    minutes, parts = zip(*map(minutes_of, clocks))
    return tells_how_long(name) or are_durations(minutes, parts[0])


def _moment_kind(value: Any) -> str | None:
    found = lone_moment(value)
    is_time = found is not None and found.is_time and not str(value).isdecimal()  # digits may be an id, too
    return None if found is None else "time" if is_time else "number"


def conversation_score(name: str, values: list[Any]) -> float:
    """Score a column of conversation ids: short, many, no times, and repeated, most often in the next row."""
    kinds = len(set(map(str, values)))
    if kinds < 2 or _longest(values) > 80 or all(_moment_kind(value) == "time" for value in values[:_SAMPLE]):
        return 0
    repeated = kinds < len(values)
    steady = mean(before == after for before, after in pairwise(values)) if len(values) > 1 else 0
    hints = 3 * hinted(name, "conversation") + hinted(name, "id") - 2 * hinted(name, "speaker")
    return hints + repeated + steady + kinds / len(values) - 1.5


def speaker_score(name: str, values: list[Any], ids: list[Any]) -> float:
    """Score a column of speakers: few, short, and changing within a conversation."""
    if not values or _longest(values) > 60:
        return 0
    kinds = len(set(map(str, values)))
    speakers = Counter(dict.fromkeys(zip(map(str, ids), map(str, values))).keys()) if ids else None
    changes = len(speakers) > len(set(map(str, ids))) if speakers is not None else kinds > 1
    few = 1 if 2 <= kinds <= max(4, len(values) // 4) else 0
    is_kind = plain_name(name).split("_")[-1] in ("type", "role")
    hints = 3 * hinted(name, "speaker") - hinted(name, "id") + 0.5 * is_kind
    return hints + few + changes - 1.5


def id_score(name: str, values: list[Any]) -> float:
    """Score a column of ids where every record is a whole conversation: none occurs twice."""
    if not values or len(set(map(str, values))) < len(values) or _longest(values) > 80:
        return 0
    return 2 * hinted(name, "id") + hinted(name, "conversation") - name.count(".") / 2


def is_sure(columns: Columns, fields: Fields) -> bool:
    """Return whether columns of a table are named after what they hold, and fit clearly better than all others."""
    ids = fields.get(columns.conversation or "", [])
    scores: dict[str, Callable[[str, list[Any]], float]] = {
        "conversation": conversation_score,
        "speaker": partial(speaker_score, ids=ids),
        "text": text_score,
    }
    for meaning, score in scores.items():
        name = getattr(columns, meaning)
        if name not in fields or not hinted(name, meaning):
            return False
        best, *others = ranked(fields, score).items() or [(None, 0.0)]  # none may fit
        if best[0] != name or (others and others[0][1] > best[1] - _CLEARLY):
            return False
    return True


def candidates(fields: Fields, lists: dict[str, Fields]) -> Iterator[Columns]:
    """Columns that may read the records, the likeliest first: of a list of messages in each, or of a table."""
    places = []
    for path, inner in [("", fields), *lists.items()]:
        score = ranked({name: values for name, values in inner.items() if not is_json(values)}, text_score)
        if score:
            best = max(score.values()) + (3 + hinted(path, "messages") if path else 0)  # few other lists hold texts
            places.append((best, path, inner, list(score)))
    for _, path, inner, texts in sorted(places, key=lambda place: -place[0]):
        id = next(iter(ranked(fields, id_score)), None)
        answered = next((name for name in texts if hinted(name, "answered")), None)
        asked = next((name for name in texts if hinted(name, "asked") and not hinted(name, "answered")), None)
        pairs = [(asked, answered)] if asked and answered else []
        for text, answer in [*pairs, *((text, None) for text in texts[:_TEXTS_TRIED])]:
            rest = {name: values for name, values in inner.items() if name not in (text, answer)}
            times = likeliest_time(rest)
            time = "+".join(times) or None
            rest = {name: values for name, values in rest.items() if name not in times}
            session = None if path else next(iter(ranked(rest, conversation_score)), None)
            ids = rest.pop(session or "", [])
            repeats = len(set(map(str, ids))) < len(ids)
            conversation = session if repeats else id
            speaker = next(iter(ranked(rest, partial(speaker_score, ids=ids))), None)
            if answer is not None:
                yield Columns(conversation, None, text, time, path or None, answer)
            elif speaker is not None and (path or repeats):
                yield Columns(conversation, speaker, text, time, path or None)
            is_session = session is not None and repeats and hinted(session, "conversation")
            if answer is None and not path and not is_session:
                if time and id is None and hinted(speaker or "", "speaker"):  # rows of a single chat
                    yield Columns(None, speaker, text, time)
                yield Columns(text=text, time=time)  # as in a survey, each row is a text of its own


def lacks_header(rows: Iterable[Any]) -> bool:
    """Return whether the names of a table's columns are a first row of messages.

    Such names are values: they are times or numbers, or return below, as ids of conversations and speakers do. A single
    one may be a name, too: a column ``agent`` of who speaks.

    Args:
        rows: The first rows, by these names; others than tables have none.
    """
    fields: Fields = {}
    for row in rows:
        for name, value in row.items() if isinstance(row, dict) else ():
            fields.setdefault(name, []).append(value)
    names = [name for name in fields if name]
    if all(name.isdecimal() and int(name) <= len(names) for name in names):  # columns of a data frame without names
        return False
    kinds = map(_moment_kind, names)
    signs = [2 if kind == "time" else (kind == "number") + (name in fields[name]) for name, kind in zip(names, kinds)]
    return sum(signs) > 1


def _longest(values: list[Any]) -> int:
    return max(len(str(value)) for value in values)
