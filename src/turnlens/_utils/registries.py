"""Tables of the names of methods and tasks, and the extensions and optional packages that add to them.

An extension is a module that an entry point of the group ``turnlens.extensions`` names. It holds plain tables of texts,
such as ``METHODS = {"my-method": ("my_package.recipe:MyRecipe", "one line about it")}``, and imports nothing. A value
is imported when its name is used, so a wrong name is reported at once, before seconds of loading.
`turnlens.papers.extension` is one; docs/extensions.md has the tables.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from turnlens._utils.arguments import did_you_mean

GROUP = "turnlens.extensions"
Value = TypeVar("Value")
# The place of a value, as ``"package.module:NAME"``, or the place and one line about it.
Entry: TypeAlias = str | tuple[str, str]


@cache
def extensions() -> Mapping[str, ModuleType]:
    """Return the modules of all installed extensions. One that cannot be imported is left out with a warning."""
    modules = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        with left_out("extension", point.name):
            modules[point.name] = point.load()
    return modules


@contextmanager
def left_out(what: str, name: str) -> Iterator[None]:
    """Leave out what fails inside the block and is somebody else's, with a warning: turnlens works without it."""
    try:
        yield
    except (Exception, SystemExit) as error:
        logging.getLogger("turnlens").warning("left out the %s %s: %s", what, name, str(error) or type(error).__name__)


def _table_of(module: ModuleType, name: str) -> dict[str, Entry]:
    """The table of this name in a module.

    Raises:
        TypeError: It is none.
    """
    table = getattr(module, name, {})
    entries = dict(table.items()) if isinstance(table, Mapping) else {"": table}
    for key, entry in entries.items():
        place = (entry, "") if isinstance(entry, str) else entry
        if not (isinstance(place, tuple) and len(place) == 2 and all(isinstance(text, str) for text in (key, *place))):
            raise TypeError(f'expected names, each with "package.module:NAME", got {key!r}: {entry!r:.80}')
    return entries


class Table(Mapping[str, Value], Generic[Value]):
    """Methods, tasks and similar things by name, each defined in a module of its own.

    The names are known without importing what they stand for, so that the command line can list and check them at once.

    Args:
        entries: The name and the place of each thing.
        extended_by: The name of the extensions' tables whose entries are added; they replace none of these.
        last: Further entries, which come after those of extensions.
    """

    def __init__(
        self, entries: Mapping[str, Entry], extended_by: str | None = None, last: Mapping[str, Entry] | None = None
    ) -> None:
        self._own, self._extended_by, self._last = entries, extended_by, last or {}
        self._unusable: set[str] = set()

    @cached_property
    def _entries(self) -> dict[str, Entry]:
        added: dict[str, Entry] = {}
        for extension, module in extensions().items() if self._extended_by else ():
            with left_out(f"{self._extended_by} of the extension", extension):
                added = {**added, **_table_of(module, str(self._extended_by)), **added}
        return {**self._own, **added, **self._own, **self._last}  # own entries first, and none replaced

    def __getitem__(self, name: str) -> Value:
        entry = self._entries[name]
        module, _, attribute = (entry if isinstance(entry, str) else entry[0]).partition(":")
        value: Value = getattr(import_module(module), attribute)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def usable(self, kind: type[Value]) -> Iterator[Value]:
        """Yield all values of a kind. One of an extension that is none, or cannot be imported, is left out."""
        for name in self:
            value: Any = None
            if name not in self._unusable:
                with left_out(f"entry of {self._extended_by}", name):
                    value = self[name]
                    if not isinstance(value, kind):
                        raise TypeError(f"expected a {kind.__name__}, got {value!r:.80}")
            if isinstance(value, kind):
                yield value
            else:
                self._unusable.add(name)

    def about(self, name: str) -> str:
        """Return one line about this entry, or nothing."""
        entry = self._entries[name]
        return "" if isinstance(entry, str) else entry[1]

    def name_of(self, kind: type) -> str | None:
        """Return the name that stands for this class, or ``None``."""
        place = f"{kind.__module__}:{kind.__name__}"
        return next((name for name, entry in self._entries.items() if place in (entry, entry[0])), None)

    def first_of(self, names: Iterable[str]) -> Value | None:
        """Return the value of the first of these names that is in the table, or ``None``."""
        return next((self[name] for name in names if name in self), None)


DEFAULT_METHOD = "complete"
GROUPS_FILE = "groups.safetensors"  # the groups that a store remembers, whose words erasing removes

# Method -> the class of its recipe.
METHODS: Table[Any] = Table(
    {
        "complete": (
            "turnlens.training.recipes.complete:Complete",
            "context and answers, then a projection, a reply head and a centre",
        ),
        "in-context": ("turnlens.training.recipes.in_context:InContext", "messages"),
        "reply-head": ("turnlens.training.recipes.reply_head:ReplyHeadRecipe", "next replies"),
    },
    "METHODS",
)

# Pooling of whole conversations -> its function, see `turnlens.encoders.conversation_pooling`. A role follows
# "speaker:".
POOLINGS: Table[Any] = Table(
    {
        "mean": "turnlens.encoders.conversation_pooling:mean",
        "messages": "turnlens.encoders.messages:pool_messages",
        "speaker:": "turnlens.encoders.conversation_pooling:mean_of_role",
    },
    "POOLINGS",
)

# Method -> the class of its recipe with the settings of its paper (the preset "paper").
PUBLISHED: Table[Any] = Table({}, "PUBLISHED")

# What a method adds to the weights of a transformer, under this name -> the function that adds it to an encoder again,
# ``(encoder, path of model.safetensors)``.
ADDED_WEIGHTS: Table[Any] = Table({}, "ADDED_WEIGHTS")

# Task -> its `Task`.
TASKS: Table[Any] = Table(
    {
        "semantic-retrieval": "turnlens.evaluation.semantic_retrieval:SEMANTIC_RETRIEVAL",
        "intent-discovery": "turnlens.report.intent_discovery:INTENT_DISCOVERY",
    },
    "TASKS",
)

# File in which the authors of a paper published the data of a task -> what reads it, ``(path, LoadSettings)``; and the
# name of the task.
RELEASED: Table[Any] = Table({}, "RELEASED")

# An encoder of an extension is known by the name of a prompt that all of its kind have. Prompt -> the subclass of
# `turnlens.ReplyModel` that serves the encoder, and its modes of the task next-message.
REPLY_MODELS: Table[Any] = Table({}, "REPLY_MODELS")
NEXT_MESSAGE_MODES: Table[Any] = Table({}, "NEXT_MESSAGE_MODES")

# A checkpoint that others published may have tokens, but no prompts. Token -> what gives the encoder its prompts.
PUBLISHED_PROMPTS: Table[Any] = Table({}, "PUBLISHED_PROMPTS")


_OF_STEPS = "learning_rate batch_size epochs max_steps seed"
_OF_ENCODERS = (
    f"{_OF_STEPS} gradient_accumulation_steps max_length checkpoint_steps bf16 frozen_layers min_turns interpolation "
    "attention_dropout recompute snapshots temperature sample context"
)
_OF_HEADS = (
    f"{_OF_STEPS} temperature negatives context_turns recency_learning_rate weight_decay sample held_out "
    "map_candidates teacher interpolation"
)
# The names of the settings of our own methods: a wrong one, too, is reported before torch is imported.
SETTINGS: Mapping[str, tuple[str, ...]] = {
    "complete": (*_OF_ENCODERS.split(), "held_out", "keep_anyway"),
    "in-context": tuple(_OF_ENCODERS.split()),
    "reply-head": tuple(_OF_HEADS.split()),
}


def check_settings(names: Iterable[str], known: Sequence[str], method: str) -> None:
    """Raise ``ValueError`` if a method, or a stage of it, has no settings of these names."""
    unknown = sorted(set(names) - set(known))
    if unknown:
        subject = "the default training" if method == DEFAULT_METHOD else method
        told = ", ".join(f"{setting!r}{did_you_mean(setting, known)}" for setting in unknown)
        raise ValueError(f"{subject} has no setting {told}: leave it out, or choose from {', '.join(known)}")


def check_method(name: str) -> str:
    """Return the name of a method to train, if there is such a method.

    Raises:
        ValueError: There is none of that name; the message lists the names that exist.
    """
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}{did_you_mean(name, METHODS)}: expected one of {', '.join(METHODS)}")
    return name


def check_pooling(name: str) -> str:
    """Return the name of a way to pool whole conversations, if there is such a way.

    Raises:
        ValueError: There is none of that name; the message lists the names that exist.
    """
    kind, colon, role = name.partition(":")
    if f"{kind}{colon}" not in POOLINGS or (colon and not role):
        names = ", ".join(repr(f"{way}<role>" if way.endswith(":") else way) for way in POOLINGS)
        raise ValueError(f"pooling must be one of {names}, got {name!r}")
    return name


def check_task(name: str) -> str:
    """Return the name of a task to evaluate, written with hyphens; underscores are accepted as well.

    Raises:
        ValueError: There is none of that name; the message lists the names that exist.
    """
    task = name.replace("_", "-")
    if task not in TASKS:
        raise ValueError(f"unknown task {name!r}{did_you_mean(task, TASKS)}: expected one of {', '.join(TASKS)}")
    return task


LevelName = Literal["message", "conversation", "reply"]


TRAINING = ("torch", "sentence_transformers", "transformers", "accelerate")  # what the extra train installs


def require_training() -> None:
    """Raise ``ImportError``, which names the extra, if what training needs is not installed."""
    for module in TRAINING[:2]:  # these import the others
        require(module, "train")


def require(module: str, extra: str) -> ModuleType:
    """Import an optional dependency.

    Args:
        module: Name of the module, e.g. ``"gensim"``.
        extra: The extra of turnlens that installs it, e.g. ``"baselines"``.

    Raises:
        ImportError: It is not installed; the message names the extra and the pip command. Or it does not work, such as
            for lack of memory; the message is its own.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ImportError(needs(module, extra)) from error


def needs(module: str, extra: str) -> str:
    """Return the message that a module of an extra is not installed."""
    return f"{module} is needed for this: pip install 'turnlens[{extra}]'"
