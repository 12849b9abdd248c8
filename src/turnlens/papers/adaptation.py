"""Continued pre-training of an encoder as a masked language model on the messages.

Gururangan et al., Don't Stop Pretraining: Adapt Language Models to Domains and Tasks, ACL 2020.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import BaseEvaluator
from torch import Tensor, nn
from transformers import (
    AutoModelForMaskedLM,
    DataCollatorForLanguageModeling,
    PreTrainedModel,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.modeling_outputs import BaseModelOutput
from typing_extensions import override

from turnlens._compat import loaded_from
from turnlens._utils.arguments import check_positive
from turnlens.data.dataset_operations import fingerprint
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.loading import encoder_source
from turnlens.encoders.tokenizing import cut_for
from turnlens.encoders.transformer import transformer_of
from turnlens.training.collators import text_key
from turnlens.training.encoder_modes import runs_in_bf16
from turnlens.training.recipes.base import EncoderRecipe, Recipe
from turnlens.training.recipes.settings import Schedule, replace_settings
from turnlens.training.run import Run, Step, TrainingState
from turnlens.training.trainer import fit, training_arguments


@dataclass(frozen=True)
class Adaptation(Schedule, Recipe):
    """Continued pre-training as a masked language model: a method of its own, or a step before another one.

    Attributes:
        mask_probability: Share of tokens to predict.
        max_predictions: Predict at most this many tokens of a message.

    Examples:
        >>> from turnlens.papers import Adaptation
        >>> Adaptation(max_steps=100).mask_probability
        0.15
    """

    learning_rate: float = 2e-5
    batch_size: int = 50
    epochs: float = 0.5
    max_length: int = 100
    mask_probability: float = 0.15
    max_predictions: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.mask_probability < 1:
            raise ValueError(f"mask_probability must lie between 0 and 1, got {self.mask_probability!r}")
        check_positive(self, "max_predictions")

    @override
    def begin(
        self, conversations: Dataset | Path, encoder: ConversationEncoder, evaluator: BaseEvaluator | None
    ) -> TrainingState:
        if evaluator is not None:
            raise ValueError("no step of an adaptation is chosen: leave the validation out")
        if isinstance(conversations, Path):
            raise ValueError(f"{conversations} holds vectors, an adaptation reads texts: give the conversations")
        runs_in_bf16(self)  # refuses what would be slow
        return TrainingState(encoder, encoder.clone(), conversations, fingerprint(conversations))

    @override
    def steps(self, state: TrainingState) -> Sequence[Step]:
        return [Adapt(self)]


@dataclass(frozen=True)
class AdaptedRecipe(EncoderRecipe):
    """The common part of the papers' methods, before which an encoder may be adapted.

    Attributes:
        adaptation: Continued pre-training beforehand, if any.
    """

    adaptation: Adaptation | None = None

    @override
    def parsed(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        how = settings.get("adaptation")
        if not isinstance(how, Mapping):
            return settings
        return {**settings, "adaptation": replace_settings(self.adaptation or Adaptation(), how, "adaptation")}

    @override
    def begin(
        self, conversations: Dataset | Path, encoder: ConversationEncoder, evaluator: BaseEvaluator | None
    ) -> TrainingState:
        if self.adaptation is not None:
            runs_in_bf16(self.adaptation)  # refuses what would be slow
        return super().begin(conversations, encoder, evaluator)

    @override
    def steps(self, state: TrainingState) -> Sequence[Step]:
        adapt = [] if self.adaptation is None else self.adaptation.steps(state)
        return [*adapt, *super().steps(state)]


@dataclass(frozen=True)
class Adapt(Step):
    """The step that adapts the encoder.

    Raises:
        ValueError: No conversation says anything, or the encoder's architecture has no masked language model.
    """

    settings: Adaptation
    name: str = "adaptation"

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        encoder, conversations, checkpoints = state.encoder, state.conversations, run.unfinished(self.name)
        set_seed(self.settings.seed)
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
        with training_arguments(self.settings, checkpoints) as shared:
            arguments = TrainingArguments(**shared, remove_unused_columns=False)
            collator = MaskingCollator(encoder, self.settings)
            trainer = Trainer(model, arguments, train_dataset=messages, data_collator=collator)
            with predicting_masked_only(model):
                fit(trainer, checkpoints, "adaptation")
        encoder.eval()


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
        logging.getLogger("turnlens").warning(
            "%s has no prediction head of a masked language model, which sentence encoders seldom have: adaptation "
            "starts with a random one",
            encoder_source(encoder) or "the encoder",
        )
    model.to(transformer.device)
    _share(model, transformer)
    return model


@contextmanager
def predicting_masked_only(model: PreTrainedModel) -> Iterator[None]:
    """Inside the block, the prediction head sees only the tokens to predict, and the loss is the same.

    Otherwise every token has a logit for every word of the vocabulary: gigabytes, with a multilingual encoder.
    """

    def mark(module: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        predicted = module.base_model.predicted = named["labels"] != -100
        return arguments, {**named, "labels": named["labels"][predicted][None]}

    def keep(module: Any, arguments: tuple[Any, ...], output: Any) -> BaseModelOutput:
        return BaseModelOutput(last_hidden_state=output[0][module.predicted][None])

    hooks = (model.register_forward_pre_hook(mark, with_kwargs=True), model.base_model.register_forward_hook(keep))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
        vars(model.base_model).pop("predicted", None)


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
            cut_for(self.tokenizer, [row["text"] for row in rows], self.max_length),
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
