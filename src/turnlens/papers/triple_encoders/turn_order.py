"""The common part of CCL and C3L: windows, cosines from one Gram matrix, random negatives and the mean squared error.

The vectors of a batch enter only by their inner products. The cosine of the mean of two vectors with a third is

    (b1·a + b2·a) / (|b1 + b2| |a|),   |b1 + b2|² = |b1|² + |b2|² + 2 b1·b2,

so every pair and triple, random ones included, is looked up in one Gram matrix, and no vector is copied.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize
from torch import Tensor, nn
from typing_extensions import override

from turnlens._utils.arguments import Settings
from turnlens.encoders.forward import encode_sliced, full_precision, sliced_means, take
from turnlens.papers.triple_encoders.views import views_of
from turnlens.training.losses.base import ConversationLoss
from turnlens.training.losses.in_batch import Negatives, check_negatives, process_mean

_TINY = 1e-12
# Positions times options that "batch" may take in a step: three times those of a default batch of task dialogues.
_MOST_OPTIONS = 2**20


@dataclass(frozen=True)
class TurnOrderSettings(Settings):
    """Settings that CCL and C3L share.

    Attributes:
        window: w, the number of consecutive utterances in a window.
        negatives: The number of random negatives of each position (the paper: 1), or ``"batch"`` for all in the batch.
            In large batches they come from a random part of the turns, see `negative_turns`. Negatives are averaged,
            so that positives and negatives keep their balance.
    """

    smallest_window: ClassVar[int] = 2

    window: int = 5
    negatives: Negatives = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window < self.smallest_window:
            raise ValueError(f"window must be at least {self.smallest_window} utterances, got {self.window!r}")
        check_negatives(self.negatives)


def embed(model: nn.Module, features: dict[str, Tensor]) -> Tensor:
    """The encoder's own sentence embeddings of a batch (rows, dim), normalised if the encoder does that."""
    embeddings = sliced_means(encode_sliced(model, features["input_ids"], features["attention_mask"]))
    if any(isinstance(module, Normalize) for module in getattr(model, "module", model).children()):
        embeddings = nn.functional.normalize(embeddings, dim=1)
    return embeddings


def gram_matrix(embeddings: Tensor) -> Tensor:
    """The inner products of all rows (rows, dim) with each other (rows, rows)."""
    with full_precision(embeddings.device):
        return embeddings @ embeddings.T


def pair_cosine(gram: Tensor, before: Tensor, after: Tensor) -> Tensor:
    """Cosines of rows with rows; the row numbers broadcast, and so does the result."""
    squares = gram.diagonal()
    norms = (take(squares, before) * take(squares, after)).clamp(min=_TINY).sqrt()
    return _products(gram, before, after) / norms


def triple_cosine(gram: Tensor, first: Tensor, second: Tensor, after: Tensor) -> Tensor:
    """Cosines of the mean of two rows with a third; the row numbers broadcast, and so does the result."""
    squares = gram.diagonal()
    both = take(squares, first) + take(squares, second) + 2 * _products(gram, first, second)
    norms = (both.clamp(min=_TINY) * take(squares, after)).clamp(min=_TINY).sqrt()
    return (_products(gram, first, after) + _products(gram, second, after)) / norms


def _products(gram: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Inner products of rows with rows."""
    return take(gram.flatten(), left * len(gram) + right)


@dataclass(frozen=True)
class Windows:
    """All windows of consecutive turns of the conversations of a batch.

    Attributes:
        turns: Indices of the turns of each window (windows, window).
        foreign: Whether the text of a turn occurs nowhere in a window's conversation (windows, turns).
        speaker: The speaker of each turn (turns,).
        rows: The row of each turn in each view, -1 where there is none (turns, columns).
        negatives: Rows of random negatives from the corpus, see the collator (windows, window - 1, negatives, 2);
            ``None`` if they are to be taken from the batch.
    """

    turns: Tensor
    foreign: Tensor
    speaker: Tensor
    rows: Tensor
    negatives: Tensor | None = None

    @classmethod
    def of(cls, window: int, features: dict[str, Tensor]) -> Windows:
        """The windows of the features of a `turnlens.papers.TurnOrderCollator`."""
        conversation, speaker, rows = features["conversation"], features["speaker"], features["rows"]
        numbers = torch.arange(len(conversation), device=conversation.device)
        turns = numbers.unfold(0, window, 1) if len(numbers) >= window else numbers.new_zeros(0, window)
        turns = turns[conversation[turns[:, 0]] == conversation[turns[:, -1]]]  # (windows, window)
        _, text = features["text_key"].unique(return_inverse=True)
        occurs = torch.zeros(int(conversation.max()) + 1, int(text.max()) + 1, dtype=torch.bool, device=text.device)
        occurs[conversation, text] = True
        foreign = ~occurs[conversation[turns[:, 0]]][:, text]
        return cls(turns, foreign, speaker, rows, features.get("negatives"))

    def before(self, turns: Tensor, column: int, paired_with: Tensor) -> Tensor:
        """Rows of turns in a before-view; the turns' numbers broadcast.

        The view is ``column`` if the speaker is that of the turns they are paired with, else the column after it.
        """
        return self._there(self.rows[turns, column + (self.speaker[turns] != self.speaker[paired_with]).long()])

    def after(self, turns: Tensor) -> Tensor:
        """Rows of turns in the after-view, the last column."""
        return self._there(self.rows[turns, -1])

    def _there(self, rows: Tensor) -> Tensor:
        if (rows < 0).any():
            raise ValueError("the batch lacks views that the loss needs: give the collator its window and directional")
        return rows


def negative_turns(windows: Windows, per_turn: int = 1) -> Tensor:
    """The turns that random negatives are drawn from: all of a batch, or in large batches a random part that fits.

    Every position of every window is compared with every turn, which is quadratic in the turns of a batch. All windows
    share the same random turns, so that time and memory are bounded.

    Args:
        windows: The windows.
        per_turn: Options that a turn gives a position.

    Returns:
        Numbers of turns.
    """
    count, (number, length) = len(windows.rows), windows.turns.shape
    most = max(1, _MOST_OPTIONS // max(1, number * (length - 1) * per_turn))
    if count <= most:
        return torch.arange(count, device=windows.rows.device)
    return torch.randperm(count, device=windows.rows.device)[:most].sort().values


def draw(allowed: Tensor, negatives: Negatives) -> tuple[Tensor, Tensor]:
    """Choose random negatives.

    Args:
        allowed: What may be chosen (…, options).
        negatives: ``"batch"``, everything allowed; or this many at most.

    Returns:
        Indices of options in random order, and their weights, which add up to 1, or to 0 where nothing is allowed; both
        (…, chosen).
    """
    most = int(allowed.sum(-1).max()) if allowed.numel() else 0
    lottery = torch.rand(allowed.shape, device=allowed.device).masked_fill(~allowed, -1)
    chosen = lottery.topk(most if negatives == "batch" else min(negatives, most)).indices
    is_allowed = allowed.gather(-1, chosen).float()
    return chosen, is_allowed / is_allowed.sum(-1, keepdim=True).clamp(min=1)


def mean_squared_error(terms: list[tuple[Tensor, Tensor | float, Tensor | float]]) -> Tensor:
    """The weighted mean squared error over the batches of all processes, see `process_mean`.

    Args:
        terms: Cosines, their targets and their weights, which broadcast.
    """
    errors = torch.stack([((cosine - target) ** 2 * weight).sum() for cosine, target, weight in terms])
    weights = [torch.as_tensor(weight, device=cosine.device).expand_as(cosine).sum() for cosine, _, weight in terms]
    return process_mean(errors.sum(), float(sum(weights)))


TurnOrderSettingsT = TypeVar("TurnOrderSettingsT", bound=TurnOrderSettings)


class WindowLoss(ConversationLoss[TurnOrderSettingsT]):
    """A loss on the windows of a batch, each row of which is encoded once.

    Attributes:
        views: The views that the encoder must have.
    """

    views: ClassVar[Literal["ccl", "c3l"]]

    def __init__(self, model: nn.Module, settings: TurnOrderSettingsT) -> None:
        super().__init__(model, settings)
        found = views_of(model) if isinstance(model, SentenceTransformer) else None
        if found is not None and found.triple != (self.views == "c3l"):
            other = "ccl" if self.views == "c3l" else "c3l"
            name = type(self).__name__
            raise ValueError(f"{name} needs the views of {self.views!r}, found those of {other!r}; see add_views")

    @override
    def compute_loss(self, features: dict[str, Tensor]) -> Tensor:
        windows = Windows.of(self.settings.window, features)
        return self.compute_loss_from_embeddings(embed(self.model, features), windows)

    @abstractmethod
    def compute_loss_from_embeddings(self, embeddings: Tensor, windows: Windows) -> Tensor:
        """The loss from the embeddings of the rows (rows, dim)."""
