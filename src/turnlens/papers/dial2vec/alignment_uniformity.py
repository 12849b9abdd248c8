"""Alignment and uniformity of dialogue embeddings (dial2vec, EMNLP 2022, section 5.3.3, equations 7 to 9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from turnlens._utils.progress import progress_of
from turnlens._utils.vectors import FloatArray, IntArray
from turnlens.evaluation.conversation_labels import EmbeddedConversations, LabelledConversations
from turnlens.evaluation.ranking_metrics import BLOCK, PRODUCT_UNIT, on_grid, product_blocks
from turnlens.evaluation.task import conversation_task
from turnlens.papers.citations import DIAL2VEC


@dataclass(frozen=True, eq=False)
class AlignmentUniformityResult:
    """Lower is better for all three; squared Euclidean distances of embeddings of length 1.

    Args:
        alignment: Equation 7, mean over pairs of one label, in [0, 4].
        adjusted_alignment: Equation 8, the same minus the mean over pairs of different labels.
        uniformity: Equation 9, in [-8, 0].
    """

    conversations: LabelledConversations
    alignment: float
    adjusted_alignment: float
    uniformity: float

    def summary(self) -> dict[str, object]:
        """The figures, ready for JSON; not in percent."""
        names = ("adjusted_alignment", "alignment", "uniformity")
        return {**{name: getattr(self, name) for name in names}, **self.conversations.counts()}


def evaluate_alignment_uniformity(embedded: EmbeddedConversations, seed: int = 0) -> AlignmentUniformityResult:
    """Compute all three over all pairs of distinct dialogues. Nothing is random: the seed is ignored.

    Args:
        embedded: From ``embed_labelled``.
        seed: Ignored; all tasks share a signature.

    Examples:
        >>> rows = [{"messages": [{"role": "user", "content": text}], "domain": text} for text in "aabb"]
        >>> from turnlens.evaluation import embed_labelled, labelled_conversations
        >>> def encode(talks):  # (conversations, dim)
        ...     return [[talk[0]["content"] == "a", 1.0] for talk in talks]
        >>> embedded = embed_labelled(encode, labelled_conversations(rows))
        >>> from turnlens.papers import evaluate_alignment_uniformity
        >>> round(evaluate_alignment_uniformity(embedded).alignment, 3)
        0.0
    """
    positive, negative = mean_squared_distances(embedded.units, embedded.conversations.codes)
    return AlignmentUniformityResult(
        conversations=embedded.conversations,
        alignment=round(positive, 6),
        adjusted_alignment=round(positive - negative, 6),
        uniformity=round(uniformity(embedded.units), 6),
    )


def mean_squared_distances(units: FloatArray, codes: IntArray) -> tuple[float, float]:
    """Mean squared distance of pairs of one label and of pairs of different labels (equations 7 and 8).

    No pair is formed: over the n vectors of a set, the squared distances of all ordered pairs sum to
    2 (n Σ‖x‖² - ‖Σx‖²).

    Args:
        units: (dialogues, dim) embeddings.
        codes: (dialogues,) the label of each, a number from 0; both kinds of pairs must occur.
    """
    vectors = units.astype(np.float64)
    squares = (vectors**2).sum(axis=1)
    counts = np.bincount(codes)
    sums = np.zeros((len(counts), vectors.shape[1]))
    np.add.at(sums, codes, vectors)  # (labels, dim)
    within = float((2 * (counts * np.bincount(codes, squares) - (sums**2).sum(axis=1))).sum())
    total = float(2 * (len(codes) * squares.sum() - (sums.sum(axis=0) ** 2).sum()))
    pairs = int((counts * (counts - 1)).sum())  # ordered
    return within / pairs, (total - within) / (len(codes) * (len(codes) - 1) - pairs)


def uniformity(units: FloatArray, block: int = BLOCK) -> float:
    """Log of the mean of exp(-2 ‖x - y‖²) over all pairs of distinct rows (equation 9).

    Args:
        units: (dialogues, dim) embeddings of length 1 or 0, two or more.
        block: Pairs held at a time.
    """
    count = len(units)
    everything = np.arange(count)
    squares = (on_grid(units) ** 2).sum(axis=1) * PRODUCT_UNIT
    sums = np.zeros(count)
    with progress_of("uniformity", count) as advance:
        for batch, products in product_blocks(units, everything, block):
            products *= 4 * PRODUCT_UNIT  # -2 ‖x - y‖² = 4 x·y - 2 ‖x‖² - 2 ‖y‖²
            products -= 2 * squares
            products -= 2 * squares[batch][:, None]
            np.exp(products, out=products)
            products[np.arange(len(batch)), batch] = 0.0  # a dialogue does not pair with itself
            sums[batch] = products.sum(axis=1)
            advance(len(batch))
    return float(np.log(sums.sum() / (count * (count - 1))))


ALIGNMENT_UNIFORMITY = conversation_task(
    name="alignment-uniformity",
    metric="adjusted_alignment",
    description="Are dialogues of one label close, and all of them spread out? Lower is better.",
    citation=DIAL2VEC,
    measure=evaluate_alignment_uniformity,
)
