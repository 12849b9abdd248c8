"""Continued pre-training of an encoder on raw conversations as a masked language model ("BERT(adapt)" of the papers).

Gururangan et al., Don't Stop Pretraining, ACL 2020; settings of DialogueCSE, section 5.3.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn
from transformers import (
    AutoModelForMaskedLM,
    DataCollatorForLanguageModeling,
    PreTrainedModel,
    Trainer,
    TrainingArguments,
    set_seed,
)

from turnwise._compat import loaded_from
from turnwise.data.conversations import read_conversations
from turnwise.data.reading.given import Given
from turnwise.encoders.conversation_encoder import ConversationEncoder
from turnwise.encoders.loading import as_encoder
from turnwise.encoders.transformer import transformer_of
from turnwise.training.recipes import Adaptation
from turnwise.training.trainer import fit, training_arguments


def adapt_encoder(
    encoder: SentenceTransformer | str | os.PathLike[str] | None,
    conversations: Given,
    settings: Adaptation | None = None,
    checkpoints: Path | None = None,
) -> ConversationEncoder:
    """Continue the pre-training of an encoder as a masked language model on the utterances of conversations.

    Args:
        encoder: The encoder (it is changed), or its name or path; ``None`` is the default encoder.
        conversations: What `turnwise.read_conversations` reads or gives.
        settings: The settings; by default the paper's.
        checkpoints: A folder to write checkpoints to and to continue from.

    Returns:
        The encoder.

    Raises:
        ValueError: No conversation says anything, or the encoder's architecture has no masked language model.
    """
    settings = settings or Adaptation()
    conversations = read_conversations(conversations)
    if len(conversations) == 0:
        raise ValueError("no conversations to adapt the encoder to")
    encoder = as_encoder(encoder)
    set_seed(settings.seed)
    encoder.centre = {}  # training changes the vectors that it was fitted to
    model = masked_language_model(encoder)
    utterances = conversations.map(
        lambda rows: {
            "text": [m["content"] for messages in rows["messages"] for m in messages if m["content"].strip()]
        },
        batched=True,
        remove_columns=conversations.column_names,
    )
    if len(utterances) == 0:
        raise ValueError("no conversation to adapt the encoder to says anything")
    with tempfile.TemporaryDirectory() as unused:
        trainer = Trainer(
            model=model,
            args=TrainingArguments(
                **training_arguments(settings, checkpoints or Path(unused), save=checkpoints is not None),
                remove_unused_columns=False,
            ),
            train_dataset=utterances,
            data_collator=MaskingCollator(encoder, settings),
        )
        fit(trainer, checkpoints, "adaptation")
    encoder.eval()
    return encoder


def masked_language_model(encoder: SentenceTransformer) -> PreTrainedModel:
    """The encoder's own transformer, shared, with the prediction head of its checkpoint or a new one on top.

    Raises:
        ValueError: Its architecture has no masked language model.
    """
    transformer = transformer_of(encoder)
    source = loaded_from(transformer)
    try:
        try:
            model = AutoModelForMaskedLM.from_pretrained(source, use_safetensors=True, trust_remote_code=False)
            # Tokens may have been added to the encoder since it was loaded, such as the prefix tokens of a method.
            model.resize_token_embeddings(len(transformer.get_input_embeddings().weight), mean_resizing=False)
        except OSError as error:
            logging.getLogger("turnwise").warning("the prediction head of adaptation starts anew: %s", error)
            model = AutoModelForMaskedLM.from_config(transformer.config)
    except ValueError as error:
        raise ValueError("this encoder's architecture has no masked language model, so it cannot be adapted") from error
    model.to(transformer.device)
    _share(model, transformer)
    return model


def _share(model: PreTrainedModel, transformer: nn.Module) -> None:
    """Put the encoder's transformer in the place of the model's own, and tie the output embeddings to it."""
    own = getattr(model, model.base_model_prefix)
    # Encoders for sentence embeddings have a pooler where masked language models have none; it does no harm.
    missing = {name for name, _ in own.named_parameters()} - {name for name, _ in transformer.named_parameters()}
    if missing:
        raise ValueError(f"the masked language model needs parameters that the encoder lacks: {sorted(missing)[:3]}")
    setattr(model, model.base_model_prefix, transformer)
    model.tie_weights()


class MaskingCollator:
    """Tokenise utterances and mask tokens to predict, at most ``max_predictions`` in each."""

    def __init__(self, encoder: SentenceTransformer, settings: Adaptation) -> None:
        self.tokenizer = encoder.tokenizer
        self.max_length = min(settings.max_length, encoder.max_seq_length or settings.max_length)
        self.max_predictions = settings.max_predictions
        self.mask = DataCollatorForLanguageModeling(self.tokenizer, mlm_probability=settings.mask_probability)

    def __call__(self, rows: Sequence[dict[str, str]]) -> dict[str, Tensor]:
        """Collate utterances.

        Returns:
            ``input_ids``, ``attention_mask`` and ``labels`` (-100 where nothing is predicted), (rows, length).
        """
        encoded = self.tokenizer(
            [row["text"] for row in rows],
            truncation=True,
            max_length=self.max_length,
            return_special_tokens_mask=True,
        )
        fields = ("input_ids", "attention_mask", "special_tokens_mask")
        examples = [{field: encoded[field][row] for field in fields} for row in range(len(rows))]
        batch: dict[str, Tensor] = self.mask(examples)
        labels = batch["labels"]
        # The masked positions are put in a random order. The first ones stay masked; the others get their token back.
        order = torch.rand(labels.shape).masked_fill(labels == -100, 2).argsort(1).argsort(1)
        extra = (labels != -100) & (order >= self.max_predictions)
        batch["input_ids"] = torch.where(extra, labels, batch["input_ids"])
        batch["labels"] = labels.masked_fill(extra, -100)
        return batch
