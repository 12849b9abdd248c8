"""Figures of an encoder on conversations held out from its training, without labels.

Each figure is a value for each conversation, where higher is better. Their mean is at most 1; 0 is the worst, and of
stability what chance gives. None rises where vectors collapse: tied candidates share their places, and agreement on one
large group is what chance gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from turnlens._utils.vectors import BoolArray, FloatArray, IntArray, bootstrap_interval, unit_vectors
from turnlens.data.messages import Messages
from turnlens.encoders.reply_head import ReplyHead
from turnlens.training.collators import text_key
from turnlens.training.losses.composed import composed_queries

# Selects the interpolation. It follows labels even where messages come to mean no more than their conversations, and
# where answers teach what no context does, which "in_context" counts as a loss.
STABILITY = "stability"
_DRAWS = 40  # of halves: between two encoders, a draw differs by five points more or less by chance


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The messages of conversations that were held out, with those of one conversation in a row.

    Attributes:
        turns: How many messages each conversation has, 2 or more (conversations,).
        speaker: A number for each role (messages,).
        text: Equal for equal texts (messages,).
        in_context: The vectors of the messages in context, as the encoder gave them before it learned (messages, any).
    """

    turns: IntArray
    speaker: IntArray
    text: IntArray
    in_context: FloatArray

    @classmethod
    def of(cls, conversations: Sequence[Messages], in_context: FloatArray) -> HeldOut:
        """The messages of some conversations, with their vectors in context (messages, any)."""
        messages = [message for turns in conversations for message in turns]
        roles = {role: number for number, role in enumerate(dict.fromkeys(message["role"] for message in messages))}
        return cls(
            np.array([len(turns) for turns in conversations]),
            np.array([roles[message["role"]] for message in messages]),
            np.array([text_key(message["content"]) for message in messages]),
            in_context,
        )

    def figures(self, vectors: FloatArray, head: ReplyHead | None = None) -> dict[str, FloatArray]:
        """Return the figures of an encoder from its vectors of the messages, each read alone.

        Args:
            vectors: The vectors, of any length (messages, dim).
            head: The reply head that composes queries; without one, fading sums of the vectors are the queries.

        Returns:
            By name, a value for each conversation (conversations,) each:

            - ``next_message``: the mean reciprocal rank of each message but the first, given those before it, among
              all messages of other conversations.
            - ``in_context``: of the ten messages of other conversations that are nearest to a message in context, the
              share that is among the ten nearest to it when it is read alone.
            - ``stability``: how far two groupings, each learned from a half of the messages, agree on what is in a
              group with a message. The mean over all messages is the adjusted Rand index (0 by chance, 1 at most).
        """
        alone, in_context = _centred(vectors), _centred(self.in_context)
        shares = np.zeros(len(self.turns))
        for conversation, (start, end, others) in enumerate(self._others()):
            near, near_in_context = (
                _nearest(vectors[start:end] @ vectors.T, others) for vectors in (alone, in_context)
            )
            shares[conversation] = (near & near_in_context).sum() / max(1, near_in_context.sum())
        return {
            "next_message": self.next_message(vectors, head),
            "in_context": shares,
            STABILITY: self.stability(vectors).mean(axis=0),
        }

    def next_message(self, vectors: FloatArray, head: ReplyHead | None = None) -> FloatArray:
        """Return the mean reciprocal rank of the next messages (conversations,); see `figures`."""
        units, speaker = torch.from_numpy(unit_vectors(vectors).astype(np.float32)), torch.from_numpy(self.speaker)
        head = head or ReplyHead(units.shape[1])
        candidates = head.candidates(units).detach().numpy()
        ranks = np.zeros(len(self.turns))
        for conversation, (start, end, others) in enumerate(self._others()):
            queries, _ = composed_queries(head, units[start:end], speaker[start:end], torch.zeros(end - start))
            scores = queries[1:].detach().numpy() @ candidates.T
            true = scores[np.arange(end - start - 1), np.arange(start + 1, end)]
            ranks[conversation] = _reciprocal_ranks(scores, true, others[1:]).mean()
        return ranks

    def _others(self) -> Iterator[tuple[int, int, BoolArray]]:
        """Yield the start and the end of each conversation, and the messages it is compared with (turns, messages).

        These are the messages of other conversations with another text.
        """
        ends = np.cumsum(self.turns)
        for start, end in zip((ends - self.turns).tolist(), ends.tolist()):
            others = self.text[start:end, None] != self.text
            others[:, start:end] = False
            yield start, end, others

    def stability(self, vectors: FloatArray) -> FloatArray:
        """Return the adjusted Rand index of two groupings, for each draw of halves, split over conversations.

        Args:
            vectors: As for `figures`.

        Returns:
            (draws, conversations)
        """
        vectors = _centred(vectors)
        count = len(vectors)
        agreement = np.zeros((_DRAWS, count))
        with threadpool_limits(limits=1):  # several add up in any order
            halves = [np.array_split(np.random.default_rng(seed).permutation(count), 2) for seed in range(_DRAWS)]
            pairs = [[self._groups(vectors, half, seed) for half in two] for seed, two in enumerate(halves)]
        for seed, (one, other) in enumerate(pairs):
            common = np.zeros((one.max() + 1, other.max() + 1))
            np.add.at(common, (one, other), 1)
            # How many others are with a message in its groups, in the mean; in both by chance, and at most.
            in_one, in_other = ((sizes**2).sum() / count - 1 for sizes in (common.sum(axis=1), common.sum(axis=0)))
            chance, most = in_one * in_other / (count - 1), (in_one + in_other) / 2
            if most > chance:  # nothing can agree beyond chance if all is one group
                agreement[seed] = (common[one, other] - 1 - chance) / (most - chance)
        starts = np.cumsum(self.turns) - self.turns
        return np.asarray(np.add.reduceat(agreement, starts, axis=1) / self.turns)

    def _groups(self, vectors: FloatArray, learned: IntArray, seed: int) -> IntArray:
        """Group all messages by k-means that is fitted to some of them (messages,)."""
        count = min(20, max(1, len(np.unique(self.text[learned])) // 2))
        return np.asarray(KMeans(count, n_init=1, random_state=seed).fit(vectors[learned]).predict(vectors))


def _centred(vectors: FloatArray) -> FloatArray:
    units = unit_vectors(vectors)
    return unit_vectors(units - units.mean(axis=0)).astype(np.float32)


def _reciprocal_ranks(scores: FloatArray, true: FloatArray, others: BoolArray) -> FloatArray:
    """One over the rank of a true score among others; ties count half (rows,)."""
    above = ((scores > true[:, None]) & others).sum(axis=1)
    equal = ((scores == true[:, None]) & others).sum(axis=1)
    return np.asarray(1 / (1 + above + equal / 2))


def _nearest(scores: FloatArray, others: BoolArray) -> BoolArray:
    """Mark the ten of the others with the highest scores (rows, messages)."""
    among = np.where(others, scores, -np.inf)
    count = min(10, among.shape[1])
    nearest = np.zeros(among.shape, dtype=bool)
    np.put_along_axis(nearest, np.argpartition(-among, count - 1, axis=1)[:, :count], True, axis=1)
    return nearest & others


def compare_figures(before: Mapping[str, FloatArray], after: Mapping[str, FloatArray]) -> dict[str, dict[str, Any]]:
    """Return figures before and after in percent, and their difference, with bootstrap intervals over conversations."""
    compared: dict[str, dict[str, Any]] = {}
    for name in before:
        figures = compared[name] = {}
        values = {"before": before[name], "after": after[name], "difference": after[name] - before[name]}
        for column, own in values.items():
            figures[column] = round(100 * float(own.mean()), 2)
            figures[f"{column}_interval"] = [round(100 * end, 2) for end in bootstrap_interval(own)]
    return compared
