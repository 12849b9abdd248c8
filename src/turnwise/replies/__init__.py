"""What could be said next: scores, running conversations, plans and candidates."""

from turnwise.replies import planning
from turnwise.replies.candidates import candidate_embeddings, read_candidates
from turnwise.replies.generated import GeneratedCandidates
from turnwise.replies.generation import generate_candidates
from turnwise.replies.scores import bi_query, max_scores, triple_query
from turnwise.replies.sequence import SequenceModel, next_speaker

__all__ = [
    "GeneratedCandidates",
    "SequenceModel",
    "bi_query",
    "candidate_embeddings",
    "generate_candidates",
    "max_scores",
    "next_speaker",
    "planning",
    "read_candidates",
    "triple_query",
]
