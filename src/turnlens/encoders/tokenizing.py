"""The token ids of texts, from the tokenizer of an encoder with torch or without."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer

from turnlens._utils.text_values import HALF_OF_A_PAIR

TOKENIZING = threading.Lock()  # using a tokenizer of transformers changes it, so only one thread may
_CHARACTERS_PER_TOKEN = 8  # most texts have fewer
# The tokens next to a cut may differ from those of the whole text: at most about a hundred, since a word of more than a
# hundred characters is one unknown token, and its beginning may be many.
_MARGIN = 128
Ids = Callable[[list[str]], list[list[int]]]


def cut_texts(ids: Ids, texts: Sequence[str], tokens: int | None, newest: bool = False) -> list[str]:
    """Each text without what lies beyond the tokens that are read, since a tokenizer reads all of a text.

    The tokens that are read stay the same. A text with few tokens for its length, such as one long word, stays whole.

    Args:
        ids: Gives the token ids of texts.
        texts: The texts.
        tokens: How many tokens of each are read; ``None`` for all.
        newest: The last tokens are read, not the first.
    """
    texts = list(texts)
    if tokens is None:
        return texts
    wanted = tokens + _MARGIN
    length = _CHARACTERS_PER_TOKEN * wanted
    long = [place for place, text in enumerate(texts) if len(text) > length]
    while long:
        cut = [texts[place][-length:] if newest else texts[place][:length] for place in long]
        enough = [len(row) >= wanted for row in ids(cut)]
        for place, text, is_enough in zip(long, cut, enough):
            texts[place] = text if is_enough else texts[place]
        length *= 4
        long = [place for place, is_enough in zip(long, enough) if not is_enough and len(texts[place]) > length]
    return texts


@dataclass(frozen=True)
class TextTokenizer:
    """A tokenizer that nothing changes, so that threads may share it.

    Attributes:
        ids: Gives the token ids of texts, all of them and without special tokens.
        before: The special tokens before a text.
        after: Those after it.
        limit: How many tokens of a text are read, with special ones; ``None`` for all.
        cls_id: The classification token; ``None`` if there is none, as of those below.
        sep_id: The separator token.
        sep_token: Its text.
        template: The chat template of a conversation model.
    """

    ids: Ids
    before: list[int]
    after: list[int]
    limit: int | None
    cls_id: int | None
    sep_id: int | None
    sep_token: str | None
    template: str | None

    def rows(self, texts: Sequence[str], prompt: str = "", newest: bool = False) -> list[list[int]]:
        """The token ids of each text as an encoder reads them: after the prompt, between special tokens, and cut.

        Args:
            texts: The texts.
            prompt: What to put before each text.
            newest: Leave out the first words of a text beyond the limit, not the last.
        """
        read = self._read([prompt + text for text in texts], newest)
        if newest and self.template is not None and self.limit is not None:
            # Their trainers cut the whole row, with the first of its special tokens.
            whole = [[*self.before, *ids, *self.after] for ids in read]
            return [row[max(0, len(row) - self.limit) :] for row in whole]
        room = None if self.limit is None else max(0, self.limit - len(self.before) - len(self.after))
        if newest and room is not None:
            read = [ids[max(0, len(ids) - room) :] for ids in read]
        return [[*self.before, *ids[:room], *self.after] for ids in read]

    def counts(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens that are read of each text, without special ones."""
        return [len(ids) if self.limit is None else min(len(ids), self.limit) for ids in self._read(texts)]

    def _read(self, texts: Sequence[str], newest: bool = False) -> list[list[int]]:
        texts = [text if text.isascii() else HALF_OF_A_PAIR.sub("\ufffd", text) for text in texts]
        return self.ids(cut_texts(self.ids, texts, self.limit, newest))


def file_tokenizer(tokenizer: Tokenizer, settings: Mapping[str, Any], limit: int | None) -> TextTokenizer:
    """The tokenizer of a ``tokenizer.json``.

    Args:
        tokenizer: As it was read.
        settings: What is in the ``tokenizer_config.json``.
        limit: How many tokens of a text are read.
    """
    tokenizer.no_padding()
    tokenizer.no_truncation()
    special = {name: _text(settings.get(f"{name}_token")) for name in ("cls", "sep")}
    number = {name: tokenizer.token_to_id(token) if token else None for name, token in special.items()}

    probe = tokenizer.encode("a")
    before, after = _around(probe.ids, probe.special_tokens_mask)
    template = settings.get("chat_template")
    found = number["cls"], number["sep"]
    return TextTokenizer(_ids_by(tokenizer), before, after, limit, *found, special["sep"], template)


def transformers_tokenizer(tokenizer: Any, limit: int | None) -> TextTokenizer:
    """A tokenizer of transformers, as it is now, or of a static encoder."""
    if isinstance(tokenizer, Tokenizer):
        return TextTokenizer(_ids_by(tokenizer), [], [], None, None, None, None, None)
    with TOKENIZING:
        probe = tokenizer("a", return_special_tokens_mask=True)
    before, after = _around(probe["input_ids"], probe["special_tokens_mask"])
    special = tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.sep_token, tokenizer.chat_template
    return TextTokenizer(transformers_ids(tokenizer), before, after, limit, *special)


def transformers_ids(tokenizer: Any) -> Ids:
    """All token ids of texts from a tokenizer of transformers, without special ones."""

    def ids(texts: list[str]) -> list[list[int]]:
        # Not verbose: texts that are too long are cut later.
        with TOKENIZING:
            found: list[list[int]] = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
        return found

    return ids


def truncated_ids(tokenizer: Any, texts: Sequence[str], limit: int) -> list[list[int]]:
    """The token ids of texts with special ones, cut at a limit by a tokenizer of transformers."""
    found: list[list[int]] = tokenizer(cut_for(tokenizer, texts, limit), truncation=True, max_length=limit)["input_ids"]
    return found


def cut_for(tokenizer: Any, texts: Sequence[str], limit: int) -> list[str]:
    """Cut texts for a tokenizer of transformers that will cut their tokens at a limit."""
    return cut_texts(transformers_ids(tokenizer), texts, limit, tokenizer.truncation_side == "left")


def lasting_settings(tokenizer: str | bytes) -> dict[str, Any]:
    """The contents of a ``tokenizer.json``, but for what the last call left in it."""
    return {name: value for name, value in json.loads(tokenizer).items() if name not in ("truncation", "padding")}


def _ids_by(tokenizer: Tokenizer) -> Ids:
    return lambda texts: [row.ids for row in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]


def _around(ids: Sequence[int], special: Sequence[int]) -> tuple[list[int], list[int]]:
    """The special tokens before and after those of a text."""
    inside = [place for place, is_special in enumerate(special) if not is_special] or [len(ids)]
    return list(ids[: inside[0]]), list(ids[inside[-1] + 1 :])


def _text(token: Any) -> str | None:
    """A special token, which older files describe by its settings."""
    return token.get("content") if isinstance(token, dict) else token
