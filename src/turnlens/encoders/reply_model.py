"""Running conversations, and the ranking of their next messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from typing_extensions import override

from turnlens._utils.registries import REPLY_MODELS
from turnlens._utils.vectors import unit_vectors
from turnlens.encoders.messages import encode_contexts, encode_messages
from turnlens.encoders.reply_scores import bi_query, head_of, inner_products

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from turnlens.encoders.encoder import Encoder

_JOINED_TURNS = 10  # as many as the recipe of a single-vector encoder joins


def next_speaker(messages: Sequence[dict[str, Any]]) -> str | None:
    """The most likely next speaker: whoever spoke most recently before the last speaker; ``None`` for someone new."""
    last = messages[-1]["role"] if messages else None
    return next((message["role"] for message in reversed(messages) if message["role"] != last), None)


class ReplyModel:
    """An encoder applied to running conversations.

    The encoder decides how replies are scored, and which subclass ``ReplyModel(encoder)`` gives. A plain encoder serves
    the modes ``"bi"``, the sum of the cosines with the turns, and ``"joined"``, the last ten turns as one text, which
    is what ``single-vector`` trains. An encoder with a reply head serves ``"composed"``. An encoder of a paper
    serves the modes of that paper.

    Args:
        encoder: The encoder.

    Attributes:
        modes: The ways of scoring, the default first.
        own_candidates: Whether a candidate has another vector than the same text has as a message.

    Examples:
        >>> import turnlens
        >>> model = turnlens.ReplyModel(turnlens.load_encoder())
        >>> candidates = model.encode_candidates(["Your parcel is on its way.", "What would you like to eat?"])
        >>> conversation = model.start(candidate_speaker="agent")
        >>> conversation.add("Where is my parcel?", "user")
        >>> int(conversation.score(candidates).argmax())
        0
    """

    modes: tuple[str, ...] = ("bi", "joined")
    own_candidates: bool = False

    def __new__(cls, encoder: Encoder | SentenceTransformer) -> Self:
        """The model of the kind that serves the encoder."""
        model: Self = object.__new__(_kind_of(encoder) if cls is ReplyModel else cls)
        return model

    def __init__(self, encoder: Encoder | SentenceTransformer) -> None:
        self.encoder: Any = encoder

    def encode_candidates(
        self, texts: Sequence[str], vectors: np.ndarray | None = None, show_progress_bar: bool = False
    ) -> np.ndarray:
        """Vectors of candidates, of length 1; save them with ``np.save`` to map them later.

        Args:
            texts: The candidates.
            vectors: What the encoder's own ``encode`` gives for the texts (len(texts), dim), if it is known: then
                nothing is encoded, unless candidates have a prompt of their own.
            show_progress_bar: Show a progress bar.

        Returns:
            float32 (len(texts), dim)
        """
        if vectors is None:
            vectors = encode_messages(self.encoder, texts, show_progress_bar=show_progress_bar)
        return self._candidates(vectors)

    def _candidates(self, vectors: np.ndarray) -> np.ndarray:
        return unit_vectors(vectors)

    def turns_read(self, mode: str | None = None) -> int | None:
        """Return how many of the last turns a mode reads; ``None`` for all."""
        return _JOINED_TURNS if mode == "joined" else None

    def start(self, candidate_speaker: str | None = None) -> RunningConversation:
        """Start a conversation without turns; ``candidate_speaker`` speaks next, and ``None`` is someone new."""
        return RunningConversation(self, candidate_speaker)


class Turn(NamedTuple):
    """A turn, and whether its speaker is the one who says the candidates."""

    text: str
    same: bool


class RunningConversation:
    """A conversation to which turns are added; see `ReplyModel.start`.

    Each turn is encoded once, when it is first needed; only mode ``"joined"`` encodes anew for every further turn.
    """

    def __init__(self, model: ReplyModel, candidate_speaker: str | None) -> None:
        self._model = model
        self._candidate_speaker = candidate_speaker
        self._turns: list[Turn] = []
        self._encoded: dict[str, np.ndarray] = {}  # view -> (turns encoded in it, dim)

    def add(self, text: str, speaker: str) -> None:
        """Add a turn."""
        if not isinstance(text, str):
            raise ValueError(f"turn {len(self._turns)}: expected a text, got {text!r}")
        self._turns.append(Turn(text, speaker == self._candidate_speaker))

    def score(self, candidates: Any, mode: str | None = None) -> np.ndarray:
        """Score candidates for the next reply; higher is better.

        Args:
            candidates: From `ReplyModel.encode_candidates` (m, dim); float32 or float16, perhaps memory-mapped.
            mode: One of the model's modes; by default its first.

        Returns:
            (m,)

        Raises:
            ValueError: There is no turn or no candidate, the dimensions differ, or the model does not serve the mode.
        """
        return inner_products(self.query_of(mode), candidates)

    def query_of(self, mode: str | None = None) -> np.ndarray:
        """The vector whose inner products with candidates are their scores, float32 (dim,): for any vector search.

        Args:
            mode: As for `score`.

        Raises:
            ValueError: There is no turn, or the model does not serve the mode.
        """
        return self._query(self._checked_mode(mode))

    def _checked_mode(self, mode: str | None) -> str:
        mode = mode or self._model.modes[0]
        if mode not in self._model.modes:
            raise ValueError(f"mode {mode!r} is not one of this model's, which are {', '.join(self._model.modes)}")
        if not self._turns:
            raise ValueError("the conversation has no turn yet: add one first")
        return mode

    def _query(self, mode: str) -> np.ndarray:
        if mode == "bi":
            return bi_query(self._embeddings())
        return encode_contexts(self._model.encoder, [[turn.text for turn in self._turns[-_JOINED_TURNS:]]])[0]

    def _embeddings(self, view: str = "", count: int | None = None) -> np.ndarray:
        """The first ``count`` turns, by default all, in a view, float32 (count, dim); encodes what is missing."""
        known = self._encoded.get(view)
        missing = self._turns[0 if known is None else len(known) : count]
        if missing or known is None:
            new = self._encode(missing, view)
            known = new if known is None else np.concatenate([known, new])
            self._encoded[view] = known
        return known[:count]

    def _encode(self, turns: Sequence[Turn], view: str) -> np.ndarray:
        """Turns in a view (turns, dim). There is a single one here; an encoder of a paper may have more."""
        return encode_messages(self._model.encoder, [turn.text for turn in turns])


class ComposedReplies(ReplyModel):
    """An encoder with a reply head; see `ReplyModel`."""

    modes = ("composed",)

    def __init__(self, encoder: Encoder | SentenceTransformer) -> None:
        super().__init__(encoder)
        head = head_of(encoder)
        if head is None:
            raise ValueError("the encoder has no reply head (train one with reply-head)")
        self.head = head
        self.own_candidates = bool(head.candidate.any())

    @override
    def _candidates(self, vectors: np.ndarray) -> np.ndarray:
        return self.head.map_candidates(vectors)

    @override
    def turns_read(self, mode: str | None = None) -> int | None:
        return self.head.turns

    @override
    def start(self, candidate_speaker: str | None = None) -> RunningConversation:
        return _ComposedConversation(self, candidate_speaker)


class _ComposedConversation(RunningConversation):
    def __init__(self, model: ComposedReplies, candidate_speaker: str | None) -> None:
        super().__init__(model, candidate_speaker)
        self._head, self._read = model.head, 0  # turns
        self._vectors: deque[np.ndarray] = deque(maxlen=model.head.turns)  # the latest first

    @override
    def _query(self, mode: str) -> np.ndarray:
        new = self._turns[max(self._read, len(self._turns) - self._head.turns) :]
        self._vectors.extendleft(self._encode(new, ""))
        self._read = len(self._turns)
        same = np.array([[turn.same for turn in self._turns[: -1 - self._head.turns : -1]]])
        return self._head.queries(unit_vectors(np.stack(self._vectors))[None], same, np.ones_like(same))[0]


def _kind_of(encoder: Encoder | SentenceTransformer) -> type[Any]:
    if head_of(encoder) is not None:
        return ComposedReplies
    return REPLY_MODELS.first_of(encoder.prompts) or ReplyModel
