"""Shared by contrastive losses over the turns of a batch: gathering across processes, negatives, cross-entropy.

Every process holds some whole conversations. The candidates (responses) are never sent: each process scores the
contexts of all processes against its own responses, and only the scores are exchanged. Gradients flow through all of
this, so several processes compute exactly what a single one would compute with the joined batch.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cache
from typing import Literal

import torch
import torch.distributed as dist
from sentence_transformers.util import all_gather, get_rank, get_world_size
from torch import Tensor
from torch.nn.functional import kl_div, pad

from turnlens._utils.arguments import Settings

Negatives = Literal["batch"] | int
# The logit of a turn that is not a candidate. It is finite, because with an infinite one the divergence would be, too.
_NEVER = -1e9


def check_negatives(negatives: Negatives) -> None:
    """Raise ``ValueError`` if ``negatives`` is neither ``"batch"`` nor a positive number."""
    if negatives != "batch" and negatives < 1:
        raise ValueError(f"negatives must be 'batch' or a positive number of negatives per response, got {negatives!r}")


def check_batch_size(batch_size: int) -> None:
    """Raise ``ValueError`` if a batch has no other conversation that negatives could come from."""
    if batch_size < 2:
        raise ValueError("batch_size must be at least 2: the negatives of a response are other conversations'")


@dataclass(frozen=True)
class InBatchSettings(Settings):
    """Settings of losses that contrast responses with those of other conversations.

    Attributes:
        negatives: ``"batch"``, every response of another conversation in the batch; or how many of these are drawn at
            random for each response. A batch that has fewer, such as the
            last one of an epoch, uses all it has. Equal texts are never negatives of each other.
    """

    negatives: Negatives = "batch"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_negatives(self.negatives)


@cache
def _tell_of_fewer(negatives: int, fewest: int) -> None:
    """Tell once that negatives are too few, which is harmless in an epoch's last batch but a mistake in every batch."""
    logging.getLogger("turnlens").warning(
        "negatives=%d, but a response of a batch has only %d: if it is not the last, smaller batch, raise batch_size, "
        "lower negatives, or draw them from the whole data, as some presets do",
        negatives,
        fewest,
    )


def process_mean(total: Tensor, count: float) -> Tensor:
    """The mean over the items of all processes, from the sum over the items of this process; 0 without any items.

    Items may have weights: then ``total`` is the weighted sum and ``count`` the sum of the weights. Distributed
    trainers average gradients over processes; the average of the returned scalars over processes is the mean over all
    items, even if some processes have more items than others.
    """
    counts = torch.tensor(count, device=total.device, dtype=total.dtype)
    if get_world_size() > 1:
        dist.all_reduce(counts)
    return total * get_world_size() / counts.clamp(min=1)


@dataclass(frozen=True)
class Turns:
    """The turns of the batches of all processes, padded so that each process has the same number.

    Attributes:
        conversation: A number for each conversation, unique across processes, -1 for padding (turns,).
        text_key: Equal for equal texts (turns,).
        start: Where this process's own turns start.
        own: How many turns this process has.
        per_process: How many rows each process takes here, padding included.
    """

    conversation: Tensor
    text_key: Tensor
    start: int
    own: int
    per_process: int

    @classmethod
    def gather(cls, conversation: Tensor, text_key: Tensor) -> Turns:
        """Gather the turns of all processes from the turns of this one, both (own turns,)."""
        own = per_process = len(conversation)
        if get_world_size() > 1:
            most = torch.tensor([own, int(conversation.max()) + 1], device=conversation.device)
            dist.all_reduce(most, dist.ReduceOp.MAX)
            per_process, conversations = most.tolist()
            conversation = conversation + get_rank() * conversations
        turns = cls(conversation, text_key, get_rank() * per_process, own, per_process)
        return cls(
            turns.gather_rows(conversation, padding=-1), turns.gather_rows(text_key), turns.start, own, per_process
        )

    def gather_rows(self, rows: Tensor, padding: float = 0) -> Tensor:
        """From a row per turn of this process (own, …) to a row per turn of all (turns, …), with gradients."""
        if get_world_size() == 1:
            return rows
        rows = pad(rows, [0, 0] * (rows.ndim - 1) + [0, self.per_process - len(rows)], value=padding)
        gathered = all_gather(rows.contiguous(), with_grad=rows.requires_grad)
        if gathered.requires_grad:
            # The backward pass of the gather sends raw memory: a transposed gradient would arrive scrambled.
            gathered.register_hook(lambda gradient: gradient.contiguous())
        return gathered

    def exchange(self, scores: Tensor) -> Tensor:
        """Scores of all contexts for own responses (turns, own) to scores of own contexts for all (own, turns)."""
        if get_world_size() == 1:
            return scores
        return self.gather_rows(scores.T)[:, self.start : self.start + self.own].T

    def negatives(self, own_turns: Tensor, negatives: Negatives) -> Tensor:
        """Return the negatives of some turns of this process.

        A turn of the same conversation, or of the same text, never is.

        Args:
            own_turns: Numbers among this process's own turns (rows,).
            negatives: ``"batch"``, all turns that are allowed; or how many of them are drawn at random for each row.
                Where there are fewer, all are used.

        Returns:
            A boolean mask (rows, turns).
        """
        rows = own_turns + self.start
        allowed = (
            (self.conversation >= 0)
            & (self.conversation != self.conversation[rows, None])
            & (self.text_key != self.text_key[rows, None])
        )
        if isinstance(negatives, int) and len(allowed):
            fewest = int(allowed.sum(1).min())
            if fewest < negatives:
                _tell_of_fewer(negatives, fewest)
            lottery = torch.rand(allowed.shape, device=allowed.device).masked_fill(~allowed, -1)
            drawn = lottery.topk(min(negatives, allowed.shape[1])).indices
            allowed = allowed & torch.zeros_like(allowed).scatter(1, drawn, True)
        return allowed

    def candidates(self, own_turns: Tensor, negatives: Negatives) -> Tensor:
        """Return the candidates of some turns of this process: each turn itself, and its negatives.

        Arguments and mask are those of `Turns.negatives`.
        """
        return self.negatives(own_turns, negatives).scatter(1, (own_turns + self.start)[:, None], True)


def among(logits: Tensor, candidates: Tensor) -> Tensor:
    """Logits that leave to those that are no candidates a probability of 0 (rows, turns)."""
    return logits.masked_fill(~candidates, _NEVER)


def cross_entropy(logits: Tensor, positive: Tensor) -> Tensor:
    """NT-Xent of each row's response against the other candidates.

    Args:
        logits: Scores divided by the temperature, from `among` (rows, candidates).
        positive: The column of each row's own response (rows,).

    Returns:
        The losses (rows,).
    """
    return logits.logsumexp(1) - logits.gather(1, positive[:, None]).squeeze(1)


def batch_softmax(
    contexts: Tensor,
    responses: Tensor,
    has_context: Tensor,
    conversation: Tensor,
    text_key: Tensor,
    negatives: Negatives,
    teacher: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """Mean cross-entropy of each response against the others of the batch; the scores are inner products.

    Args:
        contexts: The vector of the context of each turn of this process; for cosines, of length 1 / temperature
            (turns, dim).
        responses: The vector of each turn; for cosines, of length 1 (turns, dim).
        has_context: Whether the turn has a context; where it has none, ``contexts`` is ignored (turns,).
        conversation: The position in the batch of each turn's conversation (turns,).
        text_key: Equal for equal texts (turns,).
        negatives: See `turnlens.training.losses.in_batch.InBatchSettings`.
        teacher: Contexts and responses of a teacher, whose distribution is learned as well: (turns, its dim) each.
    """
    turns = Turns.gather(conversation, text_key)
    rows = has_context.nonzero().squeeze(1)

    def scores(contexts: Tensor, responses: Tensor) -> Tensor:
        return turns.exchange(turns.gather_rows(contexts) @ responses.T)[rows]  # (rows, all turns)

    candidates = turns.candidates(rows, negatives)
    logits = among(scores(contexts, responses), candidates)
    total = cross_entropy(logits, rows + turns.start).sum()
    if teacher is not None:
        of_teacher = among(scores(*teacher), candidates).log_softmax(1)
        total = total + kl_div(logits.log_softmax(1), of_teacher, log_target=True, reduction="sum")
    return process_mean(total, len(rows))
