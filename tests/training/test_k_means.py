from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from turnwise.training.k_means import k_means, nearest_centre


@pytest.mark.parametrize("seed", range(3))
def test_it_is_as_good_as_that_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = (rng.normal(size=(12, 16))[rng.integers(0, 12, 400)] + rng.normal(size=(400, 16))).astype(np.float32)
    centres = k_means(vectors, 12, seed)
    group = nearest_centre(vectors, centres)
    expected = KMeans(12, n_init=1, random_state=seed).fit(vectors)
    assert ((vectors - centres[group]) ** 2).sum() == pytest.approx(expected.inertia_, rel=0.02)
    np.testing.assert_array_equal(group, ((vectors[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1))


def test_vectors_that_are_all_the_same_are_one_group() -> None:
    vectors = np.ones((10, 4), np.float32)
    assert set(nearest_centre(vectors, k_means(vectors, 3, 0))) == {0}
