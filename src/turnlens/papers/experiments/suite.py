"""One paper's experiments as data: its methods, data sets and studies, and how large a run is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from turnlens._utils.registries import LevelName
from turnlens.papers.experiments.data_sets import DataSet
from turnlens.papers.experiments.method import Method
from turnlens.papers.experiments.papers import PAPERS

_NUMBER_OF_CONVERSATIONS = "train_conversations"


@dataclass(frozen=True)
class Study:
    """Several values of one setting of some methods, on every data set found that has training conversations.

    On the sample corpus it is run only if no other data set was found.

    Attributes:
        name: Its name.
        title: Its name in the report.
        methods: The methods, by name.
        setting: Setting of the method's last training; ``"train_conversations"`` is how many it learns from.
        values: The values. The method's own value is among them or in the main table.
        settings: Further settings of a method's last training, by the method's name.
        not_on: Data sets that it is not run on.
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
        """Whether its values are numbers of training conversations instead of a setting of the training."""
        return self.setting == _NUMBER_OF_CONVERSATIONS


@dataclass(frozen=True)
class Scale:
    """How large a run is.

    Attributes:
        settings: Settings of trainings, by the training's name; without ``max_steps``, training runs for whole epochs.
        train: Learn from at most this many conversations, a random sample; None means all.
        test: Test on at most this many conversations, a random sample; None means all.
        queries: Evaluate at most this many queries in the retrieval of utterances, and at most this many conversations
            in the tasks on the order of turns.
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
    """One paper's experiments.

    Attributes:
        name: Its name, one of ``PAPERS``.
        level: What its methods embed.
        methods: The rows of its tables.
        validates: The task that chooses the step of published trainings, on data sets that have validation data.
        pooling: How it embeds whole conversations.
        data: The data sets.
        full: How large a run is.
        quick: How large a quick run is.
        studies: The studies.
    """

    name: str
    level: LevelName
    methods: tuple[Method, ...]
    validates: str
    data: tuple[DataSet, ...]
    full: Scale
    quick: Scale
    studies: tuple[Study, ...] = ()
    pooling: str = "mean"

    @property
    def paper(self) -> str:
        """The paper, with authors and year."""
        return PAPERS[self.name]

    @property
    def methods_by_name(self) -> dict[str, Method]:
        """The rows of its tables, by name."""
        return {method.name: method for method in self.methods}


def same_settings(names: Iterable[str], **settings: Any) -> dict[str, dict[str, Any]]:
    """The same settings for several trainings, by the training's name."""
    return {name: settings for name in names}
