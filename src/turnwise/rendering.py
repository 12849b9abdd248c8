"""Whole conversations as token rows, exactly as the chat template of a saved dialogue model renders them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from turnwise.encoder import positions, transformer_of

Keep = Literal["head", "tail", "both"]
Messages = Sequence[dict[str, Any]]

# The templates themselves write the special tokens: the separator after every turn, or the turns as one plain text.
SEPARATED_TURNS = "{{ cls_token }}{% for message in messages %}{{ message['content'] }}{{ sep_token }}{% endfor %}"
PLAIN_TEXT = "{{ cls_token }}{% for message in messages %} {{ message['content'] }}{% endfor %}{{ sep_token }}"


def make_conversational(
    encoder: SentenceTransformer, max_length: int = 512, separate_turns: bool = True
) -> SentenceTransformer:
    """Let an encoder's own ``encode`` take conversations: lists of ``{"role", "content"}``.

    Args:
        encoder: An encoder with a ``[CLS]``- and ``[SEP]``-like token; changed in place.
        max_length: Longest conversation in tokens; at most what the transformer has positions for.
        separate_turns: Mark the end of every turn with the separator token; else the turns are one plain text.

    Raises:
        ValueError: The tokenizer has no such tokens.
    """
    tokenizer = encoder.tokenizer
    if tokenizer.cls_token is None or tokenizer.sep_token is None:
        raise ValueError("dialogue models need a tokenizer with a classification and a separator token")
    transformer: Any = encoder[0]
    tokenizer.chat_template = SEPARATED_TURNS if separate_turns else PLAIN_TEXT
    # A new dictionary: the old one is shared by all encoders of this architecture.
    transformer.modality_config = {
        **transformer.modality_config,
        "message": {**transformer.modality_config["text"], "format": "flat"},
    }
    transformer.input_formatter.message_format = "flat"
    transformer.input_formatter.supported_modalities = list(transformer.modality_config)
    encoder.max_seq_length = min(max_length, _positions(encoder))
    return encoder


def _positions(encoder: SentenceTransformer) -> int:
    """The longest row the transformer has positions for, 512 at most."""
    return min(512, positions(transformer_of(encoder)) or 512)


@dataclass(frozen=True)
class Rows:
    """Token rows of conversations.

    Attributes:
        input_ids: Token ids (rows, length).
        attention_mask: 1 for tokens, 0 for padding (rows, length).
        speaker: Speaker of each token, numbered by first appearance in the conversation; -1 for tokens of nobody (the
            classification token, the end of a plain text) and padding (rows, length).
        turn: Turn of each token in the whole conversation; -1 likewise (rows, length).
    """

    input_ids: Tensor
    attention_mask: Tensor
    speaker: Tensor
    turn: Tensor

    def as_dict(self) -> dict[str, Tensor]:
        names = ("input_ids", "attention_mask", "speaker", "turn")
        return {name: getattr(self, name) for name in names}


class Renderer:
    """Turns conversations into token rows.

    Args:
        encoder: The encoder.
        max_length: Longest row in tokens; by default what the transformer has positions for, 512 at most.
        keep: Which turns of a longer conversation: from its ``"head"``, its ``"tail"``, or ``"both"`` ends in turn.
            Whole turns are kept; only a turn longer than half a row is itself cut, so that two always fit.
    """

    def __init__(self, encoder: SentenceTransformer, max_length: int | None = None, keep: Keep = "head") -> None:
        if keep not in ("head", "tail", "both"):
            raise ValueError(f"keep must be 'head', 'tail' or 'both', got {keep!r}")
        self.tokenizer = encoder.tokenizer
        limit = _positions(encoder)
        self.max_length = min(max_length or limit, limit)
        if self.max_length < 5:
            raise ValueError(f"max_length must leave room for two turns, got {max_length}")
        self.keep = keep
        # A dialogue model may mark the end of every turn; for any other encoder a conversation is one plain text.
        end = [self.tokenizer.sep_token_id] if self.tokenizer.sep_token_id is not None else []
        separated = getattr(self.tokenizer, "chat_template", None) == SEPARATED_TURNS
        self._before_turn, self._after_turn, self._after_all = ("", end, []) if separated else (" ", [], end)
        self._has_warned = False

    def rows(self, conversations: Sequence[Messages]) -> Rows:
        """Render each conversation as one row; turns that do not fit are left out."""
        tokens = self.tokenize(conversations)
        return self.pack(conversations, tokens, [self._fitting(turns) for turns in tokens])

    def fitting(self, tokens: list[list[list[int]]]) -> list[list[int]]:
        """The numbers of the turns of each tokenised conversation that fit a row; warns of those that do not fit."""
        fitting = [self._fitting(turns) for turns in tokens]
        cut = sum(len(numbers) < len(turns) for numbers, turns in zip(fitting, tokens))
        if cut and not self._has_warned:
            self._has_warned = True
            logging.getLogger("turnwise").warning(
                "%d of %d conversations have more than %d tokens; of those and of further ones only turns at the %s "
                "are kept",
                *(cut, len(tokens), self.max_length),
                {"head": "start", "tail": "end", "both": "start and the end"}[self.keep],
            )
        return fitting

    def tokenize(self, conversations: Sequence[Messages]) -> list[list[list[int]]]:
        """Token ids of every turn, with the separator after it if there is one; each distinct text tokenised once."""
        texts = list(dict.fromkeys(message["content"] for messages in conversations for message in messages))
        rendered = [self._before_turn + text for text in texts]
        ids = self.tokenizer(rendered, add_special_tokens=False, truncation=False)["input_ids"] if texts else []
        longest = (self.max_length - 1) // 2 - 1
        of_text = {text: [*row[:longest], *self._after_turn] for text, row in zip(texts, ids)}
        return [[of_text[message["content"]] for message in messages] for messages in conversations]

    def pack(
        self, conversations: Sequence[Messages], tokens: list[list[list[int]]], chosen: Sequence[Sequence[int]]
    ) -> Rows:
        """Rows of the chosen turns of each conversation."""
        ids, speaker, turn = [], [], []
        for messages, turns, numbers in zip(conversations, tokens, chosen):
            names = list(dict.fromkeys(message["role"] for message in messages))
            row, who, when = [self.tokenizer.cls_token_id], [-1], [-1]
            for number in numbers:
                row += turns[number]
                who += [names.index(messages[number]["role"])] * len(turns[number])
                when += [number] * len(turns[number])
            nobody = [-1] * len(self._after_all)
            ids.append(torch.tensor(row + self._after_all))
            speaker.append(torch.tensor(who + nobody))
            turn.append(torch.tensor(when + nobody))
        return Rows(
            pad_sequence(ids, batch_first=True, padding_value=self.tokenizer.pad_token_id),
            pad_sequence([torch.ones_like(row) for row in ids], batch_first=True),
            pad_sequence(speaker, batch_first=True, padding_value=-1),
            pad_sequence(turn, batch_first=True, padding_value=-1),
        )

    def windows(self, turns: list[list[int]]) -> list[list[int]]:
        """Overlapping windows of whole turns that each fit a row; each starts halfway into the one before."""
        found, start = [], 0
        while True:
            window = self._taken(turns, range(start, len(turns)))
            found.append(window)
            if window[-1] + 1 >= len(turns):
                return found
            start = max(start + 1, window[len(window) // 2])

    def _fitting(self, turns: list[list[int]]) -> list[int]:
        count = len(turns)
        if self.keep == "tail":
            order = list(range(count - 1, -1, -1))
        elif self.keep == "both":
            order = [turn // 2 if turn % 2 == 0 else count - 1 - turn // 2 for turn in range(count)]
        else:
            order = list(range(count))
        return sorted(self._taken(turns, order))

    def _taken(self, turns: list[list[int]], order: Sequence[int]) -> list[int]:
        """The turns, in that order, that fit; one at least."""
        taken, length = [], 1 + len(self._after_all)
        for number in order:
            length += len(turns[number])
            if length > self.max_length:
                break
            taken.append(number)
        return taken
