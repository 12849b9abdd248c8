"""Names of people: listed ones, those in running text, and labels that hold some.

Names in running text are found by a language model of spaCy through Presidio (extra ``redact``).
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from turnlens._utils.registries import require
from turnlens.data.personal.plain_text import LETTER, Finder, PlainText, Span
from turnlens.data.sentences import CALLED, GREETING
from turnlens.formats.column_names import plain_name


def names_finder(names: Iterable[str]) -> Finder:
    """Return a finder of whole names in any case and spacing.

    Args:
        names: The names. Chinese and Japanese ones, in whose texts words are not spaced, are found anywhere.
    """
    root = _trie(names)
    pattern = re.compile(_alternatives(root) if root else "(?!)", re.IGNORECASE)

    def find(text: str) -> Iterator[Span]:
        return (match.span() for match in pattern.finditer(text))

    return find


_END = ""
_Trie = dict[str, "_Trie"]


def _trie(names: Iterable[str]) -> _Trie:
    """Return the letters of all names as a tree, so that thousands of names are one quick pattern."""
    root: _Trie = {}
    for name in names:
        node = root
        for letter in " ".join(PlainText.of(name).text.split()):
            node = node.setdefault(letter.lower(), {})
        node[_END] = {}
    return root


def _alternatives(root: _Trie) -> str:
    return rf"(?:(?<!{LETTER})|(?!{LETTER})){_branches(root)}(?:(?!{LETTER})|(?<!{LETTER}))"


def _branches(node: _Trie) -> str:
    inner = [
        (r"\s+" if letter == " " else re.escape(letter)) + _branches(rest) for letter, rest in node.items() if letter
    ]
    if not inner:
        return ""
    joined = f"(?:{'|'.join(inner)})"
    return f"{joined}?" if _END in node else joined


_THANKED = re.compile(
    rf"\b(?i:thank you|thanks|thx|cheers|danke|merci|gracias|grazie|obrigad[oa])(?:[ \t]+[^\W\d_A-Z]+){{0,3}},?[ \t]+"
    rf"({CALLED})[ \t]*(?=[.!,\n]|\Z)"
)
_CALLED = re.compile(CALLED)
_CALLS = 1 / 4  # of the conversations that have a name, at least, call somebody by it


def called_names(texts: Sequence[str], conversations: Sequence[Hashable]) -> set[str]:
    """The names, in lower case, by which people are greeted and thanked.

    Args:
        texts: The messages (n).
        conversations: The conversation of each (n).

    Examples:
        >>> texts = ["Hi Ann, hello", "Thanks so much Bo!", "Dear Apple, help", *["Is Apple down?"] * 4]
        >>> sorted(called_names(texts, range(7)))
        ['ann', 'bo']
    """
    called: set[tuple[Hashable, str]] = set()
    for text, conversation in zip(texts, conversations):
        matches = (match for pattern in (GREETING, _THANKED) for match in pattern.finditer(text))
        called |= {(conversation, word.lower()) for match in matches for word in _CALLED.findall(match[1] or "")}
    find = names_finder({name for _, name in called})
    having = {
        (conversation, text[start:end].lower())
        for text, conversation in zip(texts, conversations)
        for start, end in find(text)
    }
    calls, times = (Counter(name for _, name in pairs) for pairs in (called, having))
    return {name for name in calls if calls[name] >= _CALLS * times[name]}


_PERSON = "PERSON"
_NOT_NEEDED = {"tagger", "parser", "morphologizer", "attribute_ruler", "lemmatizer"}  # slower than finding names
_KEY = "en"  # Presidio keeps models by language; we have one, whatever its language


def model_version(model: str) -> str:
    """Return a text that identifies the version of a model.

    Raises:
        ValueError: It is not installed; nothing is downloaded.
    """
    described = Path(model) / "meta.json"
    if described.is_file():
        return described.read_text(encoding="utf-8")
    try:
        return version(model)
    except (PackageNotFoundError, ValueError):
        install = "install one, such as: python -m spacy download en_core_web_sm"
        raise ValueError(f"redact: persons={model}: found no such model of spaCy; {install}") from None


def persons_finder(model: str) -> Finder:
    """Return a finder of names of people in running text.

    Args:
        model: A package such as ``en_core_web_sm``, or the folder of a model of spaCy.

    Raises:
        ImportError: Presidio is not installed.
        ValueError: The model is not.
    """
    model_version(model)  # or Presidio would fetch it
    presidio = require("presidio_analyzer", "redact")
    engines = require("presidio_analyzer.nlp_engine", "redact")
    recognizers = require("presidio_analyzer.predefined_recognizers", "redact")
    logging.getLogger("presidio-analyzer").setLevel(logging.ERROR)  # it warns of every entity that is no person
    engine = engines.SpacyNlpEngine([{"lang_code": _KEY, "model_name": model}])
    engine.load()
    model_pipes = engine.get_nlp(_KEY)
    model_pipes.disable_pipes([name for name in model_pipes.pipe_names if name in _NOT_NEEDED])
    registry = presidio.RecognizerRegistry([recognizers.SpacyRecognizer(supported_entities=[_PERSON])])
    analyzer = presidio.AnalyzerEngine(registry, engine)

    def find(text: str) -> Iterator[Span]:
        return ((entity.start, entity.end) for entity in analyzer.analyze(text, _KEY, [_PERSON]))

    return find


_PEOPLE = (
    "name agent user author sender speaker requester assignee owner contact customer client caller operator employee "
    "participant person member staff representative rep manager nickname username firstname lastname surname"
)
# Labels about people that are not names, or names of things.
_NO_PEOPLE = (
    "id type role status state tier segment count number language country city region date time email phone rating "
    "reason product file company brand campaign model event team queue group channel domain intent topic service plan"
)
_SHARE = 0.6  # of the values of a label that holds names
_ROLES = "agent customer user assistant bot system admin operator client visitor unknown none yes no"
_NAME = re.compile(r"(?=[^\W\d_])[^\W\d_a-zß-öø-ÿ][^\W\d_]*[.'’-]?(?:[ '’.-]{1,2}[^\W\d_][^\W\d_'’.-]*){0,4}\.?")


def holds_names(label: str, values: Collection[str]) -> bool:
    """Return true if a label's name is about people, and most of its values are written like names."""
    words = set(plain_name(label).split("_"))
    if not words & set(_PEOPLE.split()) or words & set(_NO_PEOPLE.split()) or not values:
        return False
    roles = _ROLES.split()
    names = [value for value in values if _NAME.fullmatch(value) and value.lower() not in roles]
    return len(names) >= _SHARE * len(values)
