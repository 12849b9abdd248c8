from __future__ import annotations

import numpy as np
import pytest

from turnwise.evaluation.agreement import agreement


def test_agreement_is_full_with_itself_and_none_with_noise() -> None:
    random = np.random.default_rng(0)
    vectors = random.standard_normal((200, 16))
    rotation = np.linalg.qr(random.standard_normal((16, 16)))[0]
    same = agreement(vectors, 3 * vectors @ rotation)
    assert same["cosine_correlation"] == pytest.approx(100) and same["shared_neighbours"] == 100
    other = agreement(vectors, random.standard_normal((200, 8)))
    assert abs(other["cosine_correlation"]) < 5 and other["shared_neighbours"] < 15
    assert other["pairs"] == 200 * 199 // 2


def test_too_few_texts_are_refused() -> None:
    with pytest.raises(ValueError, match="more than 10 distinct texts to compare, got 3"):
        agreement(np.eye(3), np.eye(3))
