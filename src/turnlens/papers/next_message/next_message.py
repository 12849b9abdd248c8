"""Next message: the rank of the true next message among all messages at its depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from turnlens._utils.arguments import require_list
from turnlens._utils.progress import progress_of
from turnlens._utils.vectors import FloatArray, IntArray
from turnlens.papers.next_message.modes import Modes, modes_of, scored_blocks
from turnlens.papers.next_message.scores import ContextScores, rank_true_items, recall_among
from turnlens.papers.next_message.sequences import (
    LENGTHS,
    Depth,
    EmbeddedSequences,
    find_depths,
    per_context,
    reply_task,
)

_RECALLS = (1, 10)
_OTHERS = 99  # wrong messages beside the true one, for these figures


@dataclass(frozen=True, eq=False)
class NextMessageResult:
    """The rank of every true next message among all messages at its depth, in each mode.

    Args:
        modes: Mode -> its figures; ``compare_results`` takes two of them.
        context_length: (contexts,) turns before the message.
        candidates: (contexts,) messages at its depth, itself included.
        seed: Seed of the bootstrap.
    """

    modes: dict[str, ContextScores]
    context_length: IntArray
    candidates: IntArray
    seed: int

    def summary(self) -> dict[str, object]:
        """For each mode, the means over all contexts, over lengths and for each length, ready for JSON."""
        summaries: dict[str, object] = {}
        for mode, scores in self.modes.items():
            lengths = {}
            for length in np.unique(self.context_length):
                chosen = self.context_length == length
                lengths[str(length)] = {**scores.means(chosen), "candidates": int(self.candidates[chosen][0])}
            figures = scores.summary(self.seed)
            over_lengths = scores.rank_over_lengths(self.context_length, self.seed)
            summaries[mode] = {**figures, **over_lengths, "by_context_length": lengths}
        return summaries


def evaluate_next_message(
    embedded: EmbeddedSequences, seed: int = 0, modes: Sequence[str] | None = None, lengths: Sequence[int] = LENGTHS
) -> NextMessageResult:
    """Rank the messages at one depth of all conversations as the next one of each conversation.

    Its context is everything said before. Figures are expected values over all orders of equal scores. R@1 and R@10 are
    among 100 candidates: the mean over all draws of 99 others, not a single draw; where there are fewer, all take part.

    Args:
        embedded: From ``build_sequences`` and an encoder.
        seed: Seed of the bootstrap.
        modes: ``"composed"`` of an encoder with a reply head; ``"bi"``, the summed cosines; ``"single"`` and
            ``"single-averaged"`` of a plain encoder, its context as one text, see ``encode_contexts``, or as two;
            ``"bm25"``; or modes of the paper that the encoder is from. By default all that the encoder can be
            evaluated in.
        lengths: Turns of the context; a length that fewer than two conversations exceed is left out.

    Raises:
        ValueError: The encoder cannot be evaluated in a mode, or a length is out of range.
        ConversationError: No length is left.
    """
    served = modes_of(embedded)
    names = tuple(require_list(modes, "modes")) if modes is not None else served.served
    served.check(names)
    return rank_next_messages(served, names, seed, lengths)


def rank_next_messages(
    modes: Modes, names: Sequence[str], seed: int = 0, lengths: Sequence[int] = LENGTHS
) -> NextMessageResult:
    """Rank next messages as `evaluate_next_message` does, in modes that need not be those of the encoder.

    Args:
        modes: What scores candidates.
        names: The modes to score in.
        seed: As for `evaluate_next_message`.
        lengths: As for `evaluate_next_message`.
    """
    sequences = modes.embedded.sequences
    depths = find_depths(sequences, lengths)
    modes.prepare(depths, names)
    figures = _figures_of_contexts(modes, depths, names)
    contexts = [depth.contexts for depth in depths]
    return NextMessageResult(
        modes={name: ContextScores.of(sequences, contexts, values) for name, values in figures.items()},
        context_length=per_context(depths, [depth.turn for depth in depths]),
        candidates=per_context(depths, [depth.items for depth in depths]),
        seed=seed,
    )


def _figures_of_contexts(
    modes: Modes, depths: Sequence[Depth], names: Sequence[str]
) -> dict[str, dict[str, FloatArray]]:
    """For each mode the figures and their values for all contexts of all depths, (contexts,)."""
    parts: dict[str, list[dict[str, FloatArray]]] = {name: [] for name in names}
    with progress_of("ranking messages", len(names) * sum(len(depth.contexts) for depth in depths)) as advance:
        for depth in depths:
            tables = _value_tables(depth.items)
            for name, scores, true in scored_blocks(modes, depth, names):
                parts[name].append(rank_true_items(scores, true, depth.counts).figures(tables))
                advance(len(true))
    return {
        name: {figure: np.concatenate([part[figure] for part in of_mode]) for figure in of_mode[0]}
        for name, of_mode in parts.items()
    }


def _value_tables(items: int) -> dict[str, FloatArray]:
    """The worth of each rank among ``items`` candidates, best rank first: figure -> (items,)."""
    recalls = {f"r_at_{k}": recall_among(k, items, _OTHERS) for k in _RECALLS}
    return {"mrr": 1 / np.arange(1, items + 1), **recalls}


NEXT_MESSAGE = reply_task(
    name="next-message",
    metric="average_rank",
    description="Rank all messages at one depth: does the one that was said come first?",
    citation="https://aclanthology.org/2024.acl-long.290",
    measure=evaluate_next_message,
)
