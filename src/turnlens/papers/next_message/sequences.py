"""Conversations as sequences of messages, their embeddings, and the messages at one depth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer

from turnlens._utils.vectors import BoolArray, FloatArray, IntArray
from turnlens.data.dataset_operations import merge_runs
from turnlens.data.messages import Conversations, Message, plain_messages_in
from turnlens.encoders.messages import encode_contexts, encode_messages
from turnlens.errors import ConversationError
from turnlens.evaluation.scoring import sample_queries, warn_of_left_out
from turnlens.evaluation.task import Level, LoadSettings, Task

# The longest context (10), the next message and a goal four turns after it: later turns are ignored.
TURNS = 15


@dataclass(frozen=True, eq=False)
class Sequences:
    """The first 15 turns of conversations, as numbers.

    Args:
        ids: (conversations,) the conversation's ``id``, or the number of its row where it has none.
        texts: The distinct texts.
        roles: The distinct roles.
        text: (conversations, turns) index of each turn's text, -1 after the last turn.
        role: (conversations, turns) index of each turn's role, -1 after the last turn.
        queries: (queries,) indices of the conversations whose next messages are asked for; all provide candidates.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    roles: tuple[str, ...]
    text: IntArray
    role: IntArray
    queries: IntArray

    def reaching(self, turn: int) -> IntArray:
        """The conversations that have a turn of that number, from 0: their indices."""
        return np.flatnonzero(self.text[:, turn] >= 0)

    def messages(self, conversation: int, turns: int) -> list[Message]:
        """The first messages of a conversation."""
        return [
            {"role": self.roles[role], "content": self.texts[text]}
            for role, text in zip(self.role[conversation, :turns], self.text[conversation, :turns])
        ]


def build_sequences(conversations: Conversations, max_queries: int | None = None, seed: int = 0) -> Sequences:
    """Take conversations as training does: messages of one speaker in a row are one turn, empty ones are dropped.

    Args:
        conversations: Rows of ``messages``, each ``{"role", "content"}``; those of fewer than three turns are of no
            use to any task and are left out.
        max_queries: Use a random sample of this many conversations as queries; by default all.
        seed: Seed of that sample.

    Raises:
        ConversationError: A row is malformed, or fewer than two conversations have three turns.
    """
    texts: dict[str, int] = {}
    roles: dict[str, int] = {}
    ids, kept, total = [], [], 0
    for row in conversations:
        said = plain_messages_in(row, f"row {total}")
        messages = merge_runs([message for message in said if message["content"]])[:TURNS]
        if len(messages) >= 3:
            kept.append(
                [
                    (texts.setdefault(message["content"], len(texts)), roles.setdefault(message["role"], len(roles)))
                    for message in messages
                ]
            )
            ids.append(str(total) if row.get("id") is None else str(row["id"]))
        total += 1
    if len(kept) < 2:
        problem = (
            "at least 2 conversations of 3 or more turns (a context of 2 and the next message) are needed, "
            f"got {len(kept)} among {total} conversations"
        )
        raise ConversationError("conversations", problem)
    warn_of_left_out(total - len(kept), total, "conversations of fewer than 3 turns")
    text, role = np.full((2, len(kept), TURNS), -1, dtype=np.int64)
    for number, turns in enumerate(kept):
        text[number, : len(turns)], role[number, : len(turns)] = zip(*turns)
    queries = np.array(sample_queries(len(kept), max_queries, seed))
    return Sequences(tuple(ids), tuple(texts), tuple(roles), text, role, queries)


def build_task_sequences(rows: Conversations, settings: LoadSettings) -> Sequences:
    """`build_sequences` with the settings of a task."""
    return build_sequences(rows, settings.max_queries, settings.seed)


class EmbeddedSequences:
    """The messages of conversations, each text embedded once with each prompt that is asked for.

    Args:
        encoder: The encoder.
        sequences: From ``build_sequences``.
    """

    def __init__(self, encoder: SentenceTransformer, sequences: Sequences) -> None:
        self.encoder = encoder
        self.sequences = sequences
        self._rows: dict[str | None, FloatArray] = {}  # prompt -> (texts, dim)
        self._done: dict[str | None, BoolArray] = {}  # prompt -> (texts,)
        self._joined: dict[tuple[int, ...], FloatArray] = {}  # texts of the turns -> (dim,)

    def prepare(self, text: IntArray, prompt_name: str | None = None) -> None:
        """Encode what is missing, as much as possible at once. The arguments are those of ``rows``."""
        done = self._done.setdefault(prompt_name, np.zeros(len(self.sequences.texts), dtype=bool))
        missing = np.unique(text[~done[text]])
        if not len(missing):
            return
        texts = [self.sequences.texts[index] for index in missing]
        rows = encode_messages(self.encoder, texts, show_progress_bar=True, prompt_name=prompt_name)
        broken = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if len(broken):
            first = texts[broken[0]]
            raise ValueError(f"the encoder returned nan or inf for {len(broken)} texts, first {first!r}")
        if prompt_name not in self._rows:
            self._rows[prompt_name] = np.zeros((len(done), rows.shape[1]), dtype=np.float32)
        self._rows[prompt_name][missing] = rows
        done[missing] = True

    def rows(self, text: IntArray, prompt_name: str | None = None) -> FloatArray:
        """Embeddings exactly as the encoder gives them.

        Args:
            text: (…) indices of texts.
            prompt_name: The encoder's prompt to put before each text; by default its default prompt, if it has one.

        Returns:
            (…, dim)
        """
        self.prepare(text, prompt_name)
        rows = self._rows.get(prompt_name, np.zeros((0, 0), np.float32))
        return rows[text] if text.size else np.zeros((*text.shape, rows.shape[1]), np.float32)

    def joined(self, turns: IntArray) -> FloatArray:
        """Each row of texts joined and embedded as one, of length 1: (contexts, turns) -> (contexts, dim)."""
        keys = [tuple(row) for row in turns.tolist()]
        missing = [key for key in dict.fromkeys(keys) if key not in self._joined]
        contexts = [[self.sequences.texts[index] for index in key] for key in missing]
        if missing:
            rows = encode_contexts(self.encoder, contexts, show_progress_bar=True)
            self._joined.update(zip(missing, rows))
        return np.stack([self._joined[key] for key in keys])


LENGTHS = tuple(range(2, 11))  # turns of a context, as in the paper


@dataclass(frozen=True, eq=False)
class Depth:
    """The messages at one depth, and which of them are asked for.

    Args:
        turn: Turns before them.
        contexts: (contexts,) the conversations whose message is asked for.
        true: (contexts,) that message, an index of ``candidates``.
        candidates: (candidates,) the distinct texts at this depth of all conversations, indices of ``texts``.
        counts: (candidates,) how many conversations have each.
    """

    turn: int
    contexts: IntArray
    true: IntArray
    candidates: IntArray
    counts: IntArray

    @property
    def items(self) -> int:
        """Candidates, equal texts counted as often as they occur."""
        return int(self.counts.sum())


def find_depths(sequences: Sequences, lengths: Sequence[int]) -> list[Depth]:
    """The depths at which there is something to choose from.

    Raises:
        ValueError: A context length is out of range.
        ConversationError: No two conversations reach any of the depths.
    """
    if not all(2 <= turn < TURNS for turn in lengths):
        raise ValueError(f"context lengths must be from 2 to {TURNS - 1}, got {tuple(lengths)}")
    depths = []
    for turn in lengths:
        reaching = sequences.reaching(turn)
        contexts = np.intersect1d(sequences.queries, reaching)
        candidates, counts = np.unique(sequences.text[reaching, turn], return_counts=True)
        if len(reaching) > 1 and len(contexts):
            true = np.searchsorted(candidates, sequences.text[contexts, turn])
            depths.append(Depth(turn, contexts, true, candidates, counts))
    if not depths:
        problem = f"no two conversations have a message after a context of {' or '.join(map(str, lengths))} messages"
        raise ConversationError("conversations", problem)
    return depths


def per_context(depths: Sequence[Depth], values: Sequence[int]) -> IntArray:
    """A value of each depth for each of its contexts: (depths,) -> (contexts of all depths,)."""
    return np.repeat(values, [len(depth.contexts) for depth in depths])


def context_turns(sequences: Sequences, conversations: IntArray, turn: int) -> tuple[IntArray, BoolArray]:
    """Text of the turns before ``turn``, and whether their speaker is that turn's: each (conversations, turn)."""
    role = sequences.role[conversations]
    return sequences.text[conversations, :turn], role[:, :turn] == role[:, turn : turn + 1]


def all_turns(sequences: Sequences, depths: Iterable[Depth]) -> tuple[IntArray, BoolArray]:
    """`context_turns` of all contexts of all depths: each (turns of all contexts,)."""
    turns = [context_turns(sequences, depth.contexts, depth.turn) for depth in depths]
    text, same = (np.concatenate([part.ravel() for part in parts]) for parts in zip(*turns))
    return text, same


def _with_sequences(encoder: Any, data: Any, pooling: str) -> tuple[EmbeddedSequences]:
    return (EmbeddedSequences(encoder, data),)


REPLY = Level("reply", _with_sequences, shares_data=True, takes_functions=False)
# A task on the order of turns.
reply_task = partial(Task, level=REPLY, build=build_task_sequences)
