"""Cutting texts that are too long for an encoder before they are tokenized, since a tokenizer reads all of a text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from turnlens.encoders.encoder import Encoder
from turnlens.encoders.rendering import longest_row

CHARACTERS_PER_TOKEN = 8  # most texts have fewer
_WHITE_SPACE = " \t\n\r"  # for every tokenizer
# A sign just before the cut and the line breaks after it may be a single token. So the last tokens are not relied on.
_MARGIN = 8


def tokens_read(encoder: Encoder) -> int | None:
    """Return the most tokens of a text that are read, as a message or in a conversation; ``None`` for no limit."""
    if encoder.width is None or encoder.max_seq_length is None:
        return None
    return max(int(encoder.max_seq_length), longest_row(encoder))


def counted_by(encoder: Encoder) -> Callable[[str], int]:
    """Counts the tokens of a text."""
    tokenizer = encoder.text_tokenizer
    return lambda text: len(tokenizer.ids([text])[0])


def start_of(text: str, tokens: int, count: Callable[[str], int], longest: int | None = None) -> str | None:
    """The start of a text, cut at white space if the text has more tokens than are read; a short text stays whole.

    No token spans white space, so the first tokens of the start are also the first tokens of the text.

    Args:
        text: The text.
        tokens: How many of its tokens are read.
        count: Counts the tokens of a text.
        longest: Look at no more than this many characters; by default at all.

    Returns:
        The start; ``None`` if the characters that may be looked at hold too few tokens to decide.
    """
    longest = len(text) if longest is None else longest
    length = CHARACTERS_PER_TOKEN * tokens
    while length < len(text) and length <= longest:
        cut = max(text.rfind(space, 0, length) for space in _WHITE_SPACE)
        start = text[: max(cut, 0)].rstrip(_WHITE_SPACE)
        if start and count(start) >= tokens + _MARGIN:
            return start
        length *= 4
    return text if len(text) <= longest else None


def starts_of(encoder: Encoder, texts: Sequence[str]) -> list[str]:
    """The part of each text that an encoder reads."""
    tokens = tokens_read(encoder)
    if tokens is None:
        return list(texts)
    count = counted_by(encoder)
    return [start_of(text, tokens, count) or text for text in texts]
