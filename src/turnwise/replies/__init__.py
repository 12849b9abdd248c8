"""What could be said next: models of replies, running conversations and candidates."""

from turnwise.replies.candidates import candidate_embeddings, read_candidates
from turnwise.replies.reply_model import ReplyModel, RunningConversation, next_speaker
from turnwise.replies.scores import bi_query

__all__ = ["ReplyModel", "RunningConversation", "bi_query", "candidate_embeddings", "next_speaker", "read_candidates"]
