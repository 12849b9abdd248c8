"""The trainer of every stage of every method."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from sentence_transformers import SentenceTransformerTrainer
from sentence_transformers.base.evaluation import BaseEvaluator
from torch import nn
from transformers import PrinterCallback, Trainer
from typing_extensions import override

from turnlens._compat import LoadsCheckpoints
from turnlens.encoders.loading import load_sentence_transformer
from turnlens.encoders.transformer import transformer_of
from turnlens.training.callbacks import GracefulStop, LossState, TrainingProgress, Upkeep
from turnlens.training.encoder_modes import runs_in_bf16
from turnlens.training.run import load_loss, loss_parameters, newest_unfinished, unlogged_loss_of

if TYPE_CHECKING:
    from turnlens.training.recipes.settings import Schedule


@contextmanager
def training_arguments(settings: Schedule, checkpoints: Path | None) -> Iterator[dict[str, Any]]:
    """Inside the block, give the trainer's arguments that every stage shares; without a folder, nothing is saved."""
    with tempfile.TemporaryDirectory() as unused:
        yield {
            "output_dir": str(checkpoints or unused),
            "save_strategy": "steps" if checkpoints else "no",
            "learning_rate": settings.learning_rate,
            "per_device_train_batch_size": settings.batch_size,
            "gradient_accumulation_steps": settings.gradient_accumulation_steps,
            "num_train_epochs": settings.epochs,
            "max_steps": settings.max_steps or -1,
            "warmup_steps": 0.1,
            "seed": settings.seed,
            "save_steps": settings.checkpoint_steps,
            "save_total_limit": 2,
            "logging_steps": 10,
            "logging_first_step": True,
            "use_cpu": not torch.accelerator.is_available(),
            "report_to": "none",
            "disable_tqdm": True,
            "bf16": runs_in_bf16(settings),
            "dataloader_pin_memory": torch.cuda.is_available(),
        }


def validation_arguments(evaluator: BaseEvaluator, settings: Schedule) -> dict[str, Any]:
    """Return the further arguments of a trainer that evaluates at every checkpoint and keeps the best."""
    return {
        "eval_strategy": "steps",
        "eval_steps": settings.checkpoint_steps,
        "save_strategy": "steps",
        "load_best_model_at_end": True,
        "metric_for_best_model": f"eval_{evaluator.primary_metric}",
        "greater_is_better": evaluator.greater_is_better,
    }


class ConversationTrainer(LoadsCheckpoints, SentenceTransformerTrainer):
    """The trainer of sentence-transformers, for models that may have turn tables and for data that is private.

    Attributes:
        decays_words: Whether word embeddings decay, too. If only some of their rows learn, they must not, because the
            other rows would change.
    """

    decays_words = False

    @override
    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """Left out: the library's own card quotes rows of the training data, here people's conversations."""

    @override
    def get_decay_parameter_names(self, model: nn.Module) -> list[str]:
        """Return the parameters that decay by default, word embeddings only if `decays_words`."""
        words = transformer_of(self.model).get_input_embeddings().weight
        decaying = set(super().get_decay_parameter_names(model))
        return [
            name
            for name, parameter in model.named_parameters()
            if name in decaying and (self.decays_words or parameter is not words)
        ]

    @override
    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """Write a checkpoint without the library's card, which takes longer than a step of a small encoder."""
        self.model.save_pretrained(output_dir or self.args.output_dir, create_model_card=False)

    @override
    def load_checkpoint(self, folder: Path) -> None:
        """Put the weights of a checkpoint into the model being trained, turn tables and the loss's own included."""
        self.model.load_state_dict(load_sentence_transformer(folder, device="cpu").state_dict())
        load_loss(self, folder)


def fit(trainer: Trainer, checkpoints: Path | None, stage: str) -> None:
    """Train, continuing from the newest usable checkpoint in ``checkpoints`` if there is one.

    Progress is shown under the name of the stage. On Ctrl-C or SIGTERM the step in progress is finished and a
    checkpoint written, then ``KeyboardInterrupt`` or ``SystemExit`` is raised.
    """
    newest = newest_unfinished(checkpoints)
    loss = LossState(trainer, loss_parameters(trainer), unlogged_loss_of(newest))
    stop, progress = GracefulStop(), TrainingProgress(stage)
    trainer.remove_callback(PrinterCallback)
    for callback in (stop, loss, progress, Upkeep(getattr(trainer.data_collator, "set_epoch", None))):
        trainer.add_callback(callback)
    try:
        with stop.catching_signals():
            trainer.train(resume_from_checkpoint=str(newest) if newest is not None else None)
    finally:
        progress.bar.stop()
