"""Names of people in running text, found by a language model of spaCy through Presidio (extra ``redact``)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from turnlens._utils.registries import require
from turnlens.data.personal.spans import Finder, Span

_PERSON = "PERSON"
_NOT_NEEDED = {"tagger", "parser", "morphologizer", "attribute_ruler", "lemmatizer"}  # slower than finding names
_KEY = "en"  # Presidio keeps models by language; we have one, whatever its language


def model_version(model: str) -> str:
    """A text that identifies the version of a model.

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
    """A finder of names of people.

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
