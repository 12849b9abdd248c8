"""How certain shares and their differences are, without a normal approximation at the edges."""

from __future__ import annotations

import math

import numpy as np

from turnwise._utils.vectors import FloatArray

Z = 1.959963984540054  # of 95 %


def wilson(count: FloatArray | int, total: FloatArray | int, z: float = Z) -> tuple[FloatArray, FloatArray]:
    """The interval of a share, ``count / total`` (Wilson, 1927); 0 to 1 where there is nothing to count.

    Args:
        count: How many (…,).
        total: Of how many (…,).
        z: The quantile of the normal distribution; the default gives 95 %.

    >>> low, high = wilson(41, 100)
    >>> round(float(low), 3), round(float(high), 3)
    (0.319, 0.508)
    """
    counts, totals = np.asarray(count, float), np.asarray(total, float)
    n = np.maximum(totals, 1)
    share = counts / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    known = totals > 0
    return np.where(known, np.maximum(middle - half, 0), 0.0), np.where(known, np.minimum(middle + half, 1), 1.0)


def difference(count: int, total: int, other_count: int, other_total: int, z: float = Z) -> tuple[float, float, float]:
    """The difference of two shares, ``count / total - other_count / other_total``, with its interval.

    From the two Wilson intervals (Newcombe, Statistics in Medicine 1998, method 10).

    Returns:
        Difference, lower end, upper end.

    >>> tuple(round(value, 3) for value in difference(56, 70, 48, 80))
    (0.2, 0.052, 0.334)
    """
    first, second = count / max(total, 1), other_count / max(other_total, 1)
    (low, high), (other_low, other_high) = wilson(count, total, z), wilson(other_count, other_total, z)
    below = math.hypot(first - float(low), float(other_high) - second)
    above = math.hypot(float(high) - first, second - float(other_low))
    return first - second, first - second - below, first - second + above
