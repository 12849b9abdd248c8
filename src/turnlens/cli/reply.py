"""The command that ranks what could be said next: `turnlens reply`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from turnlens._utils.files import existing_file, is_standard
from turnlens._utils.progress import show
from turnlens.cli.options import ConversationFile, OptionalOutput, Reading, Top, reads_conversations
from turnlens.cli.store import require_hits
from turnlens.cli.tables import check_json, print_hits, print_rows, write_json
from turnlens.cli.terminal import use_one_thread

if TYPE_CHECKING:
    import numpy as np
    from datasets import Dataset


@reads_conversations
def reply(
    conversation: ConversationFile,
    model: Annotated[str | None, typer.Argument()] = None,
    candidates: Path | None = None,
    store: str | None = None,
    where: str | None = None,
    id: str | None = None,
    top: Top = 10,
    mode: str | None = None,
    speaker: str | None = None,
    json_file: OptionalOutput = None,
    force: bool = False,
    *,
    reading: Reading,
) -> None:
    """Rank candidates for the next message of a conversation.

    Example: `turnlens reply model --candidates replies.txt --conversation chat.jsonl`

    Options:
        model: A folder or a Hub name; if left out, that of the store, or else the default encoder.
        store: A store whose messages by the next speaker are the candidates, instead of --candidates.
        mode: How to score: composed, bi or joined, or as a paper does; by default the first that the model supports.
    """
    use_one_thread()
    from turnlens.encoders.loading import load_encoder
    from turnlens.encoders.reply_model import ReplyModel, next_speaker

    check_json(json_file, force)
    if candidates is None or store is not None:
        if candidates is not None or store is None:
            raise ValueError(f"expected either --candidates or --store, got {'neither' if store is None else 'both'}")
        settings = {"where": where, "limit": top, "mode": mode, "speaker": speaker}
        _reply_from_store(store, model, messages_to_continue(conversation, id, reading), settings, json_file)
        return
    if where is not None:
        raise ValueError("--where belongs to --store")
    messages = messages_to_continue(conversation, id, reading)
    texts = read_candidates(candidates, reading.read)
    reply_model = ReplyModel(load_encoder(model))
    vectors = reply_model.encode_candidates(texts, show_progress_bar=True)
    running = reply_model.start(speaker or next_speaker(messages))
    for message in messages:
        running.add(message["content"], message["role"])
    show_ranking(texts, running.score(vectors, mode), top, json_file)


def _reply_from_store(
    path: str, model: str | None, messages: list[dict[str, Any]], settings: dict[str, Any], json_file: Path | None
) -> None:
    from turnlens.store import ConversationStore

    opened = ConversationStore.open(path, encoder=model, create=False, read_only=True)
    hits = [asdict(hit) for hit in opened.next_replies(messages, **settings)]
    require_hits(opened, hits, settings["where"], "message")
    probability = hits[0]["probability"] if hits else None
    show(
        "No suggestion: no reply is likely to fit."
        if probability is None
        else f"Suggested first: {probability:.0%} sure.",
        apart=json_file is not None and is_standard(json_file),
    )
    write_json(json_file, [{"message": hit["text"], "score": hit["score"], **hit} for hit in hits])
    print_hits(hits)


def messages_to_continue(path: Path, id: str | None, reading: Reading) -> list[dict[str, Any]]:
    """The messages with text of one conversation of a file, prepared as for training."""
    for row in reading.rows(path):
        if id is None or row["id"] == id:
            if messages := [message for message in row["messages"] if message["content"].strip()]:
                return messages
            raise ValueError(f"{path}: the conversation {row['id']!r} has no message with text")
    raise ValueError(f"{path}: found no conversation {id!r}")


def read_candidates(path: str | os.PathLike[str], read: Callable[[Path], Dataset]) -> list[str]:
    """The distinct messages of a ``.txt`` file with one message per line, or of any file of conversations.

    Args:
        path: The file.
        read: Reads conversations.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: There are no messages, or the file cannot be read.
    """
    from turnlens.data.messages import distinct_texts
    from turnlens.formats.input_files import standard_input

    path = standard_input() if is_standard(path) else Path(path)
    if path.suffix == ".txt":
        existing_file(path, "candidates, a text file with one message a line")
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            raise ValueError(f"{path}: not UTF-8 text; save the file as UTF-8") from None
        candidates = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    else:
        candidates = distinct_texts(read(path))
    if not candidates:
        raise ValueError(f"{path}: found no message, expected one a line")
    return candidates


def show_ranking(texts: list[str], scores: np.ndarray, top: int, json_file: Path | None) -> None:
    """Print the best texts, ties in their given order, and write them to the file if there is one."""
    order = (-scores).argsort(kind="stable")[:top]
    ranking = [{"message": texts[row], "score": float(scores[row])} for row in order]
    if write_json(json_file, ranking):
        rows = [[str(place), f"{row['score']:.3f}", row["message"]] for place, row in enumerate(ranking, start=1)]
        print_rows(["rank", "score", "message"], rows)
