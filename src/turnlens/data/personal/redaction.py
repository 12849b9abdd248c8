"""Redaction: personal data becomes placeholders while conversations are read, before anything is kept of them."""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import chain, count
from pathlib import Path
from typing import Any

from filelock import FileLock

from turnlens._compat import datasets_cache
from turnlens._utils.arguments import require_list
from turnlens._utils.files import load_or_create_key
from turnlens.data.personal.bank_numbers import cards, ibans
from turnlens.data.personal.national_ids import national_ids
from turnlens.data.personal.person_names import model_version, names_finder, persons_finder
from turnlens.data.personal.phone_numbers import phones
from turnlens.data.personal.plain_text import Finder, PlainText, Span, merged, replaced
from turnlens.data.personal.secrets import secrets
from turnlens.data.personal.web_addresses import emails, handles, ips, urls

# What patterns alone can redact, with the placeholder: a word that keeps the sentence readable.
PATTERNS: dict[str, tuple[str, Finder]] = {
    "emails": ("[email]", emails),
    "phones": ("[phone]", phones),
    "cards": ("[card]", cards),
    "ibans": ("[iban]", ibans),
    "urls": ("[url]", urls),
    "ips": ("[ip]", ips),
    "secrets": ("[secret]", secrets),
    "national_ids": ("[id]", national_ids),
    "handles": ("[handle]", handles),
}
_SOURCES = {"names": "FILE", "persons": "MODEL"}
NOT_FOUND = "people's names and postal addresses"
_PATTERNS_VERSION = 2  # raised when patterns change, so that files which were read with older patterns are read again
_PSEUDONYM_DIGITS = 32  # 128 bits, so that different ids do not meet
_LONGEST_NAME = 200
_NAME_LETTERS = 8
_NAME = "[name]"
_AS_LETTERS = str.maketrans("0123456789", "ghijklmnop")  # a hash without digits, which might look like a number
_WORD = re.compile(r"[^\W\d_]+")
_NUMBER_WORDS = "number numbers no nr num nummer numero número numéro numer nro value"


@dataclass(frozen=True)
class Redaction:
    """The personal data to redact.

    Args:
        patterns: Names in ``PATTERNS``.
        names: A text file with a name a line: each is redacted wherever it stands as a whole.
        persons: A model of spaCy that finds names of people in running text (extra ``redact``).
        id_key: The secret from which pseudonyms of ids are made, such as that of a store (`turnlens.store.tables`); by
            default one that is kept beside the cache of files.

    Raises:
        ValueError: Nothing is to be redacted, a pattern is unknown, or a file or model is missing.

    Examples:
        >>> import turnlens
        >>> turnlens.data.Redaction(("emails", "phones")).text("I am ann@example.com, +49 171 1234567")
        'I am [email], [phone]'
    """

    patterns: tuple[str, ...] = ()
    names: str | os.PathLike[str] | None = None
    persons: str | None = None
    id_key: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        unknown = [name for name in require_list(self.patterns, "patterns") if name not in PATTERNS]
        if unknown or not (self.patterns or self.names or self.persons):
            actual = f"found {unknown[0]!r}" if unknown else "found nothing"
            expected = f"some of {', '.join(PATTERNS)}, names=FILE, persons=MODEL, separated by commas, or all"
            raise ValueError(f"redact: {actual}; expected {expected}")
        self.key  # noqa: B018 (a missing file or model is an error at once)

    @classmethod
    def parse(cls, text: str, id_key: bytes | None = None) -> Redaction:
        """Return a redaction from ``emails,phones,names=people.txt``; ``all`` stands for all of ``PATTERNS``.

        Args:
            text: The kinds, separated by commas.
            id_key: As for the class.

        Raises:
            ValueError: As for the class.
        """
        patterns: list[str] = []
        sources: dict[str, str] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            kind, _, value = part.partition("=")
            if kind in _SOURCES:
                if not value:
                    raise ValueError(f"redact: found {part!r}; expected {kind}={_SOURCES[kind]}")
                sources[kind] = value
            else:
                patterns += PATTERNS if part == "all" else [part]
        return cls(tuple(dict.fromkeys(patterns)), **sources, id_key=id_key)

    def __str__(self) -> str:
        named = {"names": self.names, "persons": self.persons}
        return ",".join([*self.patterns, *(f"{kind}={value}" for kind, value in named.items() if value)])

    @cached_property
    def key(self) -> str:
        """A key that differs between redactions; it contains no name and no secret."""
        names = blake2b("\n".join(self._names).encode(), digest_size=8).hexdigest() if self.names else ""
        patterns = ",".join(sorted(self.patterns))
        persons = model_version(self.persons) if self.persons else ""
        id_key = blake2b(self.id_key, digest_size=8).hexdigest() if self.id_key else ""
        return f"{patterns};{_PATTERNS_VERSION};{names};{persons};{id_key}"

    @cached_property
    def _secret(self) -> bytes:
        if self.id_key is not None:
            return self.id_key
        file = datasets_cache() / "turnlens-ids.key"
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{file}.lock"):
            return load_or_create_key(file)

    def __getstate__(self) -> dict[str, Any]:
        """Workers on other machines have the same secret."""
        return {**self.__dict__, "id_key": self._secret}

    @cached_property
    def _names(self) -> list[str]:
        """The names of the file."""
        try:
            lines = Path(self.names or "").read_text(encoding="utf-8-sig").splitlines()
        except OSError as error:
            raise ValueError(f"redact: names={self.names} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ValueError(f"redact: {self.names}: not UTF-8 text; save the file as UTF-8") from None
        for number, line in enumerate(lines, start=1):
            if len(line) > _LONGEST_NAME:
                raise ValueError(f"redact: {self.names}:{number}: found {len(line)} letters; expected a name a line")
        names = [line.strip() for line in lines if line.strip()]
        if not names:
            raise ValueError(f"redact: {self.names} holds no names; expected one a line")
        return names

    @cached_property
    def _finders(self) -> list[tuple[str, Finder]]:
        finders = [PATTERNS[name] for name in self.patterns]
        if self.names:
            finders.append((_NAME, names_finder(self._names)))
        if self.persons:
            finders.append((_NAME, persons_finder(self.persons)))
        return finders

    def text(self, text: str, label: str = "") -> str:
        """Return the text, or the value of a label, with placeholders."""
        return replaced(text, self.finds(text, label))

    def finds(self, text: str, label: str = "") -> list[tuple[int, int, str]]:
        """Return the start and end of personal data in a text, and its placeholder.

        Overlapping finds are merged into one, with the placeholder of the longer one. The name of the label whose
        value the text is, if any, is read like the words before it.
        """
        return merged(_finds(self._finders, text, label))

    def conversation(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a checked conversation with placeholders in texts, speakers, labels and their names.

        An id with personal data becomes a pseudonym. The number of speakers does not change: if two get the same
        placeholder, the second is called ``[email] 2``. A numeric label that looks like personal data is left out.
        """
        speakers: dict[str, str] = {}
        messages = []
        for message in row["messages"]:
            if (role := message["role"]) not in speakers:
                speakers[role] = self._speaker(role, speakers.values())
            said = {"role": speakers[role], "content": self.text(message["content"])}
            messages.append({**self._labels(message, ("role", "content")), **said})
        return {"id": self.identifier(row["id"]), "messages": messages, **self._labels(row, ("id", "messages"))}

    def _speaker(self, role: str, taken: Collection[str]) -> str:
        """The name that stands for a role, other than those that stand for other roles of the conversation."""
        name = self.text(role)
        numbered = (f"{name} {number}" for number in count(2))
        return name if name == role else next(one for one in chain([name], numbered) if one not in taken)

    def identifier(self, name: str) -> str:
        """Return a name without personal data as it is, and for any other ``conversation-`` and a keyed hash."""
        if self.text(name) == name:
            return name
        return f"conversation-{self._hash(name)[:_PSEUDONYM_DIGITS]}"

    def _hash(self, name: str) -> str:
        return hmac.digest(self._secret, name.encode(), "sha256").hex()

    def _labels(self, row: dict[str, Any], others: Iterable[str]) -> dict[str, Any]:
        return {self._label_name(name): self._label(name, value) for name, value in row.items() if name not in others}

    @cached_property
    def _label_names(self) -> dict[str, str]:
        return {}

    def _label_name(self, name: str) -> str:
        """The name of a label with placeholders and a part of its keyed hash, so that two names never become one."""
        if name not in self._label_names:
            redacted = self.text(name)
            letters = self._hash(name)[:_NAME_LETTERS].translate(_AS_LETTERS) if redacted != name else ""
            self._label_names[name] = f"{redacted} {letters}" if letters else name
        return self._label_names[name]

    def _label(self, name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self.text(item, name) for item in value]
        searched = searched_text(value)
        if searched is None:
            return value
        redacted = self.text(searched, name)
        if isinstance(value, str):
            return redacted
        return None if redacted != searched else value


def searched_text(value: Any) -> str | None:
    """Return a label's value as text if it may be personal data: a text or a whole number, but no share or answer."""
    if isinstance(value, float) and value.is_integer():  # whole numbers beside missing ones, in a data frame
        return str(int(value))
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def find_personal_data(text: str, label: str = "") -> dict[str, list[Span]]:
    """Return the spans of each kind in ``PATTERNS`` in a text, or in the value of a label of this name."""
    spans: dict[str, list[Span]] = {name: [] for name in PATTERNS}
    for start, end, name in _finds([(name, find) for name, (_, find) in PATTERNS.items()], text, label):
        spans[name].append((start, end))
    return spans


def _finds(finders: Iterable[tuple[str, Finder]], text: str, label: str) -> Iterator[tuple[int, int, str]]:
    context = _words_before(label)
    plain = PlainText.of(context + text)
    for word, find in finders:
        for span in find(plain.text):
            start, end = plain.as_written(span)
            if end > len(context):
                yield max(0, start - len(context)), end - len(context), word


def _words_before(label: str) -> str:
    """The name of a label as words before its value. What it names is its last word: a `call_duration` is no call."""
    words = _WORD.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label))
    while words and words[-1].lower() in _NUMBER_WORDS.split():
        words.pop()
    return f"{' '.join(words[:-1])}\n{words[-1]}: " if words else ""
