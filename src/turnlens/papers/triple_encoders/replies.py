"""Replies by an encoder with views: CCL's bi-encoder and C3L's triple-encoder.

Erker et al., Triple-Encoders, ACL 2024, section 4.1 and appendix B.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer
from typing_extensions import override

from turnlens._utils.vectors import unit_vectors
from turnlens.encoders.reply_model import ReplyModel, RunningConversation, Turn
from turnlens.encoders.reply_scores import bi_query
from turnlens.papers.triple_encoders.scores import first_row, inverse_pair_norms, max_scores, pairs_from
from turnlens.papers.triple_encoders.views import View, encode_view, views_of

# Mode -> only pairs whose later turn is among this many last ones; None for all.
LAST_ROWS: dict[str, int | None] = {"average": None, "last-1": 1, "last-2": 2, "last-3": 3, "last-4": 4}


def encode_turns(encoder: SentenceTransformer, texts: Sequence[str], same: Sequence[bool], view: View) -> np.ndarray:
    """Embed turns in a view, each text once for a speaker who says the after-text, and once for any other speaker.

    Args:
        encoder: The encoder.
        texts: The turns.
        same: Whether a turn's speaker is that of the after-text (len(texts),).
        view: The view, see `turnlens.papers.triple_encoders.views.encode_view`.

    Returns:
        float32 (len(texts), dim)
    """
    embeddings = np.zeros((len(texts), encoder.get_embedding_dimension() or 0), np.float32)
    for relation in set(same):
        rows = [row for row, is_same in enumerate(same) if is_same == relation]
        embeddings[rows] = encode_view(encoder, [texts[row] for row in rows], view, relation)
    return embeddings


class TripleReplies(ReplyModel):
    """The `turnlens.ReplyModel` of an encoder with views.

    All such encoders serve mode ``"bi"``, the sum of the cosines with each turn. A triple-encoder (C3L) also serves
    ``"average"`` over all pairs of turns (Eq. 3), ``"last-1"`` to ``"last-4"``, over the pairs whose later turn is
    among this many last ones, and ``"max"`` (`turnlens.papers.triple_encoders.scores.max_scores`), which is no inner
    product and so has no query.

    Attributes:
        is_triple: Whether the encoder is a triple-encoder.
    """

    own_candidates = True

    def __init__(self, encoder: SentenceTransformer) -> None:
        super().__init__(encoder)
        views = views_of(encoder)
        self.is_triple = views is not None and views.triple
        self.modes = (*LAST_ROWS, "max", "bi") if self.is_triple else ("bi",)

    @override
    def encode_candidates(
        self, texts: Sequence[str], vectors: np.ndarray | None = None, show_progress_bar: bool = False
    ) -> np.ndarray:
        return unit_vectors(encode_view(self.encoder, texts, "after", show_progress_bar=show_progress_bar))

    @override
    def start(self, candidate_speaker: str | None = None) -> TripleConversation:
        return TripleConversation(self, candidate_speaker)


class TripleConversation(RunningConversation):
    """A conversation each turn of which is encoded once in each view, and only when that view is first needed.

    The newest turn is not encoded as before-1 until another one follows. A further turn costs O(n·dim), for its pairs
    with the n turns before it.
    """

    def __init__(self, model: TripleReplies, candidate_speaker: str | None) -> None:
        super().__init__(model, candidate_speaker)
        # A triple-encoder's before-view is its before-2 view, so that this view is encoded just once.
        self._before = "before2" if model.is_triple else "before"
        self._rows: list[np.ndarray] = []  # of each turn, the sum of its normalised pair means with those before it

    @override
    def score(self, candidates: Any, mode: str | None = None) -> np.ndarray:
        if self._checked_mode(mode) != "max":
            return super().score(candidates, mode)
        before1, before2 = self._embeddings("before1", len(self._turns) - 1), self._embeddings("before2")
        return max_scores(np.pad(before1, ((0, 1), (0, 0))), before2, candidates)

    @override
    def _query(self, mode: str) -> np.ndarray:
        if mode == "max":
            raise ValueError("mode 'max' is no inner product and has no query: use score")
        return bi_query(self._embeddings(self._before)) if mode == "bi" else self._triple_query(LAST_ROWS[mode])

    def _triple_query(self, last_rows: int | None) -> np.ndarray:
        """`turnlens.papers.triple_encoders.scores.triple_query` of the turns so far, float32 (dim,)."""
        n = len(self._turns)
        start = first_row(n, last_rows)
        before1, before2 = self._embeddings("before1", n - 1), self._embeddings("before2", n)
        for turn in range(len(self._rows), n):
            earlier, later = before1[:turn].astype(np.float64), before2[turn].astype(np.float64)
            weights = inverse_pair_norms(earlier, later[None])[:, 0]  # (turn,)
            self._rows.append(weights @ earlier + weights.sum() * later)
        if n == 1:
            return unit_vectors(before2[0])
        return np.asarray(np.sum(self._rows[start:], axis=0) / pairs_from(start, n), np.float32)

    @override
    def _encode(self, turns: Sequence[Turn], view: Any) -> np.ndarray:
        return encode_turns(self._model.encoder, [turn.text for turn in turns], [turn.same for turn in turns], view)
