"""ConveRT, small enough to learn from scratch (Henderson et al., ConveRT, Findings of EMNLP 2020).

The network of the paper in fewer dimensions: subwords with two tables of positions, six layers of self-attention whose
relative positions reach further and further, a reduction of each text to one vector, and towers of feed-forward layers
for the last turn, for the turns before it, and for the reply. The published network has 512 dimensions and has learned
from 727 million pairs of Reddit; its weights can no longer be had.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import Metaspace, Punctuation
from tokenizers.pre_tokenizers import Sequence as Splits
from tokenizers.trainers import BpeTrainer
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gelu, normalize
from typing_extensions import override

from turnlens._utils.arguments import require_list
from turnlens._utils.progress import progress_of
from turnlens.data.dataset_operations import merge_runs
from turnlens.data.messages import Conversations, plain_messages
from turnlens.papers.baselines.baseline import fitted

_POSITIONS = (47, 11)  # rows of the two tables; a position is looked up in each by its remainder
_REACH = (3, 5, 48, 48, 48, 48)  # the largest relative position that each layer tells from others
_HEADS = 2  # of the reduction
_TOWER = 3  # feed-forward layers of a tower
_SMOOTHING = 0.2  # of labels
_EARLIER = 10  # turns before the last one
_PADDING, _UNKNOWN, _NOTHING = "[PAD]", "[UNK]", "[NONE]"  # the last one stands for a text without words
_AT_ONCE = 256  # texts


@dataclass(frozen=True)
class ConveRTSettings:
    """Sizes of the network, and how it learns; in parentheses the paper's.

    Attributes:
        dim: Width of the embeddings, of the layers and of the result (512).
        attention_dim: Width of queries and keys (64).
        hidden_dim: Hidden units of the layers (2,048).
        vocabulary: Subwords at most (31,476).
        max_length: Longest text in tokens (60).
        epochs: Passes over all pairs.
        batch_size: Pairs per step; the replies of the others are the negatives (512).
        learning_rate: Peak learning rate of Adam, after which it falls linearly to 0.
        seed: Seed of weights and order.
    """

    dim: int = 128
    attention_dim: int = 32
    hidden_dim: int = 512
    vocabulary: int = 8000
    max_length: int = 60
    epochs: int = 5
    batch_size: int = 64
    learning_rate: float = 1e-3
    seed: int = 0


class RelativeAttention(nn.Module):
    """Self-attention with one head, whose keys also say how far away they are (Shaw et al., NAACL 2018)."""

    def __init__(self, dim: int, attention_dim: int, reach: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(dim, attention_dim), nn.Linear(dim, attention_dim)
        self.value, self.out = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.distance = nn.Embedding(2 * reach + 1, attention_dim)
        self.reach = reach

    @override
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """From (texts, tokens, dim) and the mask (texts, tokens) to (texts, tokens, dim)."""
        query, key = self.query(x), self.key(x)
        place = torch.arange(x.shape[1])
        distance = self.distance((place[None] - place[:, None]).clamp(-self.reach, self.reach) + self.reach)
        scores = query @ key.transpose(1, 2) + torch.einsum("bnd,nmd->bnm", query, distance)
        weights = (scores / math.sqrt(key.shape[-1])).masked_fill(~mask[:, None], -torch.inf).softmax(-1)
        out: Tensor = self.out(weights @ self.value(x))
        return out


class Layer(nn.Module):
    """Attention and a feed-forward layer, each added to what it is given and normalised."""

    def __init__(self, settings: ConveRTSettings, reach: int) -> None:
        super().__init__()
        dim = settings.dim
        self.attention = RelativeAttention(dim, settings.attention_dim, reach)
        self.hidden, self.out = nn.Linear(dim, settings.hidden_dim), nn.Linear(settings.hidden_dim, dim)
        self.norms = nn.ModuleList([nn.LayerNorm(dim), nn.LayerNorm(dim)])

    @override
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.norms[0](x + self.attention(x, mask))
        x = self.norms[1](x + self.out(gelu(self.hidden(x))))
        return x


class Reduction(nn.Module):
    """Self-attention with two heads, whose results are summed over the tokens and divided by the root of the length."""

    def __init__(self, dim: int, attention_dim: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(dim, _HEADS * attention_dim), nn.Linear(dim, _HEADS * attention_dim)

    @override
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """From (texts, tokens, dim) and the mask (texts, tokens) to (texts, 2 · dim)."""
        query, key = (part.unflatten(-1, (_HEADS, -1)).transpose(1, 2) for part in (self.query(x), self.key(x)))
        scores = query @ key.transpose(2, 3) / math.sqrt(key.shape[-1])  # (texts, heads, tokens, tokens)
        weights = scores.masked_fill(~mask[:, None, None], -torch.inf).softmax(-1)
        attended = (weights @ x[:, None]) * mask[:, None, :, None]  # (texts, heads, tokens, dim)
        summed = attended.sum(2) / mask.sum(1).clamp(min=1).sqrt()[:, None, None]
        return summed.flatten(1)


class Tower(nn.Module):
    """Feed-forward layers with skips, and a projection to length 1."""

    def __init__(self, width: int, dim: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(_TOWER))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(_TOWER))
        self.out = nn.Linear(width, dim)

    @override
    def forward(self, x: Tensor) -> Tensor:
        for layer, norm in zip(self.layers, self.norms):
            x = norm(x + gelu(layer(x)))
        return normalize(self.out(x), dim=-1)


class Network(nn.Module):
    """Token ids to vectors of length 1; the towers are ``last``, ``earlier`` and ``reply``."""

    def __init__(self, settings: ConveRTSettings, vocabulary: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, settings.dim, padding_idx=0)
        self.positions = nn.ModuleList(nn.Embedding(rows, settings.dim) for rows in _POSITIONS)
        self.norm = nn.LayerNorm(settings.dim)
        self.layers = nn.ModuleList(Layer(settings, reach) for reach in _REACH)
        self.reduction = Reduction(settings.dim, settings.attention_dim)
        self.towers = nn.ModuleDict(
            {name: Tower(_HEADS * settings.dim, settings.dim) for name in ("last", "earlier", "reply")}
        )

    @override
    def forward(self, ids: Tensor, tower: str) -> Tensor:
        """From ids (texts, tokens), 0 for padding, to (texts, dim)."""
        mask, place = ids != 0, torch.arange(ids.shape[1])
        x = self.words(ids)
        for rows, table in zip(_POSITIONS, self.positions):
            x = x + table(place % rows)
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x, mask)
        vectors: Tensor = self.towers[tower](self.reduction(x, mask))
        return vectors


class ConveRT:
    """A network with two kinds of text: contexts and replies, whose cosine says how well they fit.

    Args:
        settings: Sizes, and how it learns.

    Attributes:
        losses: After fitting, the mean loss of every epoch.
    """

    def __init__(self, settings: ConveRTSettings | None = None) -> None:
        self.settings = settings or ConveRTSettings()
        self.tokenizer: Tokenizer | None = None
        self.network: Network | None = None
        self.losses: list[float] = []

    def fit(self, conversations: Conversations) -> Self:
        """Learn from every turn with the turns before it.

        Raises:
            ValueError: There are fewer than two such turns.
        """
        pairs = list(_pairs(conversations))
        if len(pairs) < 2:
            raise ValueError(f"expected at least 2 replies to learn from, got {len(pairs)}")
        # Byte pairs without prefixes: those of word pieces are numbered differently every time.
        self.tokenizer = Tokenizer(BPE(unk_token=_UNKNOWN))
        self.tokenizer.normalizer = BertNormalizer(lowercase=True)
        self.tokenizer.pre_tokenizer = Splits([Metaspace(), Punctuation()])
        trainer = BpeTrainer(
            vocab_size=self.settings.vocabulary, special_tokens=[_PADDING, _UNKNOWN, _NOTHING], show_progress=False
        )
        self.tokenizer.train_from_iterator(dict.fromkeys(text for turns in pairs for text in turns), trainer)
        with torch.random.fork_rng():  # the caller's generator stays as it was
            torch.manual_seed(self.settings.seed)
            self.network = Network(self.settings, self.tokenizer.get_vocab_size())
            self.losses = self._train(self.network, pairs)
        self.network.eval()
        return self

    def encode_contexts(self, contexts: Sequence[Sequence[str]]) -> np.ndarray:
        """The vectors of contexts of one or more turns, oldest first: float32 (contexts, dim), of length 1."""
        return self._encoded(
            [require_list(turns, "contexts") for turns in contexts], lambda batch: self._contexts(batch)[2]
        )

    def encode_replies(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of replies: float32 (texts, dim), of length 1."""
        return self._encoded(require_list(texts, "texts"), lambda batch: self._vectors(batch, "reply"))

    def _encoded(self, items: Sequence[Any], encode: Callable[[Sequence[Any]], Tensor]) -> np.ndarray:
        fitted(self.network, self)
        with torch.no_grad():
            parts = [encode(items[start : start + _AT_ONCE]) for start in range(0, len(items), _AT_ONCE)]
        return torch.cat(parts).numpy()

    def _contexts(self, contexts: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor, Tensor]:
        """Of contexts the vectors of the last turns, of the turns before them, newest first, and of both."""
        last = self._vectors([turns[-1] for turns in contexts], "last")
        earlier = self._vectors([" ".join(turns[-2 : -2 - _EARLIER : -1]) for turns in contexts], "earlier")
        return last, earlier, normalize(last + earlier, dim=-1)

    def _vectors(self, texts: Sequence[str], tower: str) -> Tensor:
        tokenizer, network = fitted(self.tokenizer, self), fitted(self.network, self)
        nothing = [tokenizer.token_to_id(_NOTHING)]
        ids = [encoding.ids[: self.settings.max_length] or nothing for encoding in tokenizer.encode_batch(list(texts))]
        rows = [torch.tensor(of_text) for of_text in ids]
        vectors: Tensor = network(nn.utils.rnn.pad_sequence(rows, batch_first=True), tower)
        return vectors

    def _train(self, network: Network, pairs: list[list[str]]) -> list[float]:
        settings = self.settings
        optimizer = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
        steps = settings.epochs * math.ceil(len(pairs) / settings.batch_size)
        schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, steps)
        losses, step = [], 0
        with progress_of("training ConveRT", steps) as advance:
            for _ in range(settings.epochs):
                total = 0.0
                for rows in torch.randperm(len(pairs)).split(settings.batch_size):
                    # The scale of the cosines grows to √dim over the first half.
                    scale = 1 + (math.sqrt(settings.dim) - 1) * min(1.0, 2 * step / steps)
                    batch = [pairs[row] for row in rows.tolist()]
                    replies = self._vectors([turns[-1] for turns in batch], "reply")
                    own = torch.arange(len(batch))
                    scores = [
                        scale * vectors @ replies.T for vectors in self._contexts([turns[:-1] for turns in batch])
                    ]
                    loss = torch.stack([cross_entropy(part, own, label_smoothing=_SMOOTHING) for part in scores]).mean()
                    optimizer.zero_grad()
                    loss.backward()
                    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                    optimizer.step()
                    schedule.step()
                    total, step = total + loss.item() * len(batch), step + 1
                    advance(1)
                losses.append(total / len(pairs))
        return losses


def _pairs(conversations: Conversations) -> Iterator[list[str]]:
    """The turns up to each reply, which is the last of them."""
    for number, row in enumerate(conversations):
        messages = merge_runs([m for m in plain_messages(row["messages"], f"row {number}") if m["content"]])
        texts = [message["content"] for message in messages]
        for turn in range(1, len(texts)):
            yield texts[max(0, turn - 1 - _EARLIER) : turn + 1]
