"""Continued pre-training of an encoder on raw conversations as a masked language model.

Gururangan et al., Don't Stop Pretraining, ACL 2020.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
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
from typing_extensions import override

import turnwise
from turnwise._compat import loaded_from
from turnwise._utils.files import check_folder
from turnwise._utils.runs import process_state
from turnwise.collators.texts import text_key
from turnwise.data.conversations import read_conversations
from turnwise.data.fingerprint import fingerprint
from turnwise.data.reading.files import check_apart
from turnwise.data.reading.given import Given
from turnwise.encoders.conversation_encoder import ConversationEncoder
from turnwise.encoders.identity import encoder_source
from turnwise.encoders.loading import as_encoder
from turnwise.encoders.transformer import transformer_of
from turnwise.training.precision import check_precision
from turnwise.training.recipes.settings import Adaptation, replace_settings
from turnwise.training.run import Run, Step
from turnwise.training.saving import save_encoder
from turnwise.training.state import TrainingState
from turnwise.training.trainer import fit, training_arguments


def adapt(
    data: Given,
    *,
    encoder: SentenceTransformer | str | os.PathLike[str] | None = None,
    settings: Adaptation | Mapping[str, Any] | None = None,
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
) -> ConversationEncoder:
    """Adapt an encoder to conversations by continuing its pre-training as a masked language model on their messages.

    Args:
        data: The conversations: what `turnwise.read_conversations` reads or gives.
        encoder: The encoder to start from, which stays as it is, or its name or path; ``None`` is the default encoder.
        settings: The settings, or those that differ from the paper's, by their names, such as ``{"epochs": 1}``; see
            `turnwise.training.recipes.Adaptation`.
        output: A folder to write the model to, as a stock SentenceTransformer. Checkpoints are kept in
            ``<output>.run`` until it is written.
        resume: Continue the unfinished run of this output, if there is one.
        force: Overwrite the output, and forget an unfinished run.

    Returns:
        The adapted encoder.

    Raises:
        FileExistsError: The output or an unfinished run exists, and neither ``resume`` nor ``force`` is given.
        BlockingIOError: Another process is writing this output.
        ValueError: A bad setting, no conversation that says anything, an output among what is read, an unfinished run
            with other settings, or an encoder whose architecture has no masked language model.
    """
    how = settings if isinstance(settings, Adaptation) else replace_settings(Adaptation(), settings or {}, "adaptation")
    check_precision(how)
    if output is not None:
        check_apart(output, data)
        check_folder(output, force)
    conversations = read_conversations(data)
    given = as_encoder(encoder)
    state = TrainingState(given, given.copied(), conversations, fingerprint(conversations))
    record = {
        "recipe": {"method": "masked language modelling", **dataclasses.asdict(how)},
        "conversations": state.source,
        "encoder": encoder_source(given),
    }
    with Run.open(output, record, resume, force) as run:
        state = run.once(Adapt(how), state)
        if output is not None and process_state().is_main_process:
            save_encoder(state.encoder, output, {"turnwise": turnwise.__version__, **record})
    return state.encoder


@dataclasses.dataclass(frozen=True)
class Adapt(Step):
    """The step that adapts the encoder."""

    settings: Adaptation
    name: str = "adaptation"

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        adapt_encoder(state.encoder, state.conversations, self.settings, run.unfinished(self.name))


def adapt_encoder(
    encoder: ConversationEncoder, conversations: Dataset, settings: Adaptation, checkpoints: Path | None = None
) -> ConversationEncoder:
    """Adapt an encoder in place.

    Args:
        encoder: The encoder; it is changed in place.
        conversations: What it learns from.
        settings: The settings.
        checkpoints: A folder to write checkpoints to and to continue from.

    Returns:
        The same encoder.

    Raises:
        ValueError: No conversation says anything, or the encoder's architecture has no masked language model.
    """
    if len(conversations) == 0:
        raise ValueError("no conversations to adapt the encoder to")
    set_seed(settings.seed)
    encoder.centre = {}  # training changes the vectors that it was fitted to
    model = masked_language_model(encoder)
    messages = conversations.map(
        lambda rows: {
            "text": [m["content"] for messages in rows["messages"] for m in messages if m["content"].strip()]
        },
        batched=True,
        remove_columns=conversations.column_names,
    )
    if len(messages) == 0:
        raise ValueError("none of the conversations to adapt the encoder to has any text")
    with tempfile.TemporaryDirectory() as unused:
        trainer = Trainer(
            model=model,
            args=TrainingArguments(
                **training_arguments(settings, checkpoints or Path(unused), save=checkpoints is not None),
                remove_unused_columns=False,
            ),
            train_dataset=messages,
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
            model, report = AutoModelForMaskedLM.from_pretrained(
                source, use_safetensors=True, trust_remote_code=False, output_loading_info=True
            )
            # Tokens may have been added to the encoder since it was loaded, such as the prefix tokens of a method.
            model.resize_token_embeddings(len(transformer.get_input_embeddings().weight), mean_resizing=False)
            has_head = not report["missing_keys"]
        except OSError:  # not a checkpoint: the encoder that ships, or one that was built in memory
            model, has_head = AutoModelForMaskedLM.from_config(transformer.config), False
    except ValueError as error:
        raise ValueError("this encoder's architecture has no masked language model, so it cannot be adapted") from error
    if not has_head:
        logging.getLogger("turnwise").warning(
            "%s has no prediction head of a masked language model, which sentence encoders seldom have: adaptation "
            "starts with a random one",
            encoder_source(encoder) or "the encoder",
        )
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
    """Tokenise messages and mask tokens to predict, at most ``max_predictions`` in each.

    What is masked follows from the seed and the texts: a batch is collated before the step that precedes it, so that a
    run that draws from the state of a checkpoint would go on with other masks.
    """

    def __init__(self, encoder: SentenceTransformer, settings: Adaptation) -> None:
        self.tokenizer = encoder.tokenizer
        self.max_length = min(settings.max_length, encoder.max_seq_length or settings.max_length)
        self.max_predictions, self.seed = settings.max_predictions, settings.seed
        self.mask = DataCollatorForLanguageModeling(self.tokenizer, mlm_probability=settings.mask_probability)

    def __call__(self, rows: Sequence[dict[str, str]]) -> dict[str, Tensor]:
        """Collate messages.

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
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(text_key(repr((self.seed, encoded["input_ids"]))))
            batch: dict[str, Tensor] = self.mask(examples)
            lottery = torch.rand(batch["labels"].shape)
        labels = batch["labels"]
        # The masked positions are put in a random order. The first ones stay masked; the others get their token back.
        order = lottery.masked_fill(labels == -100, 2).argsort(1).argsort(1)
        extra = (labels != -100) & (order >= self.max_predictions)
        batch["input_ids"] = torch.where(extra, labels, batch["input_ids"])
        batch["labels"] = labels.masked_fill(extra, -100)
        return batch
