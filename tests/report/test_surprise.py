from __future__ import annotations

import numpy as np
import pytest
import torch

from turnlens._utils.vectors import unit_vectors
from turnlens.encoders.reply_head import ReplyHead
from turnlens.encoders.reply_scores import ComposedContext
from turnlens.report import surprise
from turnlens.report.surprise import surprise_of_turns


def made(turns: list[int], seed: int = 0) -> tuple[ReplyHead, np.ndarray, np.ndarray, np.ndarray]:
    torch.manual_seed(seed)
    head = ReplyHead(16, turns=3)
    with torch.no_grad():
        for weight in (head.context, head.candidate):
            weight.normal_(0, 0.3)
    random = np.random.default_rng(seed)
    turn = np.concatenate([np.arange(count) for count in turns])
    vectors = unit_vectors(random.standard_normal((len(turn), 16))).astype(np.float32)
    return head, vectors, random.integers(0, 2, len(turn)), turn


def test_surprise_is_the_share_of_replies_ranked_above(monkeypatch: pytest.MonkeyPatch) -> None:
    head, vectors, role, turn = made([9, 30, 1, 25, 40])
    monkeypatch.setattr(surprise, "_ROWS_AT_ONCE", 16)  # blocks that begin within conversations
    wanted = np.arange(105) >= 39
    found = surprise_of_turns(head.arrays(), vectors, role, turn, wanted, sampled=1000)
    replies = head.arrays().map_candidates(vectors)
    for row in range(len(vectors)):
        if turn[row] == 0 or not wanted[row]:
            assert np.isnan(found[row])
            continue
        context = ComposedContext(head.arrays())
        for earlier in range(row - turn[row], row):
            context.add(vectors[earlier], bool(role[earlier] == role[row]))
        alike = wanted & (role == role[row])
        scores = replies[alike] @ context.query()
        own = replies[row] @ context.query()
        expected = ((scores > own + 1e-6).sum() + 0.5) / alike.sum()
        assert found[row] == pytest.approx(expected, abs=0.02)


def test_seeds_fix_samples_and_few_replies_give_nothing() -> None:
    head, vectors, role, turn = made([60, 60])
    role[:] = 0
    role[5] = 1  # the only one of its role
    wanted = np.ones(120, bool)
    first, second = (surprise_of_turns(head.arrays(), vectors, role, turn, wanted, 30, seed=1) for _ in range(2))
    assert np.array_equal(first, second, equal_nan=True)
    assert np.isnan(first[5]) and not np.isnan(first[6])
    assert ((first[~np.isnan(first)] >= 0) & (first[~np.isnan(first)] <= 1)).all()
