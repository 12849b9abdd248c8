"""Training a reply head on conversations, or on the vectors of their messages, and saving the model."""

from __future__ import annotations

import dataclasses
import os
import shutil
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pyarrow as pa
from datasets import Dataset
from sentence_transformers import SentenceTransformer

import turnwise
from turnwise._utils.files import check_folder, only_writer
from turnwise.data.cleaning import drop_empty_messages
from turnwise.data.conversations import read_conversations
from turnwise.data.drawing import draw_conversations
from turnwise.data.fingerprint import fingerprint
from turnwise.data.reading.given import Given
from turnwise.encoders.conversation_encoder import ConversationEncoder
from turnwise.encoders.embed import embed_messages, embed_taught, holds_vectors, read_vectors, write_embeddings
from turnwise.encoders.loading import as_encoder, encoder_source, load_encoder, weights_digest
from turnwise.training.recipes import ReplyHeadRecipe
from turnwise.training.reply_head import fit_reply_head
from turnwise.training.saving import save_encoder


def train_reply_head(
    recipe: ReplyHeadRecipe,
    conversations: Given,
    encoder: SentenceTransformer | str | os.PathLike[str] | None,
    output: str | os.PathLike[str] | None,
    resume: bool = False,
    force: bool = False,
) -> ConversationEncoder:
    """Put a reply head beside an encoder, which is not changed; arguments and errors are those of `train`."""
    if output is not None:
        check_folder(output, force)
    encoder = as_encoder(encoder)
    with only_writer(output) if output is not None else nullcontext():
        table, seen = _messages(encoder, recipe, conversations, output, resume, force)
        head, history = fit_reply_head(table, recipe)
        encoder.reply_head = head
        if output is not None:
            record = {
                "turnwise": turnwise.__version__,
                "level": recipe.level,
                "recipe": {"method": "reply head", **dataclasses.asdict(recipe)},
                "encoder": encoder_source(encoder),
                "conversations": seen,
                "loss": history,
            }
            save_encoder(encoder, output, record)
            shutil.rmtree(_vectors_folder(output), ignore_errors=True)
    return encoder


def _messages(
    encoder: SentenceTransformer,
    recipe: ReplyHeadRecipe,
    conversations: Given,
    output: str | os.PathLike[str] | None,
    resume: bool,
    force: bool,
) -> tuple[pa.Table, str]:
    """The embedded messages that the head learns from, and for the record what they were made from."""
    teacher = load_encoder(recipe.teacher, device=str(encoder.device)) if recipe.teacher is not None else None
    if isinstance(conversations, str | os.PathLike) and holds_vectors(conversations):
        if teacher is not None:
            given = os.fspath(conversations)
            raise ValueError(f"{given} holds vectors of messages, a teacher reads texts: give the conversations")
        table = read_vectors(conversations, encoder)
        return table, f"{len(table):,} embedded messages"
    conversations = read_conversations(conversations)
    drawn = draw_conversations(conversations.select_columns(["id", "messages"]), recipe.sample, recipe.seed)
    conversations = drop_empty_messages(drawn)
    table = _embedded(encoder, teacher, recipe.context_turns, conversations, output, resume, force)
    return table, fingerprint(conversations)


def _embedded(
    encoder: SentenceTransformer,
    teacher: SentenceTransformer | None,
    context_turns: int,
    conversations: Dataset,
    output: str | os.PathLike[str] | None,
    resume: bool,
    force: bool,
) -> pa.Table:
    """The vectors of all messages; if there is an output, they are made in parts that survive a kill."""
    embed = partial(embed_messages, encoder)
    taught: dict[str, str | None] = {"teacher": None}
    if teacher is not None:
        embed = partial(embed_taught, encoder, teacher, context_turns)
        taught = {"teacher": f"{weights_digest(teacher)}, {context_turns} turns"}
    if output is None:
        return embed(conversations)
    path = _vectors_folder(output) / "vectors.parquet"
    if not (resume and path.is_file()):
        what = {"encoder": encoder_source(encoder), "weights": weights_digest(encoder), "level": "utterance", **taught}
        write_embeddings(embed, what, conversations, path, resume, force)
    return read_vectors(path, encoder, {**taught, "conversations": fingerprint(conversations)})


def _vectors_folder(output: str | os.PathLike[str]) -> Path:
    return Path(output).with_name(f"{Path(output).name}.vectors")
