"""Short-term planning: which next utterance leads to a goal some turns ahead.

Erker et al., Triple-Encoders, ACL 2024, section 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sentence_transformers import SentenceTransformer

from turnlens._utils.arguments import require_list
from turnlens._utils.vectors import unit_vectors
from turnlens.data.messages import Message
from turnlens.encoders.messages import encode_messages
from turnlens.encoders.reply_model import ComposedReplies, ReplyModel
from turnlens.encoders.reply_scores import HeadArrays
from turnlens.papers.triple_encoders.replies import TripleReplies, encode_turns
from turnlens.papers.triple_encoders.scores import inverse_pair_norms
from turnlens.papers.triple_encoders.views import encode_view


def bi_plan_scores(candidates: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """``cos(B(c), A(g))`` for each candidate.

    Args:
        candidates: Before-embeddings of the candidates (..., m, dim); before-2 of a triple-encoder.
        goal: After-embedding of the goal (..., dim).

    Returns:
        (..., m)

    Raises:
        ValueError: The shapes do not fit.
    """
    _check(candidates, goal)
    return _cosines(candidates, goal)


def triple_plan_scores(before1: np.ndarray, candidates: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """``n · cos(B2(c), A(g)) + Σ_i cos((B1(u_i) + B2(c)) / 2, A(g))`` for each candidate (Eq. 4).

    Args:
        before1: Before-1-embeddings of the n context utterances (..., n, dim).
        candidates: Before-2-embeddings of the candidates (..., m, dim).
        goal: After-embedding of the goal (..., dim).

    Returns:
        (..., m)

    Raises:
        ValueError: The shapes do not fit.
    """
    _check(candidates, goal)
    if before1.ndim < 2 or before1.shape[-2] == 0 or before1.shape[-1] != goal.shape[-1]:
        raise ValueError(f"expected at least one context utterance (..., n, {goal.shape[-1]}), got {before1.shape}")
    unit_goal = unit_vectors(goal)[..., None]  # (..., dim, 1)
    of_context, of_candidates = before1 @ unit_goal, candidates @ unit_goal  # (..., n, 1), (..., m, 1)
    # The cosine of a pair is the sum of its two inner products over the norm of the sum.
    pairs = (of_context + of_candidates.swapaxes(-1, -2)) * inverse_pair_norms(before1, candidates)  # (..., n, m)
    return np.asarray(before1.shape[-2] * _cosines(candidates, goal) + pairs.sum(-2))


def rank(
    model: ReplyModel,
    context: Sequence[Message],
    candidates: Sequence[str],
    goal: str,
    candidate_speaker: str | None = None,
    goal_speaker: str | None = None,
) -> np.ndarray:
    """Score candidates for the next utterance by how well they lead to a goal; higher is better.

    Args:
        model: The model. A triple-encoder also uses the context, other models only candidate and goal.
        context: The conversation so far, ``{"role", "content"}`` each.
        candidates: What could be said next.
        goal: What should be said some turns later.
        candidate_speaker: Who says the candidates; ``None`` for someone who has not spoken yet.
        goal_speaker: Who says the goal; ``None`` for someone who has not spoken yet. If both are ``None``, they are the
            same person.

    Returns:
        (len(candidates),)

    Raises:
        ValueError: There is no context utterance or no candidate.
    """
    candidates = require_list(candidates, "candidates")
    if not context or not candidates:
        raise ValueError(f"expected turns and candidates, got {len(context)} turns and {len(candidates)} candidates")
    if isinstance(model, ComposedReplies):
        return _composed(model.head, model.encoder, context, candidates, goal, candidate_speaker, goal_speaker)
    encoder = model.encoder
    after = encode_view(encoder, [goal], "after")[0]
    # All that matters is whether a speaker is also the goal's, because all texts are paired with the goal's after-text.
    before = encode_view(encoder, candidates, "before", same=candidate_speaker == goal_speaker)
    if not (isinstance(model, TripleReplies) and model.is_triple):
        return bi_plan_scores(before, after)
    texts, same = [message["content"] for message in context], [message["role"] == goal_speaker for message in context]
    return triple_plan_scores(encode_turns(encoder, texts, same, "before1"), before, after)


def _cosines(vectors: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Cosines of candidates (..., m, dim) with a goal (..., dim): (..., m)."""
    return np.asarray((unit_vectors(vectors) @ unit_vectors(goal)[..., None])[..., 0])


def _check(candidates: np.ndarray, goal: np.ndarray) -> None:
    if candidates.ndim < 2 or candidates.shape[-2] == 0 or candidates.shape[-1] != goal.shape[-1]:
        shape = (*candidates.shape[:-2], "m", goal.shape[-1])
        raise ValueError(f"expected at least one candidate {shape}, got {candidates.shape}")


def _composed(
    head: HeadArrays,
    encoder: SentenceTransformer,
    context: Sequence[Message],
    candidates: Sequence[str],
    goal: str,
    candidate_speaker: str | None,
    goal_speaker: str | None,
) -> np.ndarray:
    """Return how well the goal would follow each candidate, as cosines, computed from one vector for each text."""
    latest = context[: -head.turns : -1]  # beside the candidate, which would be said last
    texts = [*candidates, *(message["content"] for message in latest), goal]
    vectors = unit_vectors(encode_messages(encoder, texts))
    said, before = vectors[: len(candidates), None], vectors[None, len(candidates) : -1]
    turns = np.concatenate([said, before.repeat(len(candidates), axis=0)], axis=1)  # (m, turns, dim)
    same = np.array([[candidate_speaker == goal_speaker, *(message["role"] == goal_speaker for message in latest)]])
    queries = head.queries(turns, same, np.ones_like(same))
    return np.asarray(queries @ head.map_candidates(vectors[-1:])[0])
