"""The three papers' experiments as data: data sets, tasks, studies, and how large a run is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datasets import Dataset

from turnwise._utils.levels import LevelName
from turnwise.data.conversations import read_conversations
from turnwise.data.sample_corpus import sample_conversations
from turnwise.data.splitting import split_conversations

RETRIEVAL = ("semantic-retrieval",)
RELEASED = ("semantic-retrieval", "dialogue-sts")
DIALOGUES = ("domain-categorization", "semantic-relatedness", "dialogue-retrieval", "alignment-uniformity")
SEQUENCES = ("next-utterance", "short-term-planning", "additivity", "component-analysis")

# Tried after a path's name, in this order.
_ENDINGS = (".jsonl.gz", ".jsonl", ".sample", "")


class MissingDataError(Exception):
    """What a data set or a method needs and does not have; no error of the run."""


@dataclass(frozen=True)
class Parts:
    """A data set's conversations.

    Attributes:
        train: What methods learn from; None where there is nothing.
        test: Conversations, or the folder of a released benchmark.
        needs: Where ``train`` is None: what would have to be there.
    """

    train: Dataset | None
    test: Dataset | Path
    needs: str = ""


@dataclass(frozen=True)
class DataSet:
    """A data set of a suite.

    Attributes:
        name: Its name.
        title: Its name in the report.
        tasks: What is measured on it.
        load: Finds it under the folder of the user's data; raises ``MissingDataError``.
        needs_folder: Whether it comes from that folder, and is left out of a run without one.
        settings: Settings of trainings on it, by the training's name.
    """

    name: str
    title: str
    tasks: tuple[str, ...]
    load: Callable[[Path], Parts]
    needs_folder: bool = True
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """One setting of some methods over several values, on the suite's first data set at hand.

    Attributes:
        name: Its name.
        title: Its name in the report.
        methods: The methods, by name.
        setting: Setting of the method's last training; ``"train_conversations"`` is how many it learns from.
        values: The values; the method's own is among them or a row of the main table.
    """

    name: str
    title: str
    methods: tuple[str, ...]
    setting: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Scale:
    """How large a run is.

    Attributes:
        settings: Settings of trainings, by the training's name; whole epochs where ``max_steps`` is not among them.
        train: At most so many conversations to learn from, a random sample; None is all.
        test: At most so many test conversations, likewise.
        queries: At most so many queries of the retrieval of utterances, and conversations of the tasks on sequences.
        studies: Whether the studies are run.
        everywhere: Settings of every training.
    """

    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    train: int | None = None
    test: int | None = None
    queries: int | None = None
    studies: bool = True
    everywhere: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """One paper's experiments. Its methods are those of its level, see ``methods.METHODS``."""

    name: str
    paper: str
    level: LevelName
    data: tuple[DataSet, ...]
    full: Scale
    quick: Scale
    studies: tuple[Study, ...] = ()


def _find(folder: Path, name: str) -> Path | None:
    return next((path for ending in _ENDINGS if (path := folder / f"{name}{ending}").exists()), None)


def _needed(folder: Path, name: str) -> Path:
    found = _find(folder, name)
    if found is None:
        raise MissingDataError(f"needs {name}{_ENDINGS[0]} (or {name}{_ENDINGS[1]}, or a folder {name}) under {folder}")
    return found


def files(train: str, test: str) -> Callable[[Path], Parts]:
    """Conversations to learn from and to test on, each a file or a folder."""

    def load(folder: Path) -> Parts:
        learned, tested = _needed(folder, train), _needed(folder, test)
        return Parts(read_conversations(learned), read_conversations(tested))

    return load


def released(test: tuple[str, ...], train: str, format: str = "auto") -> Callable[[Path], Parts]:
    """A benchmark as its authors published it: the first folder there is; the conversations may be missing."""

    def load(folder: Path) -> Parts:
        tested = next((path for name in test if (path := folder / name).is_dir()), None)
        if tested is None:
            raise MissingDataError(f"needs a folder {' or '.join(test)} with select.txt and sts.txt under {folder}")
        learned = _find(folder, train)
        if learned is None:
            return Parts(None, tested, f"needs conversations to learn from, {train}, under {folder}")
        return Parts(read_conversations(learned, format), tested)

    return load


def held_out(name: str, test: float) -> Callable[[Path], Parts]:
    """One file, of which a share is held out as the test."""
    return lambda folder: _split(read_conversations(_needed(folder, name)), test)


def generated(conversations: int, test: float = 0.2) -> Callable[[Path], Parts]:
    """The sample corpus, of which a share is held out as the test."""
    return lambda folder: _split(sample_conversations(conversations, seed=0), test)


def _split(conversations: Dataset, test: float) -> Parts:
    parts = split_conversations(conversations, train=1 - test, dev=0.0, test=test)
    return Parts(parts["train"], parts["test"])


def sample_corpus(tasks: tuple[str, ...], conversations: int = 1500) -> DataSet:
    """The generated corpus, which is always there."""
    return DataSet("sample", "sample corpus", tasks, generated(conversations), needs_folder=False)


SGD = files("sgd/train", "sgd/test")


def daily_dialog(folder: Path) -> Parts:
    """Its own parts, or where one file of it is all there is, a tenth of that as the test."""
    own = _find(folder, "dailydialog/train")
    return files("dailydialog/train", "dailydialog/test")(folder) if own else held_out("dailydialog/dev", 0.1)(folder)


def persona_chat(folder: Path) -> Parts:
    """Another corpus than what was learned from, as in the paper."""
    test = read_conversations(_needed(folder, "personachat/test"))
    return Parts(daily_dialog(folder).train, test)


_CSE = ("dialogue-cse", "siamese-multi")
_CONTRASTIVE = ("siamese-single", "siamese-multi", "dialogue-cse", "dialogue-cse-paper")
_GENERAL = ("adapt", "simcse")
_TURN_ORDER = ("single-vector", "ccl", "c3l")


def _each(names: tuple[str, ...], **settings: Any) -> dict[str, dict[str, Any]]:
    return {name: settings for name in names}


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            name="dialoguecse",
            paper="DialogueCSE (Liu et al., EMNLP 2021)",
            level="utterance",
            data=(
                DataSet("sgd", "Schema-Guided Dialogue", RETRIEVAL, SGD),
                DataSet(
                    "ecd",
                    "E-commerce corpus (released)",
                    RELEASED,
                    released(("ecd/test", "ecd/dev"), "ecd/train/train_data.txt", "ecd"),
                ),
                DataSet(
                    "jddc", "Jing Dong corpus (released)", RELEASED, released(("jddc/test", "jddc/dev"), "jddc/train")
                ),
                DataSet(
                    "mdc",
                    "Microsoft dialogue corpus (released)",
                    RELEASED,
                    released(("mdc/test", "mdc/dev"), "mdc/train"),
                ),
                sample_corpus(RETRIEVAL),
            ),
            full=Scale(settings=_each(_CONTRASTIVE, max_steps=150) | _each(_GENERAL, max_steps=300), queries=800),
            quick=Scale(
                settings=_each(_CONTRASTIVE, max_steps=15, batch_size=8) | _each(_GENERAL, max_steps=15),
                train=400,
                test=300,
                queries=100,
                studies=False,
            ),
            studies=(
                Study("turns", "Turn number (Figure 2)", _CSE, "context_turns", (1, 2, 3, 4, 5)),
                Study("data-size", "Data size (Figure 3)", _CSE, "train_conversations", (50, 200, 800, 3200)),
                Study("temperature", "Temperature (Table 3)", _CSE[:1], "temperature", (0.05, 0.1, 0.2, 0.5)),
                Study("negatives", "Negatives (Table 4)", _CSE[:1], "negatives", (1, 4, 9, 19)),
            ),
        ),
        Suite(
            name="dial2vec",
            paper="dial2vec (Liu et al., EMNLP 2022)",
            level="dialogue",
            data=(
                DataSet("sgd", "Schema-Guided Dialogue", DIALOGUES, SGD),
                DataSet("self-dialogue", "Self-dialogue", DIALOGUES, files("self_dialogue/train", "self_dialogue/dev")),
                *(
                    DataSet(title.lower(), title, DIALOGUES, files(f"{title.lower()}/train", f"{title.lower()}/test"))
                    for title in ("BiTOD", "Doc2dial", "MetalWOZ", "MultiWOZ")
                ),
                sample_corpus(DIALOGUES),
            ),
            full=Scale(
                settings={
                    "dial2vec": {"max_steps": 60},
                    "dialogue-cse": {"max_steps": 150},
                    "simcse": {"max_steps": 300},
                }
            ),
            quick=Scale(
                settings={
                    "dial2vec": {"max_steps": 8, "negatives_per_dialogue": 4},
                    **_each(("dialogue-cse", "simcse"), max_steps=15),
                },
                train=400,
                test=300,
                studies=False,
            ),
            studies=(
                Study(
                    "steps",
                    "Alignment and uniformity while training (Figure 3)",
                    ("dial2vec",),
                    "max_steps",
                    (10, 30, 60),
                ),
            ),
        ),
        Suite(
            name="triple",
            paper="Triple-Encoders (Erker et al., ACL 2024)",
            level="turn-order",
            data=(
                DataSet("dailydialog", "DailyDialog", SEQUENCES, daily_dialog),
                DataSet("mdc", "Microsoft dialogue corpus", SEQUENCES, held_out("mdc/train", 0.1)),
                DataSet("personachat", "PersonaChat, trained on DailyDialog", SEQUENCES, persona_chat),
                DataSet("sgd", "Schema-Guided Dialogue", SEQUENCES, SGD),
                DataSet(
                    "cbt",
                    "Children's Book Test",
                    SEQUENCES[:1],
                    files("cbt/train", "cbt/test"),
                    settings=_each(("ccl", "c3l"), speakers=False),  # appendix F: stories have none
                ),
                sample_corpus(SEQUENCES),
            ),
            full=Scale(settings=_each(_TURN_ORDER, max_steps=300), test=1000),
            quick=Scale(settings=_each(_TURN_ORDER, max_steps=10, batch_size=4), train=400, test=100, queries=50),
        ),
    )
}


def find_suite(name: str) -> Suite:
    """The suite of that name.

    Raises:
        ValueError: There is none.
    """
    if name not in SUITES:
        raise ValueError(f"unknown suite {name!r}: expected one of {', '.join(SUITES)}")
    return SUITES[name]
