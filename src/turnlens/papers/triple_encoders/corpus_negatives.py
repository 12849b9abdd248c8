"""Random negatives of CCL and C3L from the whole corpus, by the scheme of the authors' code."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from turnlens.papers.utterance_pool import UtterancePool

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
