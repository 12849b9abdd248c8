"""The commands that say what could come next: `turnwise reply` and `turnwise plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from turnwise.cli.shared import Force, Seed, console, quiet_transformers, whole_columns, write_json

Model = Annotated[str, typer.Argument(help="A folder or a Hub name.", show_default=False)]
Conversation = Annotated[Path, typer.Option(help="A file of conversations, of which the first is taken.")]
Id = Annotated[str | None, typer.Option("--id", help="Take the conversation of this id instead.")]
Top = Annotated[int, typer.Option(min=1, help="How many to print.")]
Speaker = Annotated[
    str | None, typer.Option(help="Who speaks next; by default who spoke before the last speaker.", show_default=False)
]
Json = Annotated[Path | None, typer.Option("--json", "--output", "-o", help="Write utterances and scores here.")]


def reply(
    model: Model,
    candidates: Annotated[Path, typer.Option(help="A .txt file with one utterance a line, or conversations.")],
    conversation: Conversation,
    id: Id = None,
    top: Top = 10,
    mode: Annotated[
        str | None, typer.Option(help="average, max or bi; by default average, bi if the model has only that.")
    ] = None,
    last_rows: Annotated[int | None, typer.Option(help="Average only pairs with one of the last turns.")] = None,
    speaker: Speaker = None,
    embeddings: Annotated[
        Path | None, typer.Option(help="Keep the candidates' embeddings in this .npy file for the next time.")
    ] = None,
    half: Annotated[bool, typer.Option("--half", help="Keep them in half precision.")] = False,
    json_file: Json = None,
    force: Force = False,
) -> None:
    """Find the best next utterances of a conversation among candidates.

    Example: `turnwise reply model --candidates replies.txt --conversation chat.jsonl`
    """
    quiet_transformers()
    from turnwise._utils.files import check_file
    from turnwise.encoders.loading import load_encoder
    from turnwise.replies.candidates import candidate_embeddings, read_candidates
    from turnwise.replies.sequence import SequenceModel, next_speaker

    if json_file is not None:
        check_file(json_file, force)
    if embeddings is not None:
        check_file(embeddings, force=True)  # those of the same candidates are used again
    messages = _messages(conversation, id)
    texts = read_candidates(candidates)
    sequence_model = SequenceModel(load_encoder(model))
    if embeddings is not None:
        vectors = candidate_embeddings(sequence_model, texts, embeddings, half)
    else:
        vectors = sequence_model.encode_candidates(texts, show_progress_bar=True)
    running = sequence_model.start(speaker or next_speaker(messages))
    for message in messages:
        running.add(message["content"], message["role"])
    chosen: Any = mode or ("average" if sequence_model.is_triple else "bi")
    _show(texts, running.score(vectors, chosen, last_rows), top, json_file)


def plan(
    model: Model,
    conversation: Conversation,
    goal: Annotated[str, typer.Option(help="What should be said some turns later.")],
    candidates: Annotated[
        Path | None, typer.Option(help="A .txt file with one utterance a line, or conversations.")
    ] = None,
    generator: Annotated[
        str | None, typer.Option(help="Instead: a causal language model that makes them, a folder or a Hub name.")
    ] = None,
    number: Annotated[int, typer.Option(min=1, help="Candidates to generate.")] = 100,
    id: Id = None,
    top: Top = 10,
    speaker: Speaker = None,
    goal_speaker: Annotated[
        str | None, typer.Option(help="Who says the goal; by default who speaks next.", show_default=False)
    ] = None,
    seed: Seed = 0,
    json_file: Json = None,
    force: Force = False,
) -> None:
    """Find the next utterances that lead a conversation to a goal, among candidates or generated ones.

    Example: `turnwise plan model --conversation chat.jsonl --goal "Your flight is booked." --candidates replies.txt`
    """
    quiet_transformers()
    from turnwise._utils.files import check_file
    from turnwise.encoders.loading import load_encoder
    from turnwise.replies.candidates import read_candidates
    from turnwise.replies.generation import generate_candidates
    from turnwise.replies.planning import rank
    from turnwise.replies.sequence import SequenceModel, next_speaker

    if json_file is not None:
        check_file(json_file, force)
    if (candidates is None) == (generator is None):
        raise ValueError("expected either --candidates or --generator")
    messages = _messages(conversation, id)
    sequence_model = SequenceModel(load_encoder(model))
    who = speaker or next_speaker(messages)
    if candidates is not None:
        texts = read_candidates(candidates)
    else:
        assert generator is not None
        generated = generate_candidates(generator, messages, number, speaker=who, seed=seed)
        texts = list(dict.fromkeys(text for text in generated if text))
    _show(texts, rank(sequence_model, messages, texts, goal, who, goal_speaker or who), top, json_file)


def _messages(path: Path, id: str | None) -> list[dict[str, Any]]:
    """The turns of one conversation of a file."""
    from turnwise.data.conversations import read_conversations

    for row in read_conversations(path):
        if id is None or row["id"] == id:
            return list(row["messages"])
    raise ValueError(f"{path}: found no conversation {id!r}")


def _show(texts: list[str], scores: np.ndarray, top: int, json_file: Path | None) -> None:
    """Write the best, the first of equals first, if asked to, and print them."""
    order = np.argsort(-scores, kind="stable")[:top]
    if json_file is not None:
        write_json(json_file, [{"utterance": texts[row], "score": float(scores[row])} for row in order])
    table = whole_columns("rank", "score", "utterance")
    for place, row in enumerate(order, start=1):
        table.add_row(str(place), f"{scores[row]:.3f}", texts[row])
    console.print(table)
