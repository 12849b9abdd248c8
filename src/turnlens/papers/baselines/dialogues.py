"""Whole dialogues by baselines that embed utterances: the mean of their embeddings, or one text of all turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from turnlens.data.messages import Messages, checked_messages, document
from turnlens.papers.baselines.baseline import UtteranceBaseline
from turnlens.papers.baselines.token_pooling import TokenPooling

_SPEAKERS = ("[usr]", "[sys]")  # of TOD-BERT (Wu et al., EMNLP 2020)


class MeanOfUtterances:
    """The mean of a dialogue's utterance embeddings; a repeated utterance counts as often as it was said.

    Args:
        utterances: The baseline that embeds the utterances.
    """

    def __init__(self, utterances: UtteranceBaseline) -> None:
        self.utterances = utterances

    def fit(self, conversations: Any) -> Self:
        """Fit what embeds the utterances."""
        self.utterances.fit(conversations)
        return self

    def encode_conversations(self, conversations: Sequence[Messages]) -> np.ndarray:
        """Embed dialogues, float32 (dialogues, dim).

        Raises:
            ValueError: A dialogue has no messages, or rows are given instead of lists of messages.
        """
        conversations = checked_messages(conversations)
        contents = [[message["content"] for message in messages] for messages in conversations]
        place = {text: row for row, text in enumerate(dict.fromkeys(text for turns in contents for text in turns))}
        embeddings = self.utterances.encode_messages(list(place))  # (distinct utterances, dim)
        means = np.zeros((len(contents), embeddings.shape[1]), dtype=np.float32)
        for row, turns in enumerate(contents):
            means[row] = embeddings[[place[text] for text in turns]].mean(axis=0)
        return means


class Concatenation:
    """All turns as one text, as the dial2vec paper gives dialogues to language models (section 4.3).

    The paper says only that a dialogue may have 512 tokens. Here, as many of the first turns as fit are taken whole; a
    first turn that is too long by itself is cut. If a model's tokenizer has the tokens ``[usr]`` and ``[sys]``, as that
    of TOD-BERT, they mark the speakers: ``[usr]`` the user (without one, whoever starts) and ``[sys]`` everybody else.

    Args:
        utterances: The baseline that embeds the text.
        limit: The transformer inside, whose tokens are counted; None if a text may have any length.
    """

    def __init__(self, utterances: UtteranceBaseline, limit: TokenPooling | None = None) -> None:
        self.utterances = utterances
        self.limit = limit

    def fit(self, conversations: Any) -> Self:
        """Fit what embeds the text."""
        self.utterances.fit(conversations)
        return self

    def encode_conversations(self, conversations: Sequence[Messages]) -> np.ndarray:
        """Embed dialogues, float32 (dialogues, dim).

        Raises:
            ValueError: A dialogue has no messages, or rows are given instead of lists of messages.
        """
        conversations = checked_messages(conversations)
        spoken = [self._with_speakers(messages) for messages in conversations]
        return self.utterances.encode_messages(
            [document(messages[:turns]) for messages, turns in zip(spoken, self.fitting(spoken))]
        )

    def _with_speakers(self, messages: Messages) -> Messages:
        """The turns; if the model knows speaker tokens, each turn begins with that of its speaker."""
        if self.limit is None or not set(_SPEAKERS) <= self.limit.tokenizer.get_vocab().keys():
            return messages
        roles = [message["role"] for message in messages]
        user = "user" if "user" in roles else roles[0]
        return [
            {**message, "content": f"{_SPEAKERS[message['role'] != user]} {message['content']}"} for message in messages
        ]

    def fitting(self, conversations: Sequence[Messages]) -> list[int]:
        """Return how many of the first turns of each dialogue fit without a cut; at least one."""
        if self.limit is None:
            return [len(messages) for messages in conversations]
        texts = list(dict.fromkeys(message["content"] for messages in conversations for message in messages))
        # With the space that joins it to the previous turn: byte-level tokenizers make it part of the word.
        length = dict(zip(texts, self.limit.count_tokens([f" {text}" for text in texts])))
        fitting = []
        for messages in conversations:
            ends = np.cumsum([length[message["content"]] for message in messages])
            fitting.append(max(1, int((ends <= self.limit.room).sum())))
        return fitting
