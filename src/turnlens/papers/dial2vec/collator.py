"""The data collator of dial2vec: conversations in, token rows of the real and of mixed dialogues out."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from torch import Tensor

from turnlens.data.messages import Message
from turnlens.encoders.forward import padded
from turnlens.encoders.rendering import Keep, Renderer
from turnlens.papers.pieces import UtterancePool


def mixed_dialogues(
    conversation: str, messages: list[Message], pool: UtterancePool, count: int, generator: random.Random
) -> list[list[Message]]:
    """Dialogues in which one speaker's turns are real and the others' come from other conversations.

    With two speakers, a random one is kept each time. With more, each of them is kept in turn, starting with a random
    one.

    Args:
        conversation: The id of the real dialogue.
        messages: Its messages, by two speakers or more.
        pool: Where utterances are drawn from.
        count: The number of mixed dialogues.
        generator: The source of randomness.
    """
    speakers = list(dict.fromkeys(message["role"] for message in messages))
    offset = generator.randrange(len(speakers))
    mixed = []
    for number in range(count):
        kept = generator.choice(speakers) if len(speakers) == 2 else speakers[(offset + number) % len(speakers)]
        mixed.append(
            [
                message
                if message["role"] == kept
                else {**message, "content": pool.draw(message["role"], conversation, generator)}
                for message in messages
            ]
        )
    return mixed


class ConversationCollator:
    """Renders each conversation of a batch and its mixed dialogues as one row each.

    The mixed dialogues of a conversation depend on the seed, the epoch and the conversation's id alone: they are fresh
    every epoch, and the same however many workers or processes share the work. Conversations of fewer than two
    speakers have no interaction and give no rows.

    Args:
        encoder: A conversational encoder, see `turnlens.encoders.rendering.make_conversational`.
        conversations: The corpus whose utterances fill the mixed dialogues.
        negatives_per_dialogue: Mixed dialogues for each real one (the released code of the paper uses 9).
        max_length: Longest row in tokens; by default the encoder's limit.
        keep: Which turns of longer conversations to keep, see `turnlens.encoders.rendering.Renderer`.
        seed: Seed of the mixed dialogues.
    """

    # The trainer asks every collator which columns hold labels. There are none.
    valid_label_columns: ClassVar[list[str]] = []

    def __init__(
        self,
        encoder: SentenceTransformer,
        conversations: Dataset,
        negatives_per_dialogue: int = 9,
        max_length: int | None = None,
        keep: Keep = "head",
        seed: int = 0,
    ) -> None:
        if negatives_per_dialogue < 1:
            raise ValueError(f"negatives_per_dialogue must be at least 1, got {negatives_per_dialogue}")
        self.pool = UtterancePool(conversations)
        self.renderer = Renderer(encoder, max_length, keep)
        self.pad = encoder.tokenizer.pad_token_id
        self.negatives_per_dialogue = negatives_per_dialogue
        self.seed = seed
        self.epoch = 0
        self._has_warned = False

    def set_epoch(self, epoch: int) -> None:
        """Draw different mixed dialogues from now on."""
        self.epoch = epoch

    def __call__(self, conversations: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        """Collate a batch.

        Returns:
            Tensors, with the prefix ``messages_`` that the trainer strips again: ``input_ids``, ``attention_mask``,
            ``speaker`` and ``turn`` (rows, length), see `turnlens.encoders.forward.Rows`; ``dialogue`` (rows,), the
            dialogue each row belongs to; ``is_real`` (rows,); and ``speakers`` (dialogues,), the number of speakers of
            each.
        """
        rows, dialogue, is_real = [], [], []
        speakers: list[int] = []
        # The turns are chosen before mixing, so that the real dialogue and the mixed ones have the same turns.
        fitting = self.renderer.fitting(self.renderer.tokenize([row["messages"] for row in conversations]))
        if not self._has_warned:  # at the first cut, because nobody knows which batch is the last
            self._has_warned = self.renderer.warn_of_cuts()
        for row, pieces in zip(conversations, fitting):
            messages = [row["messages"][turn] for turn, _ in pieces]
            count = len({message["role"] for message in messages})
            if count < 2:
                continue
            generator = random.Random(f"{self.seed} {self.epoch} {row['id']}")
            mixed = mixed_dialogues(row["id"], messages, self.pool, self.negatives_per_dialogue, generator)
            rows += [messages, *mixed]
            dialogue += [len(speakers)] * (1 + len(mixed))
            is_real += [True] + [False] * len(mixed)
            speakers.append(count)
        if not rows:
            raise ValueError("no conversation of this batch has two speakers: leave such conversations out")
        tensors = {
            **padded(self.renderer.rows(rows), self.pad)._asdict(),
            "conversation": torch.tensor(dialogue, dtype=torch.long),
            "is_real": torch.tensor(is_real, dtype=torch.bool),
            "speakers": torch.tensor(speakers, dtype=torch.long),
        }
        return {f"messages_{name}": tensor for name, tensor in tensors.items()}
