"""Whole conversations as token rows, exactly as the chat template of a saved conversation model renders them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Literal

from turnlens._compat import accept_messages
from turnlens._utils.progress import progress_of
from turnlens.data.messages import Messages
from turnlens.encoders.encoder import Encoder, as_conversational
from turnlens.encoders.tokenizing import cut_texts

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Keep = Literal["head", "tail", "both"]
Piece = tuple[int, list[int]]  # the number of a turn, and its token ids or some of them

# The templates themselves write the special tokens: a separator after every turn, or the turns as one plain text. Where
# a tokenizer has no classification token, they write none.
SEPARATED_TURNS = "{{ cls_token }}{% for message in messages %}{{ message['content'] }}{{ sep_token }}{% endfor %}"
PLAIN_TEXT = "{{ cls_token }}{% for message in messages %} {{ message['content'] }}{% endfor %}{{ sep_token }}"


def make_conversational(
    encoder: SentenceTransformer, max_length: int = 512, separate_turns: bool = True
) -> SentenceTransformer:
    """Let an encoder's own ``encode`` take conversations: lists of ``{"role", "content"}``.

    Args:
        encoder: An encoder with a ``[SEP]``-like token; changed in place.
        max_length: Longest conversation in tokens; no more than the transformer has positions for.
        separate_turns: Mark the end of every turn with the separator token; else the turns are one plain text.

    Raises:
        ValueError: The tokenizer has no such token.
    """
    tokenizer = encoder.tokenizer
    if tokenizer.sep_token is None:
        raise ValueError("conversation models need a tokenizer with a separator token")
    tokenizer.chat_template = SEPARATED_TURNS if separate_turns else PLAIN_TEXT
    accept_messages(encoder)
    encoder.max_seq_length = min(max_length, longest_row(as_conversational(encoder)))
    return encoder


def longest_row(encoder: Encoder) -> int:
    """The longest row the transformer has positions for, 512 at most."""
    return min(512, encoder.positions or 512)


@dataclass(frozen=True)
class TokenRows:
    """Token rows of conversations.

    Attributes:
        ids: The token ids of each row.
        speaker: The speaker of each token, numbered by first appearance in the conversation; -1 for tokens of no
            speaker (the classification token, the end of a plain text).
        turn: The turn of each token in the whole conversation; -1 for the same tokens.
    """

    ids: list[list[int]]
    speaker: list[list[int]]
    turn: list[list[int]]


class Renderer:
    """Turns conversations into token rows.

    Args:
        encoder: The encoder.
        max_length: Longest row in tokens. By default, this is the limit of a conversation model; for any other encoder
            it is the number of the transformer's positions, but no more than 512.
        keep: Which turns of a longer conversation to keep: from its ``"head"``, its ``"tail"``, or ``"both"`` ends in
            turn. Turns are kept whole, with one exception: in a conversation that does not fit, turns longer than half
            a row are cut to that length, so that two always fit.
    """

    def __init__(
        self, encoder: Encoder | SentenceTransformer, max_length: int | None = None, keep: Keep = "head"
    ) -> None:
        if keep not in ("head", "tail", "both"):
            raise ValueError(f"keep must be 'head', 'tail' or 'both', got {keep!r}")
        encoder = as_conversational(encoder)
        self._tokenizer = encoder.text_tokenizer
        template, separator = self._tokenizer.template, self._tokenizer.sep_id
        limit = longest_row(encoder)
        if template in (SEPARATED_TURNS, PLAIN_TEXT):
            limit = min(limit, encoder.max_seq_length or limit)
        self.max_length = min(max_length or limit, limit)
        if self.max_length < 5:
            raise ValueError(f"max_length must leave room for two turns, got {max_length}")
        self.keep = keep
        # A conversation model may mark the end of every turn; for any other encoder a conversation is one plain text.
        end = [] if separator is None else [separator]
        separated = template == SEPARATED_TURNS
        self._before_turn, self._after_turn, self._after_all = ("", end, []) if separated else (" ", [], end)
        self._before_all = [] if self._tokenizer.cls_id is None else [self._tokenizer.cls_id]
        self._half = (self.max_length - 1) // 2 - 1  # half a row, without a separator
        self._seen = self._cut_short = 0

    def rows(self, conversations: Sequence[Messages]) -> TokenRows:
        """Render each conversation as one row; turns that do not fit are left out."""
        return self.pack(conversations, [self._fitting(turns) for turns in self.tokenize(conversations)])

    def tokenize(self, conversations: Sequence[Messages], whole: bool = False) -> list[list[list[int]]]:
        """Token ids of every turn, followed by the separator if there is one; each distinct text tokenised once.

        Args:
            conversations: Lists of messages.
            whole: Read all of a long turn, as `windows` do, not only what fits a row.
        """
        texts = list(dict.fromkeys(message["content"] for messages in conversations for message in messages))
        rendered = [self._before_turn + text for text in texts]
        ids_of = self._tokenizer.ids
        ids = ids_of(cut_texts(ids_of, rendered, None if whole else self.max_length)) if texts else []
        of_text = {text: [*row, *self._after_turn] for text, row in zip(texts, ids)}
        return [[of_text[message["content"]] for message in messages] for messages in conversations]

    def fitting(self, tokens: Sequence[list[list[int]]]) -> list[list[Piece]]:
        """The turns of each tokenised conversation that fit a row, cut where needed; counts how many were cut."""
        self._seen += len(tokens)
        self._cut_short += sum(not self._fit(turns) for turns in tokens)
        return [self._fitting(turns) for turns in tokens]

    def windowed(self, conversations: Sequence[Messages], whole: bool) -> tuple[list[int], TokenRows]:
        """Render each conversation as one row, or all of it as one or more windows.

        Returns:
            The number of the conversation of each row, and the rows.
        """
        tokens = self.tokenize(conversations, whole)
        pieces = list(map(self.windows, tokens)) if whole else [[fitting] for fitting in self.fitting(tokens)]
        of_row = [number for number, own in enumerate(pieces) for _ in own]
        return of_row, self.pack([conversations[number] for number in of_row], list(chain.from_iterable(pieces)))

    def warn_of_cuts(self) -> bool:
        """Log how many conversations did not fit in ``fitting``, and return whether there were any."""
        if self._cut_short:
            logging.getLogger("turnlens").warning(
                "%d of %d conversations have more than %d tokens; only their turns at the %s are kept, and of a turn "
                "of more than half as many only its start",
                *(self._cut_short, self._seen, self.max_length),
                {"head": "start", "tail": "end", "both": "start and the end"}[self.keep],
            )
        return self._cut_short > 0

    def windows(self, turns: list[list[int]]) -> list[list[Piece]]:
        """Overlapping windows of a tokenised conversation; each fits a row and starts halfway into the previous one.

        They consist of whole turns, or of halves of a row where a turn is longer than that.
        """
        pieces = list(enumerate(turns)) if self._fit(turns) else self._halves(turns)
        windows, start = [], 0
        while True:
            window = self._taken(pieces[start:])
            windows.append(window)
            if start + len(window) >= len(pieces):
                return windows
            start += max(1, len(window) // 2)

    def pack(self, conversations: Sequence[Messages], chosen: Sequence[Sequence[Piece]]) -> TokenRows:
        """Make one row from the pieces chosen from each conversation."""
        ids: list[list[int]] = []
        speaker: list[list[int]] = []
        turn: list[list[int]] = []
        for messages, pieces in zip(conversations, chosen):
            names = list(dict.fromkeys(message["role"] for message in messages))
            row = list(self._before_all)
            speakers, turns = [-1] * len(row), [-1] * len(row)
            for number, tokens in pieces:
                row += tokens
                speakers += [names.index(messages[number]["role"])] * len(tokens)
                turns += [number] * len(tokens)
            nobody = [-1] * len(self._after_all)
            ids.append(row + self._after_all)
            speaker.append(speakers + nobody)
            turn.append(turns + nobody)
        return TokenRows(ids, speaker, turn)

    @property
    def _room(self) -> int:
        """Return the tokens of a row that are left for turns."""
        return self.max_length - len(self._before_all) - len(self._after_all)

    def _fit(self, turns: list[list[int]]) -> bool:
        return sum(map(len, turns)) <= self._room

    def _fitting(self, turns: list[list[int]]) -> list[Piece]:
        if self._fit(turns):
            return list(enumerate(turns))
        order = list(range(len(turns)))
        if self.keep == "tail":
            order.reverse()
        elif self.keep == "both":
            # The first two come before the last: neighbours have different speakers, but the two ends may have the
            # same.
            order = [*order[:2], *_from_both_ends(2, len(turns))]
        cut = [self._cut(ids) for ids in turns]
        return sorted(self._taken([(number, cut[number]) for number in order]))

    def _cut(self, turn: list[int]) -> list[int]:
        """The start of a turn, at most half a row."""
        whole = len(turn) - len(self._after_turn)
        return turn if whole <= self._half else [*turn[: self._half], *self._after_turn]

    def _halves(self, turns: list[list[int]]) -> list[Piece]:
        """All turns, longer ones in several pieces of half a row."""
        pieces = []
        for number, ids in enumerate(turns):
            while len(ids) - len(self._after_turn) > self._half:
                pieces.append((number, ids[: self._half]))
                ids = ids[self._half :]
            pieces.append((number, ids))
        return pieces

    def _taken(self, pieces: Sequence[Piece]) -> list[Piece]:
        """The first pieces that together fit a row; at least one."""
        taken, length = [], 0
        for number, ids in pieces:
            length += len(ids)
            if length > self._room:
                break
            taken.append((number, ids))
        return taken


def in_batches(
    conversations: Sequence[Messages], show_progress_bar: bool, size: int = 256
) -> Iterator[tuple[int, Sequence[Messages]]]:
    """Yield conversations in batches, each with the number of its first, and show the progress."""
    with progress_of("embedding conversations", len(conversations), visible=show_progress_bar) as advance:
        for start in range(0, len(conversations), size):
            batch = conversations[start : start + size]
            yield start, batch
            advance(len(batch))


def _from_both_ends(start: int, stop: int) -> list[int]:
    """The numbers from ``start`` to ``stop``: the last, the first, the last but one and so on."""
    count = max(0, stop - start)
    return [stop - 1 - place // 2 if place % 2 == 0 else start + place // 2 for place in range(count)]
