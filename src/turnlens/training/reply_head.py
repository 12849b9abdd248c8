"""Training the reply head on the vectors of messages, so that each message is embedded only once."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import torch
from torch import Tensor
from transformers import get_linear_schedule_with_warmup
from typing_extensions import override

from turnlens._utils.progress import progress_of
from turnlens.encoders.embed import (
    embed_messages,
    embed_taught,
    messages_with_vectors,
    read_vectors,
    write_embeddings,
)
from turnlens.encoders.identity import encoder_source, weights_digest
from turnlens.encoders.loading import load_encoder
from turnlens.encoders.reply_head import ReplyHead
from turnlens.training.embedded_messages import EmbeddedMessages
from turnlens.training.interpolation import interpolate_weights
from turnlens.training.losses.composed import ComposedSettings
from turnlens.training.recipes.reply_head_settings import ReplyHeadSettings
from turnlens.training.run import Run, Step
from turnlens.training.state import TrainingState

# Those that are tried when none is given. The largest come first, as what was learned is kept unless less is better.
_INTERPOLATIONS = tuple(tenths / 10 for tenths in range(10, 0, -1))


@dataclass(frozen=True)
class FitReplyHead(Step):
    """The step that fits a reply head to the vectors of the messages that were learned from.

    Attributes:
        recipe: The settings.
        losses: The name in the record of the losses of all epochs.
    """

    recipe: ReplyHeadSettings
    losses: str = "loss"
    name: str = "reply_head"

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        state.encoder.reply_head, state.record[self.losses] = fit_reply_head(self._embedded(state, run), self.recipe)

    def _embedded(self, state: TrainingState, run: Run) -> pa.Table:
        """The vectors of all messages, made here unless they are there, and those of the teacher if there is one."""
        if state.embedded is not None:
            return state.embedded
        if "learned" in state.vectors:
            return messages_with_vectors(state.conversations, state.vectors["learned"])
        encoder, embed = state.encoder, partial(embed_messages, state.encoder)
        taught: dict[str, str | None] = {"teacher": None}
        if self.recipe.teacher is not None:
            teacher, turns = load_encoder(self.recipe.teacher, device=str(encoder.device)), self.recipe.context_turns
            embed = partial(embed_taught, encoder, teacher, turns)
            taught = {"teacher": f"{weights_digest(teacher)}, {turns} turns"}
        path = run.unfinished("vectors.parquet")
        if path is None:
            return embed(state.conversations)
        if not path.is_file():
            made_by = {"encoder": encoder_source(encoder), "weights": weights_digest(encoder), "level": "message"}
            write_embeddings(embed, {**made_by, **taught}, state.conversations, path, resume=True)
        return read_vectors(path, encoder, taught)


def fit_reply_head(table: pa.Table, recipe: ReplyHeadSettings) -> tuple[ReplyHead, list[dict[str, Any]]]:
    """Train a head on embedded messages.

    Args:
        table: From `turnlens.encoders.embed.embed_messages`: columns id, role, text and vector; or from `embed_taught`.
        recipe: The settings.

    Returns:
        The head of the epoch with the lowest loss on the held-out conversations, interpolated as the recipe says, and
        the losses of all epochs, the last one with the interpolation.

    Raises:
        ValueError: Too few conversations, or training has diverged.
    """
    messages = EmbeddedMessages.of(table)
    settings = ComposedSettings.of(recipe)
    generator = torch.Generator().manual_seed(recipe.seed)
    torch.manual_seed(recipe.seed)  # for negatives drawn at random
    order = torch.randperm(messages.conversations, generator=generator)
    held_out, learned = order.tensor_split([int(recipe.held_out * len(order))])
    head = ReplyHead(messages.vectors.shape[1], recipe.context_turns)
    start = copy.deepcopy(head.state_dict())
    head.candidate.requires_grad_(recipe.map_candidates)
    optimizer = torch.optim.AdamW(
        [
            {"params": [head.recency], "lr": recipe.recency_learning_rate, "weight_decay": 0.0},
            {"params": [head.context, head.candidate], "lr": recipe.learning_rate, "weight_decay": recipe.weight_decay},
        ]
    )
    steps = -(-len(learned) // recipe.batch_size)
    total = recipe.max_steps or max(1, round(recipe.epochs * steps))
    schedule = get_linear_schedule_with_warmup(optimizer, round(0.1 * total), total)
    history: list[dict[str, Any]] = []
    best, best_loss = head.state_dict(), float("inf")
    with progress_of("training the reply head", total) as advance:
        for step, batch in enumerate(_batches(learned, recipe.batch_size, total, generator), start=1):
            loss, _ = messages.loss(head, batch, settings)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            advance(1)
            if not loss.isfinite():
                raise ValueError(f"training has diverged at step {step}: use a lower learning rate")
            if step % steps == 0 or step == total:
                measured = _mean_loss(messages, head, held_out, recipe.batch_size, settings) if len(held_out) else None
                history.append({"step": step, "loss": round(loss.item(), 4), "held_out": measured})
                if measured is None or measured < best_loss:
                    best, best_loss = copy.deepcopy(head.state_dict()), measured or best_loss
    head.load_state_dict(best)
    share = recipe.interpolation or _best_interpolation(messages, head, start, held_out, recipe.batch_size)
    interpolate_weights(head, start, share)
    history[-1]["interpolation"] = share
    return head, history


def _best_interpolation(
    messages: EmbeddedMessages, head: ReplyHead, start: dict[str, Tensor], held_out: Tensor, size: int
) -> float:
    """The interpolation with the best mean rank on the held-out conversations, the largest if several are as good."""
    if not len(held_out):
        return 1.0
    ranks = {}
    for share in _INTERPOLATIONS:
        between = copy.deepcopy(head)
        interpolate_weights(between, start, share)
        with torch.inference_mode():
            ranks[share] = sum(int(messages.ranks(between, batch).sum()) for batch in held_out.split(size))
    return min(ranks, key=ranks.__getitem__)


def _batches(learned: Tensor, size: int, total: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Batches of conversations in a random order, epoch after epoch, until there have been enough."""
    done = 0
    while True:
        for batch in learned[torch.randperm(len(learned), generator=generator)].split(size):
            if done == total:
                return
            done += 1
            yield batch


def _mean_loss(
    messages: EmbeddedMessages, head: ReplyHead, chosen: Tensor, size: int, settings: ComposedSettings
) -> float:
    """The mean loss per turn."""
    with torch.inference_mode():
        losses = [messages.loss(head, batch, settings) for batch in chosen.split(size)]
    return round(sum(loss.item() * count for loss, count in losses) / max(1, sum(count for _, count in losses)), 4)
