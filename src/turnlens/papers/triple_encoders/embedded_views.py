"""The utterances of embedded sequences in the views of their encoder."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from turnlens._utils.vectors import BoolArray, FloatArray, IntArray
from turnlens.evaluation.scoring import unit_rows
from turnlens.papers.next_message.sequences import Depth, EmbeddedSequences, all_turns, context_turns
from turnlens.papers.triple_encoders.views import View, view_prompt, views_of


class EmbeddedViews:
    """Utterances in views; a plain encoder gives one embedding whatever the view.

    Args:
        embedded: The sequences, which keep what is encoded.

    Attributes:
        triple: Whether the encoder is a triple-encoder.
    """

    def __init__(self, embedded: EmbeddedSequences) -> None:
        self.embedded = embedded
        views = views_of(embedded.encoder)
        self.plain = views is None
        self.triple = views is not None and views.triple

    def _prompt(self, view: View, same: bool) -> str | None:
        return None if self.plain else view_prompt(self.embedded.encoder, view, same)

    def prepare(self, view: View, text: IntArray, same: BoolArray | bool = True) -> None:
        """Encode what is missing, as much as possible at once. The arguments are those of ``rows``."""
        for relation in (True, False):
            self.embedded.prepare(text[np.broadcast_to(same, text.shape) == relation], self._prompt(view, relation))

    def rows(self, view: View, text: IntArray, same: BoolArray | bool = True) -> FloatArray:
        """Embeddings exactly as the encoder gives them.

        Args:
            view: The view.
            text: (…) indices of texts.
            same: (…) whether the text's speaker is that of the utterance it is paired with, or one value for all.

        Returns:
            (…, dim)
        """
        self.prepare(view, text, same)
        if self.plain:
            return self.embedded.rows(text)
        same = np.broadcast_to(same, text.shape)
        of_same = self.embedded.rows(text[same], self._prompt(view, True))
        of_others = self.embedded.rows(text[~same], self._prompt(view, False))
        rows = np.empty((*text.shape, max(of_same.shape[-1], of_others.shape[-1])), dtype=np.float32)
        for chosen, vectors in ((same, of_same), (~same, of_others)):
            if chosen.any():
                rows[chosen] = vectors
        return rows

    def prepare_depths(self, depths: Iterable[Depth], before1: bool) -> None:
        """Encode the contexts and candidates of all depths; with ``before1`` also in that view, if there is one."""
        text, same = all_turns(self.embedded.sequences, depths)
        self.prepare("before", text, same)
        if before1 and self.triple:
            self.prepare("before1", text, same)
        self.prepare("after", np.concatenate([depth.candidates for depth in depths]))

    def contexts(self, conversations: IntArray, turn: int) -> tuple[FloatArray, FloatArray]:
        """The context of the utterances at ``turn``, as before1 and before2: each (conversations, turn, dim).

        An encoder with one before-view, or with none at all, gives the same for both.
        """
        text, same = context_turns(self.embedded.sequences, conversations, turn)
        before2 = self.rows("before", text, same)
        return (self.rows("before1", text, same) if self.triple else before2), before2

    def after_units(self, text: IntArray) -> FloatArray:
        """The after-embeddings of texts, of length 1: (texts, dim)."""
        return unit_rows(self.rows("after", text), [self.embedded.sequences.texts[index] for index in text])
