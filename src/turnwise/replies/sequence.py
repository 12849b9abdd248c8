"""Running conversations, and what could be said next in them.

Erker et al., Triple-Encoders, ACL 2024, section 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from sentence_transformers import SentenceTransformer

from turnwise._utils.vectors import unit_vectors
from turnwise.encoders.contexts import encode_contexts
from turnwise.encoders.conversation_encoder import ConversationEncoder
from turnwise.encoders.reply_head import map_candidates
from turnwise.encoders.utterances import encode_utterances
from turnwise.encoders.views import View, encode_view, views_of
from turnwise.replies.composed import ComposedContext
from turnwise.replies.scores import (
    bi_query,
    first_row,
    inner_products,
    inverse_pair_norms,
    max_scores,
    pairs_from,
)

Mode = Literal["average", "max", "bi", "composed", "joined"]
_JOINED_TURNS = 10  # as many as the recipe of a single-vector encoder joins


def encode_turns(encoder: SentenceTransformer, texts: Sequence[str], same: Sequence[bool], view: View) -> np.ndarray:
    """Embed turns in a view, each text once for a speaker who says the after-text, and once for any other speaker.

    Args:
        encoder: The encoder.
        texts: The turns.
        same: Whether a turn's speaker is that of the after-text (len(texts),).
        view: The view, see `turnwise.encoders.views.encode_view`.

    Returns:
        float32 (len(texts), dim)
    """
    embeddings = np.zeros((len(texts), encoder.get_embedding_dimension() or 0), np.float32)
    for relation in set(same):
        rows = [row for row, is_same in enumerate(same) if is_same == relation]
        embeddings[rows] = encode_view(encoder, [texts[row] for row in rows], view, relation)
    return embeddings


def next_speaker(messages: Sequence[dict[str, Any]]) -> str | None:
    """The most likely next speaker: whoever spoke most recently before the last speaker; ``None`` for someone new."""
    last = messages[-1]["role"] if messages else None
    return next((message["role"] for message in reversed(messages) if message["role"] != last), None)


class SequenceModel:
    """An encoder applied to running conversations.

    Args:
        encoder: The encoder, which decides the modes. One with a reply head serves ``"composed"``. A
            triple-encoder (C3L) serves ``"average"``, ``"max"`` and ``"bi"``, and a bi-encoder (CCL) serves ``"bi"``. A
            plain encoder serves ``"bi"``, the sum of the cosines of the texts as they are, and ``"joined"``, the last
            turns as one text, which is what ``single-vector`` trains.
    """

    def __init__(self, encoder: SentenceTransformer) -> None:
        self.encoder = encoder
        views = views_of(encoder)
        self.is_triple = views is not None and views.triple
        self.head = ConversationEncoder.of(encoder).reply_head
        self.modes = self._served_modes(plain=views is None)

    def _served_modes(self, plain: bool) -> tuple[Mode, ...]:
        """The ways of scoring that the encoder supports, the default first."""
        if self.head is not None:
            return ("composed",)
        if self.is_triple:
            return ("average", "max", "bi")
        return ("bi", "joined") if plain else ("bi",)

    def encode_candidates(self, texts: Sequence[str], show_progress_bar: bool = False) -> np.ndarray:
        """Normalised after-embeddings, float32 (len(texts), dim); save them with ``np.save`` to map them later."""
        if self.head is None:
            return unit_vectors(encode_view(self.encoder, texts, "after", show_progress_bar=show_progress_bar))
        return self.map_candidates(encode_utterances(self.encoder, texts, show_progress_bar=show_progress_bar))

    def map_candidates(self, vectors: np.ndarray) -> np.ndarray:
        """Candidates from stored vectors of their texts, for a model with a reply head: nothing is encoded.

        Args:
            vectors: What the encoder's own ``encode`` gives (m, dim).

        Returns:
            As `encode_candidates`.

        Raises:
            ValueError: The model has no reply head.
        """
        if self.head is None:
            raise ValueError("the model has no reply head: encode the candidates with encode_candidates")
        return map_candidates(self.head, vectors)

    def start(self, candidate_speaker: str | None = None) -> RunningConversation:
        """Start a conversation without turns. Candidates are said by ``candidate_speaker``; ``None`` is someone new."""
        return RunningConversation(self, candidate_speaker)


class _Turn(NamedTuple):
    text: str
    same: bool


class RunningConversation:
    """A conversation to which turns are added; see `SequenceModel.start`.

    Each turn is encoded once in each view that is asked for, and only when it is first needed: the newest turn is not
    encoded as before-1 until another one follows. A further turn costs O(n·dim), for its pairs with the n turns before
    it.
    """

    def __init__(self, model: SequenceModel, candidate_speaker: str | None) -> None:
        self._model = model
        self._candidate_speaker = candidate_speaker
        self._turns: list[_Turn] = []
        self._encoded: dict[View, np.ndarray] = {}
        self._composed = ComposedContext(model.head) if model.head is not None else None
        self._composed_turns = 0
        self._rows: list[np.ndarray] = []  # of each turn, the sum of its normalised pair means with those before it

    def add(self, text: str, speaker: str) -> None:
        """Add a turn."""
        if not isinstance(text, str):
            raise ValueError(f"turn {len(self._turns)}: expected a text, got {text!r}")
        self._turns.append(_Turn(text, speaker == self._candidate_speaker))

    def query(self, last_rows: int | None = None) -> np.ndarray:
        """`triple_query` of the turns so far, float32 (dim,).

        Raises:
            ValueError: There is no turn, the model is not a triple-encoder, or ``last_rows`` is not positive.
        """
        self._check_triple()
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

    def bi_query(self) -> np.ndarray:
        """`bi_query` of the turns so far, float32 (dim,).

        Raises:
            ValueError: There is no turn.
        """
        self._check_not_empty()
        # A triple-encoder's before-view is its before-2 view, so that this view is encoded just once.
        return bi_query(self._embeddings("before2" if self._model.is_triple else "before"))

    def composed_query(self) -> np.ndarray:
        """The query of the reply head, float32 (dim,); each turn is encoded once, when it is first needed.

        Raises:
            ValueError: There is no turn, or the model has no reply head.
        """
        self._check_not_empty()
        if self._composed is None:
            raise ValueError("the model has no reply head (train one with reply-head)")
        new = self._turns[self._composed_turns :]
        for turn, vector in zip(new, encode_utterances(self._model.encoder, [turn.text for turn in new])):
            self._composed.add(vector, turn.same)
        self._composed_turns = len(self._turns)
        return self._composed.query()

    def joined_query(self) -> np.ndarray:
        """The last turns as one text, float32 (dim,) of length 1; encoded anew for every further turn.

        Raises:
            ValueError: There is no turn.
        """
        self._check_not_empty()
        return encode_contexts(self._model.encoder, [[turn.text for turn in self._turns[-_JOINED_TURNS:]]])[0]

    def score(self, candidates: Any, mode: Mode | None = None, last_rows: int | None = None) -> np.ndarray:
        """Score candidates for the next utterance; higher is better.

        Args:
            candidates: Normalised after-embeddings (m, dim), see `SequenceModel.encode_candidates`; float32 or float16,
                perhaps memory-mapped.
            mode: ``"average"`` over all pairs of turns (Eq. 3), ``"max"`` (`max_scores`), ``"bi"``, the sum of the
                cosines with each turn, ``"composed"`` (`composed_query`) or ``"joined"`` (`joined_query`). By default
                the first one that the model supports.
            last_rows: With ``"average"``: only pairs whose later turn is among this many last ones.

        Returns:
            (m,)

        Raises:
            ValueError: There is no turn or no candidate, the dimensions differ, the model lacks the mode's views, or
                the mode is unknown.
        """
        mode = self._checked_mode(mode, last_rows)
        if mode == "max":
            self._check_not_empty()
            before1, before2 = self._embeddings("before1", len(self._turns) - 1), self._embeddings("before2")
            return max_scores(np.pad(before1, ((0, 1), (0, 0))), before2, candidates)
        return inner_products(self.query_of(mode, last_rows), candidates)

    def query_of(self, mode: Mode | None = None, last_rows: int | None = None) -> np.ndarray:
        """The vector whose inner products with candidates are their scores, float32 (dim,): for any vector search.

        Args:
            mode: As for `score`, but not ``"max"``, which is no inner product.
            last_rows: As for `score`.

        Raises:
            ValueError: As for `score`, or the mode is ``"max"``.
        """
        mode = self._checked_mode(mode, last_rows)
        if mode == "max":
            raise ValueError("mode 'max' is no inner product and has no query: use score")
        queries: dict[Mode, Callable[[], np.ndarray]] = {
            "average": partial(self.query, last_rows),
            "bi": self.bi_query,
            "composed": self.composed_query,
            "joined": self.joined_query,
        }
        return queries[mode]()

    def _checked_mode(self, mode: Mode | None, last_rows: int | None) -> Mode:
        mode = mode or self._model.modes[0]
        if mode not in get_args(Mode):
            raise ValueError(f"mode must be one of {', '.join(get_args(Mode))}, got {mode!r}")
        if mode not in self._model.modes:
            raise ValueError(f"mode {mode!r} is not one of this model's, which are {', '.join(self._model.modes)}")
        if last_rows is not None and mode != "average":
            raise ValueError(f"last_rows belongs to mode 'average', not to {mode!r}")
        return mode

    def _check_not_empty(self) -> None:
        if not self._turns:
            raise ValueError("the conversation has no turn yet: add one first")

    def _check_triple(self) -> None:
        self._check_not_empty()
        if not self._model.is_triple:
            raise ValueError("the model has no views before1 and before2 (train it with c3l): only mode 'bi' serves it")

    def _embeddings(self, view: View, count: int | None = None) -> np.ndarray:
        """The first ``count`` turns, by default all, in a view, float32 (count, dim); encodes what is missing."""
        known = self._encoded.get(view)
        missing = self._turns[0 if known is None else len(known) : count]
        if missing or known is None:
            texts, same = [turn.text for turn in missing], [turn.same for turn in missing]
            new = encode_turns(self._model.encoder, texts, same, view)
            known = new if known is None else np.concatenate([known, new])
            self._encoded[view] = known
        return known[:count]
