"""The meaning of figures, by their names: which are better when lower, and which are not percentages."""

from __future__ import annotations

RANK, RANK_OVER_LENGTHS = "average_rank", "average_rank_over_lengths"
TRUE, RANDOM, DIFFERENCE = "true", "random", "difference"

LOWER_IS_BETTER = (RANK, RANK_OVER_LENGTHS, "adjusted_alignment", "alignment", "uniformity")
# Ranks, distances and cosines; all others are shares or correlations.
NOT_IN_PERCENT = (*LOWER_IS_BETTER, TRUE, RANDOM, DIFFERENCE)
