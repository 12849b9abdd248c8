"""Views of an utterance: before or after another one, marked by the prefix tokens of CCL and C3L.

A view is an ordinary prompt of sentence-transformers, stored with the model, so that a stock
``encode(texts, prompt_name="after")`` needs no turnlens. ``_same`` and ``_other`` at the end of a prompt's name say
whether the utterance's speaker is that of the after-text it is paired with.

Erker et al., Imagination is All You Need!, Findings of ACL 2023, and Triple-Encoders, ACL 2024.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling

from turnlens.encoders.messages import encode_messages
from turnlens.encoders.transformer import transformer_of

View = Literal["before", "before1", "before2", "after"]
TokenOrder = Literal["turnlens", "published"]

TOKENS = ("[BEFORE]", "[AFTER]", "[B1]", "[B2]", "[E]", "[O]")
_PLACE = {"before": "", "before1": "[B1] ", "before2": "[B2] "}
_SPEAKER = {"_same": "[E] ", "_other": "[O] "}
_AFTER = "[AFTER] "
_ALL_NAMES = {"after", *(f"{view}{end}" for view in _PLACE for end in ("", *_SPEAKER))}


def _before_prompt(place: str, speaker: str, order: TokenOrder) -> str:
    """``[BEFORE] [B1] [E] `` or, in the order of the authors' code, ``[B1] [E] [BEFORE] ``."""
    return f"[BEFORE] {place}{speaker}" if order == "turnlens" else f"{place}{speaker}[BEFORE] "


@dataclass(frozen=True)
class Views:
    """The abilities of an encoder with views.

    Attributes:
        triple: It has the two before-views of a triple-encoder.
        speakers: Its before-views distinguish the speakers.
        token_order: ``"turnlens"``, such as ``[BEFORE] [B1] [E]``, or ``"published"``, such as ``[B1] [E] [BEFORE]``.
    """

    triple: bool
    speakers: bool
    token_order: TokenOrder = "turnlens"


def add_views(
    encoder: SentenceTransformer,
    views: Literal["ccl", "c3l"],
    speakers: bool = True,
    token_order: TokenOrder | None = None,
) -> SentenceTransformer:
    """Give an encoder the prefix tokens and the prompts of CCL or C3L.

    Tokens that the encoder already has keep their embeddings, so C3L can follow CCL.

    Args:
        encoder: The encoder; changed in place.
        views: ``"ccl"``, one before-view; ``"c3l"``, two.
        speakers: Whether the before-views distinguish the speakers.
        token_order: See `Views`; by default the order of the views that the encoder already has, else ``"turnlens"``.

    Raises:
        ValueError: Unknown views.
    """
    if views not in ("ccl", "c3l"):
        raise ValueError(f"views must be 'ccl' or 'c3l', got {views!r}")
    present = views_of(encoder)
    _add_tokens(encoder)
    _set_prompts(
        encoder, Views(views == "c3l", speakers, token_order or (present.token_order if present else "turnlens"))
    )
    return encoder


def views_of(encoder: SentenceTransformer) -> Views | None:
    """The views of an encoder; ``None`` for a plain one.

    A published checkpoint has the prefix tokens, but no prompts. It is given those of its authors, with a warning.
    """
    for before, triple in (("before2", True), ("before", False)):
        for end in ("_same", ""):
            prompt = encoder.prompts.get(f"{before}{end}")
            if prompt is not None and "after" in encoder.prompts:
                return Views(triple, bool(end), "turnlens" if prompt.startswith("[BEFORE]") else "published")
    return _published_views(encoder)


def _published_views(encoder: SentenceTransformer) -> Views | None:
    """Recognise a published checkpoint by its tokens, and give it prompts."""
    tokenizer = getattr(encoder, "tokenizer", None)
    added = getattr(tokenizer, "added_tokens_encoder", {})
    if not {"[BEFORE]", "[AFTER]"} <= added.keys():
        return None
    views = Views({"[B1]", "[B2]"} <= added.keys(), {"[E]", "[O]"} <= added.keys(), "published")
    _set_prompts(encoder, views)
    logging.getLogger("turnlens").warning(
        "the encoder has the tokens of %s, but no prompts: taken for a published checkpoint, whose texts begin with %s",
        "C3L" if views.triple else "CCL",
        "the tokens in the order of its authors' code, such as "
        + str(encoder.prompts[view_prompt(encoder, "before", same=True)]).strip(),
    )
    return views_of(encoder)


def _set_prompts(encoder: SentenceTransformer, views: Views) -> None:
    for module in encoder.children():
        if isinstance(module, Pooling):
            module.include_prompt = True  # training pools the prefix too
    before = ("before1", "before2") if views.triple else ("before",)
    endings = _SPEAKER if views.speakers else {"": ""}
    prompts = {
        f"{view}{end}": _before_prompt(_PLACE[view], token, views.token_order)
        for view in before
        for end, token in endings.items()
    }
    others = {name: text for name, text in encoder.prompts.items() if name not in _ALL_NAMES}
    encoder.prompts = {**others, **prompts, "after": _AFTER}


def view_prompt(encoder: SentenceTransformer, view: View, same: bool) -> str:
    """The name of the prompt of a view.

    Args:
        encoder: A turn-order encoder.
        view: The view; ``"before"`` of a triple-encoder is its ``"before2"``.
        same: Whether the utterance's speaker is that of the after-text it is paired with.

    Raises:
        ValueError: The encoder has no such view.
    """
    views = views_of(encoder)
    name: str = view
    if views is not None and view != "after":
        if view == "before" and views.triple:
            name = "before2"
        if views.speakers:
            name += "_same" if same else "_other"
    if views is None or name not in encoder.prompts:
        raise ValueError(f"this encoder has no view {view!r}, only the prompts {', '.join(encoder.prompts) or 'none'}")
    return name


def token_rows(encoder: SentenceTransformer) -> list[int]:
    """The rows of the word embeddings that hold the prefix tokens, for an encoder with views."""
    vocabulary = encoder.tokenizer.get_vocab()
    return [vocabulary[token] for token in TOKENS]


def encode_view(
    encoder: SentenceTransformer,
    texts: Sequence[str],
    view: View,
    same: bool = True,
    batch_size: int | None = None,
    show_progress_bar: bool = False,
) -> np.ndarray:
    """Embed texts in a view, each distinct text once; a plain encoder embeds them as they are, whatever the view.

    Args:
        encoder: The encoder.
        texts: The utterances.
        view: See `view_prompt`.
        same: See `view_prompt`.
        batch_size: At most this many texts in a forward pass; by default as many as suit the device.
        show_progress_bar: Show a progress bar.

    Returns:
        What the stock ``encode`` gives, float32 (len(texts), dim).

    Raises:
        ValueError: The encoder has views, but not this one.
    """
    name = view_prompt(encoder, view, same) if views_of(encoder) is not None else None
    return encode_messages(encoder, texts, batch_size, show_progress_bar, prompt_name=name)


def _add_tokens(encoder: SentenceTransformer) -> None:
    """Add the tokens that the tokenizer lacks, with embeddings that hardly change a text's own.

    They start as copies of the full stop, with some noise that makes them different. Of all tokens tried, the full stop
    disturbs embeddings and their neighbours least; docs/research-log/turn-order.md has the measurements.
    """
    tokenizer, transformer = encoder.tokenizer, transformer_of(encoder)
    new = [token for token in TOKENS if token not in tokenizer.get_vocab()]
    if not new:
        return
    like = tokenizer.get_vocab().get(".", tokenizer.sep_token_id)
    taken = set(tokenizer.get_vocab().values())
    tokenizer.add_tokens(new, special_tokens=True)
    rows = tokenizer.convert_tokens_to_ids(new)
    if taken.intersection(rows):
        raise ValueError(
            f"the tokenizer's ids have gaps, so that {' '.join(new)} would get ids that other tokens have: expected a "
            "tokenizer whose ids count from 0; save the encoder with such a one"
        )
    size = len(transformer.get_input_embeddings().weight)
    transformer.resize_token_embeddings(max(size, max(rows) + 1), mean_resizing=False)
    weight = transformer.get_input_embeddings().weight
    noise = torch.randn(len(new), weight.shape[1], generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        spread = weight[:size].std(0)
        weight[rows] = weight[like] + 0.1 * spread * noise.to(weight)
