"""The distance allowed between vectors computed in two ways."""

from typing import Any

import numpy as np

ROUNDOFF = 2.0**-24
"""The largest error of one operation in float32, relative to its result."""

ROUNDINGS = 256
"""The number of these that a value of the tiny encoder may be wrong by, relative to its vector's length.

The same sum in another order has other bits, and the order depends on the batch, the threads and the processor. A
number goes through four layers of sums of 8 to 64 terms: some 1,200 roundings, whose signs are as good as random, so
that they add up to about the root of that, 35. (Measured against float64: 8.) Two sides that are both off, a projection
or a centre taken away, and an unlucky processor come on top. What 256 come to, 1.5e-5 of the length, is still far below
what a wrong mask, prompt, token or pooling does: 1e-3 or more.
"""


def rounding(scale: float = 1.0, roundings: float = ROUNDINGS) -> float:
    """The error of so many roundings at a scale: 1 for a cosine, the product of both lengths for an inner product."""
    return roundings * ROUNDOFF * scale


def assert_same_vectors(actual: Any, expected: Any, roundings: float = ROUNDINGS) -> None:
    """Assert that vectors differ by no more than roundings, relative to the length of each.

    Not number by number: a number near zero in a long vector is a difference of long ones, and as wrong as they are.

    Args:
        actual: Arrays or tensors of any shape; the last dimension is that of the vectors.
        expected: The same shape. A vector of zeros must be met exactly.
        roundings: See ``ROUNDINGS``; for encoders deeper or wider than the tiny one, or more steps after them, more.
    """
    found, wanted = (np.asarray(_detached(side), dtype=np.float64) for side in (actual, expected))
    assert found.shape == wanted.shape
    distances, lengths = np.linalg.norm(found - wanted, axis=-1), np.linalg.norm(wanted, axis=-1)
    wrong = ~(distances <= rounding(lengths, roundings))  # also where something is not a number
    if wrong.any():
        worst = (distances / np.maximum(lengths, np.finfo(float).tiny) / ROUNDOFF)[wrong].max()
        raise AssertionError(
            f"{wrong.sum()} of {wrong.size} vectors are off by more than {roundings} roundings, one by {worst:.3g}"
        )


def _detached(side: Any) -> Any:
    return side.detach() if hasattr(side, "detach") else side
