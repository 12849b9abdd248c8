"""Trained encoders of a benchmark: stock SentenceTransformers in folders named by a hash of what determines them."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from datasets import Dataset
from sentence_transformers.base.evaluation import BaseEvaluator
from torch import Tensor, nn

from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.loading import load_encoder
from turnlens.encoders.transformer import transformer_of
from turnlens.papers.adaptation import Adaptation
from turnlens.papers.baselines import SimCSE, SimCSESettings
from turnlens.papers.experiments.digests import digest
from turnlens.papers.experiments.method import Stage, is_published
from turnlens.training.model_card import save_encoder
from turnlens.training.recipes import METHODS, Pace, Schedule, get_recipe
from turnlens.training.train import train

_RECORD = "training.json"


@dataclass(frozen=True)
class Training:
    """One training with all its settings.

    Attributes:
        name: Name of the stage.
        settings: The settings.
    """

    name: str
    settings: Pace

    def describe(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"training": self.name, **asdict(self.settings)}

    def run(
        self,
        encoder: ConversationEncoder,
        conversations: Dataset,
        unfinished: Path,
        evaluator: BaseEvaluator | None = None,
    ) -> ConversationEncoder:
        """Train and return the encoder; the one given may be changed.

        Args:
            encoder: The encoder to start from.
            conversations: The conversations to learn from.
            unfinished: A folder for checkpoints, from which an interrupted run continues. SimCSE has none.
            evaluator: Chooses the step of a published training.
        """
        if isinstance(self.settings, SimCSESettings):
            simcse = SimCSE(encoder, self.settings).fit(conversations)
            assert simcse.trained is not None  # fit has set it
            return ConversationEncoder.of(simcse.trained)
        recipe: Any = self.settings
        return train(
            conversations,
            method=recipe,
            encoder=encoder,
            output=unfinished / "model",
            evaluator=evaluator,
            resume=True,
            force=True,
        )


def resolve_stage(stage: Stage, **settings: Any) -> Training:
    """The training of a stage with all its settings; ``settings`` from the suite, the seed or a study take precedence.

    Raises:
        ValueError: An unknown stage or setting, or a value out of range.
    """
    given = {**stage.settings, **settings}
    if stage.name in ("adapt", "adapt-paper"):  # two names, so that a suite can limit the first one alone
        return Training(stage.name, Adaptation(**given))
    if stage.name == "simcse":
        return Training(stage.name, SimCSESettings(**given))
    method, _, preset = stage.name.partition(":")
    return Training(stage.name, get_recipe(method, settings=given, preset=preset or None))


def settings_it_has(stage: Stage, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a stage has, out of those of every training: a reply head, for one, runs no encoder."""
    recipe = METHODS.get(stage.name.partition(":")[0])
    if recipe is None:
        return dict(settings)
    known = {field.name for field in fields(recipe)}
    return {name: value for name, value in settings.items() if name in known}


class ModelFolder:
    """The folder of trained encoders.

    Args:
        folder: Where they are kept.
        encoder: The encoder all trainings start from: a name or a path, None is the default.
        base: What identifies that encoder, and the versions of the libraries.
    """

    def __init__(self, folder: Path, encoder: str | None, base: dict[str, Any]) -> None:
        self.folder = folder
        self.encoder = encoder
        self.base = base

    def key(self, trainings: Sequence[Training], conversations: str | None) -> str:
        """The key of the encoder after some trainings, given the hash of their conversations."""
        if not trainings:
            return digest(self.base)
        return digest([self.base, conversations, [training.describe() for training in trainings]])

    def get(
        self,
        trainings: Sequence[Training],
        conversations: Dataset | None,
        learned: str | None,
        validation: BaseEvaluator | None,
    ) -> tuple[ConversationEncoder, dict[str, Any]]:
        """The encoder after some trainings; a training is run only if its result does not exist yet.

        Args:
            trainings: The trainings, one after the other.
            conversations: The conversations to learn from.
            learned: The hash of the conversations.
            validation: Chooses the step of published trainings; None keeps the last one.

        Returns:
            The encoder, as loaded from the folder, and the time and tokens its trainings took together.
        """
        path: Path | None = None
        seconds, tokens = 0.0, 0
        for count in range(1, len(trainings) + 1):
            before, path = path, self.folder / self.key(trainings[:count], learned)
            if not path.is_dir():
                assert conversations is not None  # methods without conversations have no stages
                self._train(trainings[count - 1], before, path, conversations, validation)
            record = json.loads((path / _RECORD).read_text(encoding="utf-8"))
            seconds, tokens = seconds + record["seconds"], tokens + record["tokens"]
        return load_encoder(path or self.encoder), {"train_seconds": round(seconds, 1), "train_tokens": tokens}

    def forget(self, key: str) -> None:
        """Delete an encoder."""
        shutil.rmtree(self.folder / key, ignore_errors=True)

    def _train(
        self,
        training: Training,
        before: Path | None,
        path: Path,
        conversations: Dataset,
        validation: BaseEvaluator | None,
    ) -> None:
        encoder = load_encoder(before or self.encoder)
        unfinished = self.folder / f"{path.name}.unfinished"
        start = time.perf_counter()
        called = transformer_of(encoder) if isinstance(training.settings, Adaptation) else encoder
        try:
            evaluator = validation if is_published(training.name) else None
            with counted_tokens(called, everything=not isinstance(training.settings, Schedule)) as count:
                trained = training.run(encoder, conversations, unfinished, evaluator)
        except Exception:
            # A training that failed begins again, but one that was stopped continues.
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
        level = getattr(training.settings, "level", "message")
        record = {
            "turnlens": self.base["turnlens"],
            "level": level,
            "recipe": {"method": training.name, **asdict(training.settings)},
            "conversations": f"{len(conversations)} conversations",
            "encoder": self.base["encoder"],
            "seconds": round(time.perf_counter() - start, 1),
            "tokens": count[0],
        }
        save_encoder(trained, path, record)
        shutil.rmtree(unfinished, ignore_errors=True)


@contextmanager
def counted_tokens(module: nn.Module, everything: bool = True) -> Iterator[list[int]]:
    """Inside the block, count the tokens that go through an encoder, without padding, in a list of one number.

    Args:
        module: The module that is called with an attention mask: the encoder or, within a masked language model, its
            transformer. Copies made in the block count as well.
        everything: Whether to count what goes through the module while it is not in training mode, too: all that a
            reply head learns from, but also validation data.
    """
    count = [0]

    def add(called: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        features = arguments[0] if arguments and isinstance(arguments[0], Mapping) else named
        if (everything or called.training) and isinstance(mask := features.get("attention_mask"), Tensor):
            count[0] += int(mask.sum())

    hook = module.register_forward_pre_hook(add, with_kwargs=True)
    try:
        yield count
    finally:
        hook.remove()
