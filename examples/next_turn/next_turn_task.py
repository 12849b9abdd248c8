"""A task: of the second messages of all conversations, is a conversation's own the one nearest to its first?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from turnlens.extending import MESSAGE, ConversationError, Task, bootstrap_interval, sample_queries, unit_embeddings


@dataclass(frozen=True, eq=False)
class FirstReplyResult:
    queries: tuple[str, ...]
    per_query: np.ndarray  # 100 where a conversation's own reply is the nearest, else 0 (queries,)
    seed: int

    def summary(self):
        interval = list(bootstrap_interval(self.per_query, self.seed))
        return {"r_at_1": float(self.per_query.mean()), "r_at_1_interval": interval, "queries": len(self.queries)}


def build(conversations, settings):
    texts = [[message["content"] for message in row["messages"][:2]] for row in conversations]
    pairs = [pair for pair in texts if len(pair) == 2]
    if len(pairs) < 2:
        raise ConversationError("conversations", f"expected two or more of two messages, got {len(pairs)}")
    return [pairs[number] for number in sample_queries(len(pairs), settings.max_queries, settings.seed)]


def measure(encode, pairs, seed):
    first, second = (unit_embeddings(encode, texts) for texts in zip(*pairs))  # (pairs, dim) each
    hits = (first @ second.T).argmax(1) == np.arange(len(pairs))
    return FirstReplyResult(tuple(text for text, _ in pairs), 100.0 * hits, seed)


FIRST_REPLY = Task(
    name="first-reply",
    level=MESSAGE,
    metric="r_at_1",
    description="Of all second messages, is a conversation's own the nearest to its first?",
    citation="",
    measure=measure,
    build=build,
)
