"""The trainer that every stage of every method runs in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformerTrainer
from torch import nn
from transformers import (
    PrinterCallback,
    Trainer,
)

from turnwise.encoders.loading import load_encoder
from turnwise.encoders.transformer import transformer_of
from turnwise.encoders.turn_tables import uses_turns
from turnwise.training.callbacks import HEAD_FILE, Keeper, TrainingProgress
from turnwise.training.checkpoints import loss_parameters, newest_complete
from turnwise.training.recipes import Schedule


def training_arguments(settings: Schedule, folder: Path, save: bool) -> dict[str, Any]:
    """The trainer's arguments that every stage shares."""
    fast_gpu = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    return {
        "output_dir": str(folder),
        "learning_rate": settings.learning_rate,
        "per_device_train_batch_size": settings.batch_size,
        "gradient_accumulation_steps": settings.gradient_accumulation_steps,
        "num_train_epochs": settings.epochs,
        "max_steps": settings.max_steps or -1,
        "warmup_steps": 0.1,
        "seed": settings.seed,
        "save_strategy": "steps" if save else "no",
        "save_steps": settings.checkpoint_steps,
        "save_total_limit": 2,
        "logging_steps": 10,
        "use_cpu": not torch.accelerator.is_available(),
        "report_to": "none",
        "disable_tqdm": True,
        "bf16": fast_gpu if settings.bf16 is None else settings.bf16,
        "dataloader_pin_memory": torch.cuda.is_available(),
    }


class ConversationTrainer(SentenceTransformerTrainer):
    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """Left out: the library's own card quotes rows of the training data, here people's conversations."""

    def get_decay_parameter_names(self, model: nn.Module) -> list[str]:
        # Not the word embeddings: those that do not learn must stay.
        words = transformer_of(self.model).get_input_embeddings().weight
        decaying = set(super().get_decay_parameter_names(model))
        return [name for name, parameter in model.named_parameters() if name in decaying and parameter is not words]

    def _load_from_checkpoint(self, checkpoint_path: str) -> None:
        # The library loads a checkpoint as a stock model, which has no turn tables.
        if uses_turns(self.model):
            self.model.load_state_dict(load_encoder(Path(checkpoint_path), device="cpu").state_dict())
        else:
            super()._load_from_checkpoint(checkpoint_path)


def fit(trainer: Trainer, checkpoints: Path | None) -> None:
    """Train, continuing from the newest complete checkpoint in ``checkpoints`` if there is one.

    On Ctrl-C the step in progress is finished and a checkpoint written, then ``KeyboardInterrupt`` is raised.
    """
    head = loss_parameters(trainer)
    keeper = Keeper(head, getattr(trainer.data_collator, "set_epoch", None))
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(keeper)
    progress = TrainingProgress()
    trainer.add_callback(progress)
    newest = newest_complete(checkpoints)
    if newest is not None:
        for name, tensor in load_file(newest / HEAD_FILE).items():
            head[name].data.copy_(tensor)
    try:
        with keeper.catching_interrupts():
            trainer.train(resume_from_checkpoint=str(newest) if newest is not None else None)
    finally:
        progress.bar.stop()
    if keeper.interrupted:
        raise KeyboardInterrupt
