"""The experiments of a paper as data: rows of its tables, data sets, studies, sizes of runs. Each ``table.py`` has one.

Also finds data sets in the folder that the user names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datasets import Dataset

from turnlens._utils.registries import LevelName, Table
from turnlens.data.conversations import read_conversations
from turnlens.data.dataset_operations import split_conversations
from turnlens.data.sample_corpus import sample_conversations
from turnlens.papers.baselines import Learning, Need
from turnlens.papers.experiments import check_data_sets

Score = Callable[[Any, Mapping[str, Any]], dict[str, Any]]  # see ``scoring``
_ENDINGS = (".jsonl.gz", ".jsonl", ".sample", "")  # tried after the name of a data set's part, in this order
_HUGGING_FACE = "hf:"


class MissingDataError(Exception):
    """A data set or a row lacks something that the user can provide. The run goes on without it."""


@dataclass(frozen=True)
class Stage:
    """One training of the encoder: a method of ``turnlens train``, or ``adapt``, ``adapt-paper`` or ``simcse``.

    A method followed by ``:paper`` has the settings of its paper; ``settings`` are those that differ.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_published(self) -> bool:
        """True for the paper's own settings, whose step is chosen on validation data."""
        return self.name.endswith(":paper")


@dataclass(frozen=True)
class Method:
    """One row of a table: trainings, one after the other, and a function that scores their result on tasks.

    Rows that share trainings share the trained model. ``learns`` is how ``score`` itself learns; ``tasks`` are those it
    serves (None: all of the suite); ``needs`` is what the user provides; ``model`` is a Hugging Face model of its own,
    downloaded only if it was ``chosen``.
    """

    name: str
    title: str
    score: Score
    stages: tuple[Stage, ...] = ()
    learns: Learning = "nothing"
    tasks: tuple[str, ...] | None = None
    needs: Need = "nothing"
    model: str = ""
    chosen: bool = False

    @property
    def needs_conversations(self) -> bool:
        """True if it learns from conversations."""
        return bool(self.stages) or self.learns != "nothing"

    @property
    def needs_seeds(self) -> bool:
        """True if the seed changes its result."""
        return bool(self.stages) or self.learns == "randomly"


@dataclass(frozen=True)
class Splits:
    """The parts of a data set. A released benchmark is a folder; ``needs`` says why there is no ``train``."""

    train: Dataset | None
    test: Dataset | Path
    needs: str = ""
    validation: Dataset | Path | None = None  # chooses the step of published trainings


@dataclass(frozen=True)
class DataSet:
    """A data set: ``load`` finds it in the user's folder, and ``settings`` are those of trainings on it, by stage."""

    name: str
    title: str
    tasks: tuple[str, ...]
    load: Callable[[Path], Splits]
    needs_folder: bool = True
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """Several values of a setting of some rows' last training; ``train_conversations`` is how many it learns from.

    A study runs on every data set with training conversations, but for ``not_on``, and on the sample corpus only if
    there is no other. ``settings`` are further ones, by row.
    """

    name: str
    title: str
    methods: tuple[str, ...]
    setting: str
    values: tuple[float, ...]
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    not_on: tuple[str, ...] = ()

    @property
    def varies_conversations(self) -> bool:
        """True if its values are numbers of conversations."""
        return self.setting == "train_conversations"


@dataclass(frozen=True)
class Scale:
    """The size of a run: settings by stage, and at most how many conversations and queries are drawn (None: all)."""

    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    train: int | None = None
    test: int | None = None
    queries: int | None = None
    studies: bool = True


@dataclass(frozen=True)
class Suite:
    """One paper's experiments. The task ``validates`` chooses the step of published trainings."""

    name: str
    paper: str
    level: LevelName
    methods: tuple[Method, ...]
    validates: str
    data: tuple[DataSet, ...]
    full: Scale
    quick: Scale
    studies: tuple[Study, ...] = ()
    pooling: str = "mean"

    @property
    def methods_by_name(self) -> dict[str, Method]:
        """The rows of its tables, by name."""
        return {method.name: method for method in self.methods}


SUITES: Table[Suite] = Table(
    {
        "dialoguecse": "turnlens.papers.dialogue_cse.table:SUITE",
        "dial2vec": "turnlens.papers.dial2vec.table:SUITE",
        "triple": "turnlens.papers.triple_encoders.table:SUITE",
    }
)


def find_suite(name: str) -> Suite:
    """Return the suite of that name, or raise ``ValueError``."""
    if name not in SUITES:
        raise ValueError(f"unknown suite {name!r}: expected one of {', '.join(SUITES)}")
    return SUITES[name]


def chosen_data(suite: Suite, names: Sequence[str] | None, folder: Path | None) -> tuple[DataSet, ...]:
    """Return data sets by name (None: all), in the order of the suite; ``ValueError`` if one cannot be had."""
    check_data_sets(names, [data.name for data in suite.data])
    chosen = tuple(data for data in suite.data if not names or data.name in names)
    if names and folder is None and (needing := [data.name for data in chosen if data.needs_folder]):
        raise ValueError(f"{', '.join(needing)}: give the folder of the data sets with --data")
    return chosen


def chosen_methods(suite: Suite, names: Sequence[str] | None) -> dict[str, Method]:
    """Return rows by name (None: all), in the order of the table; the untouched encoder is always among them.

    ``hf:NAME`` is the Hugging Face model of that name or folder.

    Raises:
        ValueError: There is no such row.
    """
    from turnlens.papers.experiments.scoring import hugging_face_row

    table, models = suite.methods_by_name, suite.level != "reply"
    further = [name for name in names or () if models and name.startswith(_HUGGING_FACE) and name != _HUGGING_FACE]
    if unknown := sorted(set(names or ()) - set(table) - set(further)):
        also = f", or {_HUGGING_FACE}NAME for a Hugging Face model" if models else ""
        raise ValueError(f"unknown method {', '.join(map(repr, unknown))}: expected some of {', '.join(table)}{also}")
    chosen = {name: method for name, method in table.items() if not names or name in (*names, "untouched")}
    return chosen | {name: hugging_face_row(name, name.removeprefix(_HUGGING_FACE), suite.level) for name in further}


def same_settings(stages: Iterable[str], **settings: Any) -> dict[str, dict[str, Any]]:
    """Return the same settings for several stages."""
    return {stage: settings for stage in stages}


# --- Finding data sets


def find(folder: Path, name: str) -> Path | None:
    """Return the file or folder of that name, with one of the endings of conversations, or None."""
    return next((path for ending in _ENDINGS if (path := folder / f"{name}{ending}").exists()), None)


def needed(folder: Path, name: str) -> Path:
    """Return the file or folder of that name, or raise ``MissingDataError``."""
    path = find(folder, name)
    if path is None:
        raise MissingDataError(f"needs {name}{_ENDINGS[0]} (or {name}{_ENDINGS[1]}, or a folder {name}) under {folder}")
    return path


def files(train: str, test: str, validation: str = "") -> Callable[[Path], Splits]:
    """Read files or folders to learn from, to test on and, if it exists, to choose a step on."""

    def load(folder: Path) -> Splits:
        learned, tested = needed(folder, train), needed(folder, test)
        part = find(folder, validation) if validation else None
        chosen_on = None if part is None else read_conversations(part)
        return Splits(read_conversations(learned), read_conversations(tested), validation=chosen_on)

    return load


def released(test: tuple[str, ...], train: str, format: str = "auto") -> Callable[[Path], Splits]:
    """Read a benchmark as its authors published it: the first of the folders that exists; a second one validates."""

    def load(folder: Path) -> Splits:
        folders = [path for name in test if (path := folder / name).is_dir()]
        if not folders:
            raise MissingDataError(f"needs a folder {' or '.join(test)} with select.txt and sts.txt under {folder}")
        learned = find(folder, train)
        if learned is None:
            return Splits(None, folders[0], f"needs conversations to learn from, {train}, under {folder}")
        validation = folders[1] if len(folders) > 1 else None
        return Splits(read_conversations(learned, format=format), folders[0], validation=validation)

    return load


def held_out(name: str, test: float) -> Callable[[Path], Splits]:
    """Read one file or folder, a share of which is held out for testing."""
    return lambda folder: _split(read_conversations(needed(folder, name)), test)


def sample_corpus(tasks: tuple[str, ...], conversations: int = 1500) -> DataSet:
    """Return the generated corpus, a fifth of which is held out for testing."""

    def load(folder: Path) -> Splits:
        return _split(sample_conversations(conversations, seed=0), 0.2)

    return DataSet("sample", "sample corpus", tasks, load, needs_folder=False)


def _split(conversations: Dataset, test: float) -> Splits:
    parts = split_conversations(conversations, train=1 - test, dev=0.0, test=test)
    return Splits(parts["train"], parts["test"])


SGD = files("sgd/train", "sgd/test", "sgd/dev")
