"""The token ids of texts, from the tokenizer of an encoder with torch or without."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer

TOKENIZING = threading.Lock()  # using a tokenizer of transformers changes it, so only one thread may


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

    ids: Callable[[list[str]], list[list[int]]]
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
        if newest and self.template is not None and self.limit is not None:
            # Their trainers cut the whole row, with the first of its special tokens.
            whole = [[*self.before, *ids, *self.after] for ids in self.ids([prompt + text for text in texts])]
            return [row[max(0, len(row) - self.limit) :] for row in whole]
        room = None if self.limit is None else max(0, self.limit - len(self.before) - len(self.after))
        kept = slice(None, room)
        rows = []
        for ids in self.ids([prompt + text for text in texts]):
            if room is not None and newest:
                kept = slice(max(0, len(ids) - room), None)
            rows.append([*self.before, *ids[kept], *self.after])
        return rows

    def counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens are read of each text, without special ones."""
        return [len(ids) if self.limit is None else min(len(ids), self.limit) for ids in self.ids(list(texts))]


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

    def ids(texts: list[str]) -> list[list[int]]:
        # Not verbose: texts that are too long are cut later.
        with TOKENIZING:
            found: list[list[int]] = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
        return found

    with TOKENIZING:
        probe = tokenizer("a", return_special_tokens_mask=True)
    before, after = _around(probe["input_ids"], probe["special_tokens_mask"])
    special = tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.sep_token, tokenizer.chat_template
    return TextTokenizer(ids, before, after, limit, *special)


def lasting_settings(tokenizer: str | bytes) -> dict[str, Any]:
    """What a ``tokenizer.json`` says, but for what the last call left in it."""
    return {name: value for name, value in json.loads(tokenizer).items() if name not in ("truncation", "padding")}


def _ids_by(tokenizer: Tokenizer) -> Callable[[list[str]], list[list[int]]]:
    return lambda texts: [row.ids for row in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]


def _around(ids: Sequence[int], special: Sequence[int]) -> tuple[list[int], list[int]]:
    """The special tokens before and after those of a text."""
    inside = [place for place, is_special in enumerate(special) if not is_special] or [len(ids)]
    return list(ids[: inside[0]]), list(ids[inside[-1] + 1 :])


def _text(token: Any) -> str | None:
    """A special token, which older files describe by its settings."""
    return token.get("content") if isinstance(token, dict) else token
