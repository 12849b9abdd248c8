"""The training of the reply head on the vectors of messages, so that each message is embedded only once."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor
from torch.nn.functional import normalize
from transformers import get_linear_schedule_with_warmup
from typing_extensions import override

from turnlens._utils.progress import progress_of
from turnlens.encoders.embed import embed_messages, embed_taught, messages_with_vectors, read_vectors, write_embeddings
from turnlens.encoders.loading import encoder_source, load_sentence_transformer, weights_digest
from turnlens.encoders.reply_head import ReplyHead
from turnlens.training.collators import text_key
from turnlens.training.losses.composed import ComposedSettings, composed_loss, composed_ranks
from turnlens.training.merging import interpolate_weights
from turnlens.training.run import Run, Step, TrainingState, count_messages

if TYPE_CHECKING:
    from turnlens.training.recipes.reply_head import ReplyHeadRecipe


@dataclass(frozen=True)
class EmbeddedMessages:
    """The embedded messages of conversations, with the messages of one conversation in a row.

    Attributes:
        vectors: The vector of each message, of length 1 (messages, dim).
        speaker: A number for each role (messages,).
        text_key: Equal for equal texts (messages,).
        starts: Where each conversation starts, followed by the number of messages (conversations + 1,).
        teacher: If there is a teacher, its vectors of the turns before each message and of the message itself, of
            length 1 (messages, its dim) each.
    """

    vectors: Tensor
    speaker: Tensor
    text_key: Tensor
    starts: Tensor
    teacher: tuple[Tensor, Tensor] | None = None

    @classmethod
    def of(cls, table: pa.Table) -> EmbeddedMessages:
        """Read the messages of a table from `embed_messages` or `embed_taught` without empty ones.

        Raises:
            ValueError: Columns are missing, or fewer than two conversations have two messages or more.
        """
        missing = [name for name in ("id", "role", "text", "vector") if name not in table.column_names]
        if missing:
            raise ValueError(
                f"the vectors have no column {' and '.join(missing)}: expected what turnlens embed writes for messages"
            )
        table = table.filter(pc.not_equal(pc.utf8_trim_whitespace(table["text"]), ""))
        ids = np.asarray(table["id"].dictionary_encode().combine_chunks().indices)
        starts = np.flatnonzero(np.diff(ids, prepend=-1, append=-1))
        if (np.diff(starts) > 1).sum() < 2:
            raise ValueError("training a reply head needs at least 2 conversations of 2 messages or more")
        return cls(
            _units(table, "vector"),
            torch.from_numpy(np.asarray(table["role"].dictionary_encode().combine_chunks().indices).astype(np.int64)),
            torch.tensor([text_key(text) for text in table["text"].to_pylist()]),
            torch.from_numpy(starts),
            (_units(table, "teacher_context"), _units(table, "teacher_response"))
            if "teacher_context" in table.column_names
            else None,
        )

    def loss(self, head: ReplyHead, chosen: Tensor, settings: ComposedSettings) -> tuple[Tensor, int]:
        """Return the loss on some conversations, and the number of turns over which it is the mean."""
        rows, turns = self._turns(chosen)
        teacher = None if self.teacher is None else (self.teacher[0][rows], self.teacher[1][rows])
        return composed_loss(head, **turns, settings=settings, teacher=teacher), len(rows) - len(chosen)

    def ranks(self, head: ReplyHead, chosen: Tensor) -> Tensor:
        """Rank each message but the first of its conversation among the messages of the other conversations."""
        return composed_ranks(head, **self._turns(chosen)[1])

    def _turns(self, chosen: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the rows of the messages of some conversations, and the arguments of losses and ranks."""
        lengths = self.starts[chosen + 1] - self.starts[chosen]
        rows = torch.cat(
            [torch.arange(int(self.starts[index]), int(self.starts[index + 1])) for index in chosen.tolist()]
        )
        return rows, {
            "vectors": self.vectors[rows],
            "speaker": self.speaker[rows],
            "conversation": torch.arange(len(chosen)).repeat_interleave(lengths),
            "text_key": self.text_key[rows],
        }


def _units(table: pa.Table, name: str) -> Tensor:
    """Return a column of vectors, scaled to length 1 (messages, dim)."""
    flat = np.array(table[name].combine_chunks().flatten(), dtype=np.float32)  # a copy, for torch
    return normalize(torch.from_numpy(flat.reshape(len(table), -1)), dim=1)


# Candidates for the interpolation. The largest come first: a smaller one is taken only if it is better.
_INTERPOLATIONS = tuple(tenths / 10 for tenths in range(10, 0, -1))


@dataclass(frozen=True)
class FitReplyHead(Step):
    """Fit a reply head to the vectors of the training messages.

    Attributes:
        recipe: The settings.
        losses: The name in the record of the losses of all epochs.
    """

    recipe: ReplyHeadRecipe
    losses: str = "loss"
    name: str = "reply_head"

    @override
    def work(self, state: TrainingState) -> float:
        embedded = 0 if state.held_out is not None else count_messages(state.conversations)  # by an earlier step
        return super().work(state) + embedded

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        state.encoder.reply_head, state.record[self.losses] = fit_reply_head(self._embedded(state, run), self.recipe)

    def _embedded(self, state: TrainingState, run: Run) -> pa.Table:
        """Return the vectors of all messages, and the teacher's if there is one; embed what is missing."""
        if state.embedded is not None:
            return state.embedded
        if "learned" in state.vectors:
            return messages_with_vectors(state.conversations, state.vectors["learned"])
        encoder, embed = state.encoder, partial(embed_messages, state.encoder)
        taught: dict[str, str | None] = {"teacher": None}
        if self.recipe.teacher is not None:
            teacher = load_sentence_transformer(self.recipe.teacher, device=str(encoder.device))
            turns = self.recipe.context_turns
            embed = partial(embed_taught, encoder, teacher, turns)
            taught = {"teacher": f"{weights_digest(teacher)}, {turns} turns"}
        path = run.unfinished("vectors.parquet")
        if path is None:
            return embed(state.conversations)
        if not path.is_file():
            made_by = {"encoder": encoder_source(encoder), "weights": weights_digest(encoder), "level": "message"}
            write_embeddings(embed, {**made_by, **taught}, state.conversations, path, resume=True)
        return read_vectors(path, encoder, taught)


def fit_reply_head(table: pa.Table, recipe: ReplyHeadRecipe) -> tuple[ReplyHead, list[dict[str, Any]]]:
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
    order = torch.randperm(len(messages.starts) - 1, generator=generator)
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
    """Return the interpolation with the best mean rank on held-out conversations; the largest of equals."""
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
    """Yield `total` batches of conversations, in a new random order each epoch."""
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
    """Return the mean loss per turn."""
    with torch.inference_mode():
        losses = [messages.loss(head, batch, settings) for batch in chosen.split(size)]
    return round(sum(loss.item() * count for loss, count in losses) / max(1, sum(count for _, count in losses)), 4)
