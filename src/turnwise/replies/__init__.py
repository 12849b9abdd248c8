"""What could be said next: scores, running conversations, plans and candidates."""

from turnwise.replies.candidates import candidate_embeddings, read_candidates
from turnwise.replies.scores import bi_query, max_scores, triple_query
from turnwise.replies.sequence import SequenceModel, next_speaker

__all__ = [
    "SequenceModel",
    "bi_query",
    "candidate_embeddings",
    "max_scores",
    "next_speaker",
    "read_candidates",
    "triple_query",
]
