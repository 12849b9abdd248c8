"""Data sets of the experiments: where their conversations are found, and which are held out for testing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datasets import Dataset

from turnlens.data.conversations import read_conversations
from turnlens.data.sample_corpus import sample_conversations
from turnlens.data.splitting import split_conversations

# Tried after a path's name, in this order.
_ENDINGS = (".jsonl.gz", ".jsonl", ".sample", "")


class MissingDataError(Exception):
    """A data set or a method lacks something that it needs. This is not an error of the run."""


@dataclass(frozen=True)
class Splits:
    """A data set's conversations.

    Attributes:
        train: What methods learn from; None if there is nothing.
        test: Conversations, or the folder of a released benchmark.
        needs: Where ``train`` is None, what is missing.
        validation: Chooses the step of published trainings, as ``test``; None if there is nothing.
    """

    train: Dataset | None
    test: Dataset | Path
    needs: str = ""
    validation: Dataset | Path | None = None


Load = Callable[[Path], Splits]


@dataclass(frozen=True)
class DataSet:
    """A data set of a suite.

    Attributes:
        name: Its name.
        title: Its name in the report.
        tasks: The tasks evaluated on it.
        load: Finds it under the folder of the user's data; raises ``MissingDataError``.
        needs_folder: Whether it comes from that folder, so that a run without a folder leaves it out.
        settings: Settings of trainings on it, by the training's name.
    """

    name: str
    title: str
    tasks: tuple[str, ...]
    load: Load
    needs_folder: bool = True
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def find(folder: Path, name: str) -> Path | None:
    """The file or folder of that name, with any of the endings under which conversations are looked for."""
    return next((path for ending in _ENDINGS if (path := folder / f"{name}{ending}").exists()), None)


def needed(folder: Path, name: str) -> Path:
    """As ``find``, but a missing file or folder is an error.

    Raises:
        MissingDataError: There is no such file or folder.
    """
    path = find(folder, name)
    if path is None:
        raise MissingDataError(f"needs {name}{_ENDINGS[0]} (or {name}{_ENDINGS[1]}, or a folder {name}) under {folder}")
    return path


def files(train: str, test: str, validation: str = "") -> Load:
    """Files or folders of conversations to learn from, to test on and, if it exists, to choose a step on."""

    def load(folder: Path) -> Splits:
        learned, tested = needed(folder, train), needed(folder, test)
        chosen_on = find(folder, validation) if validation else None
        return Splits(
            read_conversations(learned),
            read_conversations(tested),
            validation=None if chosen_on is None else read_conversations(chosen_on),
        )

    return load


def released(test: tuple[str, ...], train: str, format: str = "auto") -> Load:
    """A benchmark as its authors published it: the first of the folders that exists.

    Args:
        test: Folders of the benchmark; a second one that exists is for choosing a step.
        train: Conversations to learn from; they may be missing.
        format: Their format.
    """

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


def held_out(name: str, test: float) -> Load:
    """One file or folder, a share of which is held out for testing."""
    return lambda folder: _split(read_conversations(needed(folder, name)), test)


def generated(conversations: int, test: float = 0.2) -> Load:
    """The sample corpus, a share of which is held out for testing."""
    return lambda folder: _split(sample_conversations(conversations, seed=0), test)


def _split(conversations: Dataset, test: float) -> Splits:
    parts = split_conversations(conversations, train=1 - test, dev=0.0, test=test)
    return Splits(parts["train"], parts["test"])


def sample_corpus(tasks: tuple[str, ...], conversations: int = 1500) -> DataSet:
    """The generated corpus, which is always there."""
    return DataSet("sample", "sample corpus", tasks, generated(conversations), needs_folder=False)


SGD = files("sgd/train", "sgd/test", "sgd/dev")
