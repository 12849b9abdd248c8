"""Training the reply head on the vectors of messages, so that each message is embedded only once."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from datasets import Dataset
from sentence_transformers.base.evaluation import BaseEvaluator
from torch import Tensor
from torch.nn.functional import normalize
from transformers import get_linear_schedule_with_warmup

from turnwise._utils.progress import progress_bar
from turnwise._utils.runs import RunFolder, process_state
from turnwise.collators.texts import text_key
from turnwise.data.cleaning import drop_empty_messages
from turnwise.data.conversations import read_conversations
from turnwise.data.drawing import draw_conversations
from turnwise.data.fingerprint import fingerprint
from turnwise.data.reading.given import Given
from turnwise.encoders.conversation_encoder import ConversationEncoder
from turnwise.encoders.embed import embed_messages, embed_taught, holds_vectors, read_vectors, write_embeddings
from turnwise.encoders.loading import encoder_source, load_encoder, weights_digest
from turnwise.encoders.reply_head import ReplyHead
from turnwise.losses.composed import ComposedSettings, composed_loss
from turnwise.training.interpolation import interpolate_weights
from turnwise.training.plan import Plan
from turnwise.training.recipes import ReplyHeadRecipe


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
        """The messages in a table from `embed_messages` or `embed_taught` of `turnwise.encoders`, without empty ones.

        Raises:
            ValueError: Columns are missing, or fewer than two conversations have two messages or more.
        """
        missing = [name for name in ("id", "role", "text", "vector") if name not in table.column_names]
        if missing:
            raise ValueError(
                f"the vectors have no column {' and '.join(missing)}: expected what turnwise embed writes for messages"
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

    @property
    def conversations(self) -> int:
        """How many conversations there are."""
        return len(self.starts) - 1

    def loss(self, head: ReplyHead, chosen: Tensor, settings: ComposedSettings) -> tuple[Tensor, int]:
        """The loss on some conversations, and the number of turns over which it is the mean."""
        lengths = self.starts[chosen + 1] - self.starts[chosen]
        rows = torch.cat(
            [torch.arange(int(self.starts[index]), int(self.starts[index + 1])) for index in chosen.tolist()]
        )
        conversation = torch.arange(len(chosen)).repeat_interleave(lengths)
        teacher = None if self.teacher is None else (self.teacher[0][rows], self.teacher[1][rows])
        loss = composed_loss(
            head, self.vectors[rows], self.speaker[rows], conversation, self.text_key[rows], settings, teacher
        )
        return loss, len(rows) - len(chosen)


def _units(table: pa.Table, name: str) -> Tensor:
    """A column of vectors, of length 1 (messages, dim)."""
    flat = np.array(table[name].combine_chunks().flatten(), dtype=np.float32)  # a copy, for torch
    return normalize(torch.from_numpy(flat.reshape(len(table), -1)), dim=1)


def plan_reply_head(
    recipe: ReplyHeadRecipe, encoder: ConversationEncoder, conversations: Given, evaluator: BaseEvaluator | None
) -> Plan:
    """Plan the training of a head beside an encoder that stays as it is; arguments and errors are those of `train`."""
    if evaluator is not None:
        raise ValueError("a reply head chooses its epoch by conversations held out: leave the validation out")
    if process_state().num_processes > 1:
        raise ValueError("a reply head is fitted by one process, in seconds: start it without torchrun")
    if isinstance(conversations, str | os.PathLike) and holds_vectors(conversations):
        if recipe.teacher is not None:
            given = os.fspath(conversations)
            raise ValueError(f"{given} holds vectors of messages, a teacher reads texts: give the conversations")
        table = read_vectors(conversations, encoder)
        return Plan(f"{len(table):,} embedded messages", {}, lambda run: (encoder, _put_beside(encoder, table, recipe)))
    read = read_conversations(conversations).select_columns(["id", "messages"])
    learned = drop_empty_messages(draw_conversations(read, recipe.sample, recipe.seed))
    return Plan(fingerprint(learned), {}, lambda run: (encoder, learn_reply_head(encoder, learned, recipe, run)))


def learn_reply_head(
    encoder: ConversationEncoder, conversations: Dataset, recipe: ReplyHeadRecipe, run: RunFolder | None = None
) -> dict[str, Any]:
    """Fit a head to an encoder's vectors of the messages of conversations, and put it beside the encoder.

    Args:
        encoder: The encoder; nothing but its head is changed.
        conversations: Conversations without empty messages; all are learned from.
        recipe: The settings.
        run: The run that keeps the vectors, which are made in parts that survive a kill; without one, nothing is kept.

    Returns:
        Entries of the training record: the losses.
    """
    return _put_beside(encoder, _embedded(encoder, conversations, recipe, run), recipe)


def _put_beside(encoder: ConversationEncoder, table: pa.Table, recipe: ReplyHeadRecipe) -> dict[str, Any]:
    encoder.reply_head, history = fit_reply_head(table, recipe)
    return {"loss": history}


def _embedded(
    encoder: ConversationEncoder, conversations: Dataset, recipe: ReplyHeadRecipe, run: RunFolder | None
) -> pa.Table:
    """The vectors of all messages, and those of the teacher if there is one."""
    embed = partial(embed_messages, encoder)
    taught: dict[str, str | None] = {"teacher": None}
    if recipe.teacher is not None:
        teacher = load_encoder(recipe.teacher, device=str(encoder.device))
        embed = partial(embed_taught, encoder, teacher, recipe.context_turns)
        taught = {"teacher": f"{weights_digest(teacher)}, {recipe.context_turns} turns"}
    if run is None:
        return embed(conversations)
    path = run.folder / "vectors.parquet"
    if not path.is_file():
        settings = {
            "encoder": encoder_source(encoder),
            "weights": weights_digest(encoder),
            "level": "message",
            **taught,
        }
        write_embeddings(embed, settings, conversations, path, resume=True)
    return read_vectors(path, encoder, taught)


def fit_reply_head(table: pa.Table, recipe: ReplyHeadRecipe) -> tuple[ReplyHead, list[dict[str, Any]]]:
    """Train a head on embedded messages.

    Args:
        table: From `turnwise.encoders.embed.embed_messages`: columns id, role, text and vector; or from `embed_taught`.
        recipe: The settings.

    Returns:
        The head of the epoch with the lowest loss on the held-out conversations, interpolated as the recipe says, and
        the losses of all epochs.

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
    with progress_bar() as bar:
        task = bar.add_task("training the reply head", total=total)
        for step, batch in enumerate(_batches(learned, recipe.batch_size, total, generator), start=1):
            loss, _ = messages.loss(head, batch, settings)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            bar.advance(task)
            if not loss.isfinite():
                raise ValueError(f"training has diverged at step {step}: use a lower learning rate")
            if step % steps == 0 or step == total:
                measured = _mean_loss(messages, head, held_out, recipe.batch_size, settings) if len(held_out) else None
                history.append({"step": step, "loss": round(loss.item(), 4), "held_out": measured})
                if measured is None or measured < best_loss:
                    best, best_loss = copy.deepcopy(head.state_dict()), measured or best_loss
    head.load_state_dict(best)
    interpolate_weights(head, start, recipe.interpolation)
    return head, history


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
