"""Find out where people sound unhappy with an answer, without labels.

A message is unhappy if it is nearer to sentences of complaint than to sentences of contentment, by mean cosine, and a
conversation if its messages are on average. Only what the asker says next after an answer to a request counts: a
request itself may complain about what it is about. A mere no to more, as after "Anything else?", is as near to one as
to the other. The encoder that ships reads them: with another, such as one that was fitted, zero is not half-way. Where
vectors are another's, it reads some of the messages, and a linear guess from the vectors tells the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from turnlens._utils.vectors import BoolArray, FloatArray, IntArray
from turnlens.encoders.folders import DEFAULT_ENCODER
from turnlens.groups.answer_guess import fit_linear_guess
from turnlens.groups.courtesies import wants_no_more
from turnlens.report.corpus import Corpus, means_of
from turnlens.store.open_arguments import store_encoder

if TYPE_CHECKING:
    from turnlens.store.store_encoder import StoreEncoder

UNHAPPY = "unhappy"
# Chosen by study_unhappy.py, which says how well they do on sources that had no say.
_COMPLAINTS = (
    "That's not what I want.",
    "Never mind.",
    "Can you try something else?",
    "That is not helpful.",
    "I don't really like it.",
    "That doesn't help.",
)
_CONTENTMENT = ("Perfect, thank you.", "I really enjoy that kind.")
_AT_ONCE = 65_536
_READ = 2048  # messages that the encoder that ships reads where the vectors are another's
_RIDGE = 0.1


def unhappiness(corpus: Corpus, asks: BoolArray, is_request: BoolArray) -> FloatArray:
    """Measure by how much each message is nearer to complaints; NaN where it follows no answer to a request (n,).

    Args:
        corpus: The conversations; an encoder is loaded if any message follows an answer.
        asks: The messages of the asker (n,).
        is_request: The messages that are requests (n,).
    """
    requests = np.append(0, np.cumsum(is_request))
    asked_before = requests[:-1] > requests[corpus.first][corpus.conversation]
    rows = np.flatnonzero(asks & np.append(False, ~asks[:-1]) & asked_before)
    scores = np.full(len(asks), np.nan, np.float32)
    if len(rows):
        weights, at_zero = _reading(corpus, rows)
        for some in np.array_split(rows, len(rows) // _AT_ONCE + 1):
            scores[some] = corpus.vectors[some] @ weights + at_zero
        scores[[row for row in rows.tolist() if wants_no_more(corpus.texts[row])]] = 0
    return scores


def contrast(encoder: StoreEncoder) -> FloatArray:
    """Return the mean vector of the complaints less that of the contentment, as an encoder reads them (dim,)."""
    complaints, contentment = (encoder.messages(texts)["vector"].mean(0) for texts in (_COMPLAINTS, _CONTENTMENT))
    return np.asarray(complaints - contentment)


def _reading(corpus: Corpus, rows: IntArray) -> tuple[FloatArray, float]:
    """Return the weights of vectors (dim,) that give the score of messages, and the score of the zero vector."""
    if corpus.encoder.name == DEFAULT_ENCODER:
        return contrast(corpus.encoder.load()), 0.0
    encoder = store_encoder(DEFAULT_ENCODER, "messages")
    rows = rows[:: len(rows) // _READ + 1]
    scores = encoder.messages([corpus.texts[row] for row in rows.tolist()])["vector"] @ contrast(encoder)
    guess = fit_linear_guess(np.array(corpus.vectors[rows], np.float32), scores[:, None] - scores.mean(), _RIDGE)
    weights = guess.weights[:, 0]
    return weights, float(scores.mean() - guess.mean @ weights)


def unhappy_conversations(scores: FloatArray, corpus: Corpus) -> dict[str, FloatArray]:
    """Return the number `unhappy` of conversations: 1 if one is, 0 if not, NaN if not known; none if none is known."""
    means = means_of(scores, corpus.first)
    known = ~np.isnan(means)
    return {UNHAPPY: np.where(known, means > 0, np.nan)} if known.any() else {}
