"""The table of personal data in messages, and how much of it redaction finds: run this file to see both."""

import re
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from made_cases import IDS, made_cases

from turnlens.data.personal.redaction import PATTERNS, Redaction, merged

_CASES = Path(__file__).with_name("personal_data_cases.toml")
_MARKED = re.compile(r"«(\w+):([^»]+)»")
_NAMES = {placeholder: kind for kind, (placeholder, _) in PATTERNS.items()}

_KINDS_OF_PRESIDIO = {
    "EMAIL_ADDRESS": "emails",
    "PHONE_NUMBER": "phones",
    "CREDIT_CARD": "cards",
    "IBAN_CODE": "ibans",
    "URL": "urls",
    "IP_ADDRESS": "ips",
}

Find = tuple[int, int, str]  # start, end, kind
Finder = Callable[[str], list[Find]]


def written_cases() -> list[tuple[str, list[Find]]]:
    """Each message of the file, and what is personal in it."""
    return [_case(marked) for messages in tomllib.loads(_CASES.read_text("utf-8")).values() for marked in messages]


def cases() -> list[tuple[str, list[Find]]]:
    """All messages, and what is personal in them."""
    return written_cases() + [_case(marked) for messages in made_cases().values() for marked in messages]


def _case(marked: str) -> tuple[str, list[Find]]:
    text, finds, done = "", [], 0
    for mark in _MARKED.finditer(marked):
        text += marked[done : mark.start()]
        finds.append((len(text), len(text) + len(mark[2]), mark[1]))
        text += mark[2]
        done = mark.end()
    return text + marked[done:], finds


def found(text: str) -> list[Find]:
    """Find personal data in a message as redaction does."""
    return [(start, end, _NAMES[word]) for start, end, word in Redaction.parse("all").finds(text)]


def presidio() -> Finder:
    """Find it with the patterns of Presidio (extra ``redact``), without a language model."""
    import spacy
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

    engine = SpacyNlpEngine([{"lang_code": "en", "model_name": "blank"}])
    engine.nlp = {"en": spacy.blank("en")}
    registry = RecognizerRegistry(supported_languages=["en"])
    registry.load_predefined_recognizers(languages=["en"], nlp_engine=engine)
    analyzer = AnalyzerEngine(registry, engine, supported_languages=["en"])

    def find(text: str) -> list[Find]:
        results = analyzer.analyze(text, "en", list(_KINDS_OF_PRESIDIO))
        return merged((result.start, result.end, _KINDS_OF_PRESIDIO[result.entity_type]) for result in results)

    return find


def counts(
    find: Finder = found, messages: Callable[[], list[tuple[str, list[Find]]]] = cases
) -> dict[str, Counter[str]]:
    """Of each kind, and together: what there is, what is found, and what is found from its first letter to its last."""
    counted: dict[str, Counter[str]] = {kind: Counter() for kind in PATTERNS}
    for text, expected in messages():
        finds = find(text)
        for what, some in (("there", expected), ("found", finds), ("right", set(expected) & set(finds))):
            for *_, kind in some:
                counted[kind][what] += 1
    return {**counted, "together": sum(counted.values(), Counter())}


def shares(counted: Counter[str]) -> tuple[str, str]:
    """Recall and precision."""
    return f"{counted['right'] / counted['there']:.0%}", f"{counted['right'] / counted['found']:.0%}"


def as_markdown() -> str:
    """The table of the documentation."""
    lines = ["| kind | in the table | found | right | recall | precision |", "|---|---|---|---|---|---|"]
    for kind, counted in counts().items():
        name = f"`{kind}`" if kind in PATTERNS else kind
        numbers = (str(counted[what]) for what in ("there", "found", "right"))
        lines.append(f"| {' | '.join((name, *numbers, *shares(counted)))} |")
    return "\n".join(lines)


def made_as_markdown() -> str:
    """The table of the documentation by what messages hold: those of which all is found, and nothing else."""
    lines = ["| messages with | cases | right |", "|---|---|---|"]
    for kind, messages in made_cases().items():
        right = sum(sorted(found(text)) == sorted(expected) for text, expected in map(_case, messages))
        lines.append(f"| {kind} | {len(messages)} | {right} |")
    return "\n".join(lines)


def countries() -> tuple[list[str], list[str]]:
    """The countries whose numbers are found after a word, and those of which they are found without any, too."""
    made = made_cases()
    return tuple(  # type: ignore[return-value]
        [country for country, marked in zip(IDS, made[kind]) if [*map(found, [_case(marked)[0]])] == [_case(marked)[1]]]
        for kind in ("national ids after a word", "national ids alone")
    )


if __name__ == "__main__":
    for text, expected in cases():
        finds = found(text)
        if sorted(finds) != sorted(expected):
            missed = [text[start:end] for start, end, kind in set(expected) - set(finds)]
            wrong = [(text[start:end], kind) for start, end, kind in set(finds) - set(expected)]
            print(f"{text!r}: missed {missed}, wrong {wrong}")
    print(as_markdown())
    print(made_as_markdown())
    print(*(", ".join(names) for names in countries()), sep="\n")
    print("Presidio:", *shares(counts(presidio(), written_cases)["together"]))
