"""The usual names of columns and fields, and the words of headings that tell of times."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The usual names of columns. Earlier groups come first; within a group, no name is preferred.
NAMES = {
    "conversation": (
        "conversation_id dialogue_id dialog_id session_id chat_id thread_id conv_id ticket_id call_id "
        "conversation_hash",
        "conversation dialogue dialog session thread",
    ),
    "speaker": ("speaker role from author sender participant", "speaker_id sender_id author_id"),
    "text": ("text content message utterance body sentence",),
}
IDS = {"turn_id", "message_id", "utterance_id"}
# Places in a conversation, which are never times, whatever numbers they hold.
PLACES = "turn order turn_id turn_index turn_number message_id utterance_id index position"
_DATES = _words("date datum fecha data dato дата 日期 日付 날짜 تاريخ التاريخ")
_CLOCKS = _words("time uhrzeit zeit hora heure ora orario godzina tijd tid время 时间 時間 時刻 시간 الوقت")
# The usual names of columns and fields that hold a time, the likeliest first.
TIMES = "timestamp datetime created_at time start_time start date"
_STAMPS = _words("timestamp datetime datetimestamp zeitpunkt zeitstempel horodatage tijdstip 时间戳 時間戳 日時 일시")
_SAID = _words(
    "sent posted received created submitted published started occurred written logged recorded creation submission "
    "gesendet erstellt empfangen enviado creado criado envoye cree recu inviato creato verzonden skickat sendt "
    "отправлено создано"
)
_BESIDE = _words(
    "at on in of the am um de del di do da d el em le la stamp message msg chat comment event response entry local "
    "server utc gmt unix epoch iso"
)
_LASTS = _words(
    "duration length lasted aht handle handling talk hold wait waiting wartezeit bearbeitungszeit duree attente "
    "duracion espera duracao durata attesa duur длительность 时长 時長"
)
_WITHOUT_SPACES = re.compile(r".*(时间|時間|日期|日時|日付|時刻)")
_BRACKETS = re.compile(r"[(\[][^)\]]*[)\]]")


@lru_cache(4096)
def plain_name(name: str) -> str:
    """A name in lower case with underscores, without the number that tells columns of one name apart."""
    name = re.sub(r" \(\d+\)$", "", name)
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()).strip("_")


def is_place(name: str) -> bool:
    """Return whether a column holds the place of a message in its conversation."""
    return plain_name(name) in PLACES.split()


@lru_cache(1024)
def words_of(name: str) -> frozenset[str]:
    """The words of a heading without accents and without what stands in brackets, such as a unit or a zone.

    >>> sorted(words_of("Envoyé le (UTC)"))
    ['envoye', 'le']
    """
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", name) if not unicodedata.combining(letter))
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", unicodedata.normalize("NFC", _BRACKETS.sub(" ", plain)))
    return frozenset(re.findall(r"[^\W_]+", split.casefold()))


def tells_when(name: str) -> bool:
    """Return whether the words of a heading say when a message was sent.

    >>> [name for name in ("Sent at", "Created (UTC)", "Gesendet am", "发送时间", "Message", "On") if tells_when(name)]
    ['Sent at', 'Created (UTC)', 'Gesendet am', '发送时间']
    """
    words = words_of(name)
    known = {word for word in words if word in _BESIDE or _is_of_time(word)}
    return words == known and any(map(_is_of_time, words))


def tells_which_day(name: str) -> bool:
    """Return whether the words of a heading say on which day a message was sent, and not only when in a conversation.

    >>> [name for name in ("Created", "Datum", "Time", "Timestamp") if tells_which_day(name)]
    ['Created', 'Datum']
    """
    return tells_when(name) and not words_of(name).isdisjoint(_DATES | _SAID)


def is_date(name: str) -> bool:
    """Return whether a heading is a word for a day."""
    return bool(words_of(name)) and words_of(name) <= _DATES


def is_clock(name: str) -> bool:
    """Return whether a heading is a word for a time of day."""
    return bool(words_of(name)) and words_of(name) <= _CLOCKS


def tells_how_long(name: str) -> bool:
    """Return whether the words of a heading, or its unit, say how long something took.

    >>> [name for name in ("AHT", "Gesprächsdauer", "Zeit (mm:ss)", "Zeit", "Sent at") if tells_how_long(name)]
    ['AHT', 'Gesprächsdauer', 'Zeit (mm:ss)']
    """
    return "mm:ss" in name.casefold() or any(word in _LASTS or word.endswith("dauer") for word in words_of(name))


def _is_of_time(word: str) -> bool:
    return word in _DATES | _CLOCKS | _STAMPS | _SAID or bool(_WITHOUT_SPACES.fullmatch(word))
