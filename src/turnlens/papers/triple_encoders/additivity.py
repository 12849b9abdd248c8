"""Additivity: how much each utterance points to what is said next (triple-encoders, ACL 2024, appendix E)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from turnlens._utils.progress import progress_of
from turnlens._utils.vectors import FloatArray, IntArray, unit_vectors
from turnlens.evaluation.task import DIFFERENCE, RANDOM, TRUE
from turnlens.papers.citations import TRIPLE_ENCODERS
from turnlens.papers.next_message.scores import ContextScores
from turnlens.papers.next_message.sequences import (
    LENGTHS,
    Depth,
    EmbeddedSequences,
    Sequences,
    find_depths,
    per_context,
    reply_task,
)
from turnlens.papers.triple_encoders.modes import EmbeddedViews
from turnlens.papers.triple_encoders.scores import inverse_pair_norms

# Before1 and before2 of contexts, each (contexts, turns, dim), and a target (contexts, dim) -> (contexts, turns).
Shares = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]

_BLOCK = 8_000_000  # numbers in a block of embeddings


def bi_shares(before: FloatArray, target: FloatArray) -> FloatArray:
    """The cosine of every utterance of a context with the target: (contexts, turns, dim) -> (contexts, turns).

    Args:
        before: (contexts, turns, dim)
        target: (contexts, dim), an after-embedding of length 1, or a mean of some.
    """
    return np.einsum("cnd,cd->cn", unit_vectors(before), target)


def triple_shares(before1: FloatArray, before2: FloatArray, target: FloatArray) -> FloatArray:
    """The mean cosine with the target of all pair means that an utterance is part of.

    Their mean over the utterances is the score of the context: each pair counts for both of its utterances.

    Args:
        before1: (contexts, turns, dim), two turns or more.
        before2: The same turns in the other view (contexts, turns, dim).
        target: (contexts, dim), an after-embedding of length 1, or a mean of some.

    Returns:
        (contexts, turns)
    """
    products1, products2 = (np.einsum("cnd,cd->cn", rows, target) for rows in (before1, before2))
    pairs = (products1[:, :, None] + products2[:, None, :]) * inverse_pair_norms(before1, before2)
    pairs = np.triu(pairs, k=1)  # the earlier utterance of a pair is in the view before1
    return np.asarray((pairs.sum(axis=1) + pairs.sum(axis=2)) / (before1.shape[1] - 1))


_SHARES: dict[str, Shares] = {
    "bi": lambda before1, before2, target: bi_shares(before2, target),
    "average": triple_shares,
}


@dataclass(frozen=True, eq=False)
class AdditivityResult:
    """Mean cosines of contexts with the true next utterance and with the others at its depth.

    Args:
        modes: ``"bi"``, and ``"average"`` of a triple-encoder -> cosines with the true utterance, with the mean of all
            others, and the difference.
        context_length: (contexts,) turns before the utterance.
        by_distance: Mode -> context length -> (turns,) how much each utterance contributes to the difference, the
            latest first.
        seed: Seed of the bootstrap.
    """

    modes: dict[str, ContextScores]
    context_length: IntArray
    by_distance: dict[str, dict[int, FloatArray]]
    seed: int

    def summary(self) -> dict[str, object]:
        """For each mode, the means over all contexts and over those of each length, ready for JSON; not in percent."""
        summaries: dict[str, object] = {}
        for mode, scores in self.modes.items():
            lengths = {
                str(length): {
                    **scores.means(self.context_length == length),
                    "by_distance": np.round(shares, 6).tolist(),
                }
                for length, shares in self.by_distance[mode].items()
            }
            summaries[mode] = {**scores.summary(self.seed), "by_context_length": lengths}
        return summaries


def evaluate_additivity(
    embedded: EmbeddedSequences, seed: int = 0, lengths: Sequence[int] = LENGTHS, drawn: int | None = None
) -> AdditivityResult:
    """Compare contexts, and every utterance of them, with the true next utterance and with others at its depth.

    By default these are all others, of which random ones are a sample: the mean of the cosines with them is the inner
    product with their mean.

    Args:
        embedded: From ``build_sequences`` and an encoder.
        seed: Seed of the bootstrap, and of the utterances drawn.
        lengths: Turns of the context; a length that fewer than two conversations exceed is left out.
        drawn: Compare each context with this many random utterances at its depth, as in the paper's Table 6, instead of
            all others.

    Raises:
        ValueError: A length is out of range, or ``drawn`` is less than 1.
        ConversationError: No length is left.
    """
    if drawn is not None and drawn < 1:
        raise ValueError(f"drawn must be 1 or more, got {drawn}")
    generator = np.random.default_rng(seed)
    views = EmbeddedViews(embedded)
    names = ("average", "bi") if views.triple else ("bi",)
    depths = find_depths(embedded.sequences, lengths)
    views.prepare_depths(depths, before1=True)
    true: dict[str, list[FloatArray]] = {name: [] for name in names}
    random: dict[str, list[FloatArray]] = {name: [] for name in names}
    sums = {name: {depth.turn: np.zeros(depth.turn) for depth in depths} for name in names}
    with progress_of("comparing contexts", len(names) * sum(len(depth.contexts) for depth in depths)) as advance:
        for depth in depths:
            for name, with_true, with_others in _compared_blocks(views, depth, names, drawn, generator):
                true[name].append(with_true.mean(axis=1))
                random[name].append(with_others.mean(axis=1))
                sums[name][depth.turn] += (with_true - with_others).sum(axis=0)
                advance(len(with_true))
    return AdditivityResult(
        modes={name: _scores(embedded.sequences, depths, true[name], random[name]) for name in names},
        context_length=per_context(depths, [depth.turn for depth in depths]),
        by_distance={
            name: {depth.turn: by_turn[depth.turn][::-1] / len(depth.contexts) for depth in depths}
            for name, by_turn in sums.items()
        },
        seed=seed,
    )


def _compared_blocks(
    views: EmbeddedViews, depth: Depth, names: Sequence[str], drawn: int | None, generator: np.random.Generator
) -> Iterator[tuple[str, FloatArray, FloatArray]]:
    """Shares of all turns in the cosine with the true next utterance, and in the mean cosine with others.

    Yields:
        Block by block of contexts and for each mode: its name and both shares, each (block, turns).
    """
    after = views.after_units(depth.candidates)
    total = depth.counts @ after  # (dim,)
    step = max(1, _BLOCK // (depth.turn * after.shape[1]))
    for start in range(0, len(depth.contexts), step):
        true = depth.true[start : start + step]
        own = after[true]
        if drawn is None:
            others = (total - own) / (depth.items - 1)
        else:
            others = np.array([after[_draw_others(depth, number, drawn, generator)].mean(axis=0) for number in true])
        contexts = views.contexts(depth.contexts[start : start + step], depth.turn)
        before1, before2 = (rows.astype(np.float64) for rows in contexts)
        for name in names:
            shares = _SHARES[name]
            yield name, shares(before1, before2, own), shares(before1, before2, others)


def _draw_others(depth: Depth, true: int, count: int, generator: np.random.Generator) -> IntArray:
    """Candidates of a depth, each as likely as it is frequent; the true one's own utterance is not drawn (count,)."""
    counts = depth.counts.copy()
    counts[true] -= 1
    return np.asarray(generator.choice(len(counts), count, p=counts / counts.sum()))


def _scores(
    sequences: Sequences, depths: Sequence[Depth], true: list[FloatArray], random: list[FloatArray]
) -> ContextScores:
    cosines = {TRUE: np.concatenate(true), RANDOM: np.concatenate(random)}
    values = {**cosines, DIFFERENCE: cosines[TRUE] - cosines[RANDOM]}
    return ContextScores.of(sequences, [depth.contexts for depth in depths], values, DIFFERENCE)


ADDITIVITY = reply_task(
    name="additivity",
    metric="difference",
    description="Are contexts closer to the true next utterance than to others, and which turns make them so?",
    citation=TRIPLE_ENCODERS,
    measure=evaluate_additivity,
)
