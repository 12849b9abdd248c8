"""The data collator of CCL and C3L: conversations in, each text once in every view that is needed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor

from turnlens.papers.pieces import UtterancePool
from turnlens.papers.triple_encoders.views import View, view_prompt, views_of
from turnlens.training.collators import TextCollator, text_key

Row = tuple[str, int]  # a text and the column of its view, see `turnlens.papers.triple_encoders.collator`
Pair = tuple[Row, Row]

_BEFORE, _AFTER = 0, 2
_BEFORE1, _BEFORE2 = 0, 2


@dataclass(frozen=True)
class CorpusNegatives:
    """Draws utterances of other conversations of the corpus, fresh every epoch.

    Attributes:
        pool: The utterances of the corpus.
        count: Negatives of each kind for each position of a window.
        seed: Seed of the draws.
    """

    pool: UtterancePool
    count: int = 1
    seed: int = 0

    def of_windows(
        self,
        conversation: str,
        texts: Sequence[str],
        speaker: Sequence[int],
        window: int,
        triple: bool,
        tokens: int,
        draw: tuple[int, int],
    ) -> Iterator[Pair]:
        """The negatives of all windows of a conversation, or of a piece of one.

        Args:
            conversation: Its id.
            texts: Its messages.
            speaker: A number for each message's speaker.
            window: Messages in a window.
            triple: Whether they are for C3L, whose positions are those before the last, or for CCL, whose positions are
                those after the first.
            tokens: Speaker tokens that a random utterance may have, 1 or 2.
            draw: The epoch and the place of the piece in its conversation, which the draws depend on.

        Yields:
            Rows of two texts whose cosine (in C3L, that of their mean with the window's last after-text) is to be 0:
            for each window, position and draw, one pair for CCL and three for C3L.
        """
        generator = random.Random(f"{self.seed} {draw[0]} {conversation} {draw[1]}")
        for start in range(len(texts) - window + 1):
            last = start + window - 1
            for turn in range(start, last) if triple else range(start + 1, last + 1):
                for _ in range(self.count):
                    if triple:
                        yield from self._of_c3l(
                            conversation, texts[turn], speaker[turn] != speaker[last], tokens, generator
                        )
                    else:
                        yield self._of_ccl(conversation, texts[turn], tokens, generator)

    def _of_ccl(self, conversation: str, text: str, tokens: int, generator: random.Random) -> Pair:
        """For an utterance u of the window and a random one r: ``B(u), A(r)`` or ``B(r), A(u)``, equally likely."""
        drawn, token = self.pool.draw(None, conversation, generator), generator.randrange(tokens)
        before, after = (text, drawn) if generator.random() < 0.5 else (drawn, text)
        return (before, _BEFORE + token), (after, _AFTER)

    def _of_c3l(
        self, conversation: str, text: str, other: bool, tokens: int, generator: random.Random
    ) -> Iterator[Pair]:
        """For an utterance u of the context, random ones r: ``B1(u), B2(r)``, ``B1(r), B2(u)``, ``B1(r), B2(r)``."""
        drawn = [self.pool.draw(None, conversation, generator) for _ in range(4)]
        shared, first, second = (generator.randrange(tokens) for _ in range(3))
        yield (text, _BEFORE1 + other), (drawn[0], _BEFORE2 + shared)
        yield (drawn[1], _BEFORE1 + shared), (text, _BEFORE2 + other)
        yield (drawn[2], _BEFORE1 + first), (drawn[3], _BEFORE2 + second)


# The columns of `rows`. Without speaker tokens, "same" is used for both kinds of speakers.
CCL_COLUMNS: tuple[tuple[View, bool], ...] = (("before", True), ("before", False), ("after", True))
C3L_COLUMNS: tuple[tuple[View, bool], ...] = (
    ("before1", True),
    ("before1", False),
    ("before2", True),
    ("before2", False),
    ("after", True),
)


class TurnOrderCollator:
    """Tokenises the utterances of all windows, each distinct pair of text and view once.

    Args:
        encoder: An encoder with views, see `turnlens.papers.triple_encoders.views.add_views`.
        window: Consecutive utterances in a window. Shorter conversations have none.
        max_length: Longest utterance in tokens, prefix and special tokens included; longer ones are cut.
        directional: Whether to add what directional negatives need: the first utterance of a window as after-text. By
            default as the settings of the losses are: for the views of CCL, and not for those of C3L.
        negatives: Draws random negatives from the corpus; without it the loss takes them from the batch.

    Raises:
        ValueError: The encoder has no views, or a setting is out of range; in a call, no conversation has a window.
    """

    # The trainer asks every collator which columns hold labels. There are none.
    valid_label_columns: ClassVar[list[str]] = []

    def __init__(
        self,
        encoder: SentenceTransformer,
        window: int = 5,
        max_length: int = 64,
        directional: bool | None = None,
        negatives: CorpusNegatives | None = None,
    ) -> None:
        views = views_of(encoder)
        if views is None:
            raise ValueError("turn-order training needs an encoder with views, see turnlens.papers.add_views")
        if window < 2:
            raise ValueError(f"window must be at least 2, got {window}")
        if max_length < 8:
            raise ValueError(f"max_length must leave room for prefix and special tokens, at least 8, got {max_length}")
        self.encoder = encoder
        self.window = window
        self.texts = TextCollator(encoder, max_length)
        self.directional = not views.triple if directional is None else directional
        self.negatives = negatives
        self.epoch = 0
        self.speakers = views.speakers
        self.triple = views.triple
        self.columns = C3L_COLUMNS if views.triple else CCL_COLUMNS

    def set_epoch(self, epoch: int) -> None:
        """Draw different negatives from the corpus from now on."""
        self.epoch = epoch

    def __call__(self, conversations: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        """Collate a batch.

        Returns:
            Tensors, with the prefix ``messages_`` that the trainer strips again: ``input_ids`` and ``attention_mask``
            (rows, length); ``rows`` (turns, columns), the row of each turn in the views of ``CCL_COLUMNS`` or
            ``C3L_COLUMNS``, -1 where it is not needed; ``conversation`` (turns,), the position in the batch of each
            turn's conversation; ``speaker`` (turns,), a number for each speaker of a conversation (0 for all without
            speaker tokens); ``text_key`` (turns,), equal for equal texts; and, if negatives are drawn from the corpus,
            ``negatives`` (windows, window - 1, negatives, 2), the rows of each pair of
            `turnlens.papers.triple_encoders.collator.CorpusNegatives`.
        """
        rows: dict[tuple[str, int], int] = {}
        table, conversation, speaker, keys, negatives = [], [], [], [], []
        for number, row in enumerate(conversations):
            speakers: dict[str, int] = {}
            turns = [
                speakers.setdefault(message["role"], len(speakers)) if self.speakers else 0
                for message in row["messages"]
            ]
            needed = set(self._needed(turns))
            for turn, message in enumerate(row["messages"]):
                text = message["content"]
                table.append(
                    [
                        rows.setdefault((text, column), len(rows)) if (turn, column) in needed else -1
                        for column in range(len(self.columns))
                    ]
                )
                conversation.append(number)
                keys.append(text_key(text))
            speaker += turns
            for pair in self._drawn(row, turns):
                negatives.append([rows.setdefault(key, len(rows)) for key in pair])
        if not rows:
            raise ValueError(f"no conversation of this batch has {self.window} turns, the length of a window")
        tensors = {
            "rows": torch.tensor(table),
            "conversation": torch.tensor(conversation),
            "speaker": torch.tensor(speaker),
            "text_key": torch.tensor(keys),
        }
        if self.negatives is not None:
            shape = (-1, self.window - 1, self.negatives.count * (3 if self.triple else 1), 2)
            tensors["negatives"] = torch.tensor(negatives).reshape(shape)
        # Token ids as the stock ``encode`` with the view's prompt makes them, cut at ``max_length``.
        prompts = [self.encoder.prompts[view_prompt(self.encoder, *column)] or "" for column in self.columns]
        ids = self.texts.tokenize([prompts[column] + text for text, column in rows], self.texts.max_length)
        return self.texts.padded(ids) | {f"messages_{name}": tensor for name, tensor in tensors.items()}

    def _drawn(self, row: dict[str, Any], speaker: list[int]) -> Iterator[Pair]:
        """The negatives from the corpus for all windows of a row, if there are to be any."""
        if self.negatives is None:
            return iter(())
        texts, draw = [message["content"] for message in row["messages"]], (self.epoch, row.get("start", 0))
        tokens = 2 if self.speakers else 1
        return self.negatives.of_windows(row["id"], texts, speaker, self.window, self.triple, tokens, draw)

    def _needed(self, speaker: list[int]) -> Iterator[tuple[int, int]]:
        """Turn and column of every view that the windows of a conversation need."""
        befores = range(0, len(self.columns) - 1, 2)
        for start in range(len(speaker) - self.window + 1):
            turns = range(start, start + self.window)
            if self.triple:  # C3L: what precedes the last turn, paired with it
                pairs = [(turn, turns[-1]) for turn in turns[:-1]]
            else:  # CCL: the first turn, paired with what follows
                pairs = [(turns[0], turn) for turn in turns[1:]]
            if self.directional:
                pairs += [(turn, turns[0]) for turn in turns[1:]]
            for earlier, later in pairs:
                yield later, len(self.columns) - 1
                for column in befores:
                    yield earlier, column + int(speaker[earlier] != speaker[later])
