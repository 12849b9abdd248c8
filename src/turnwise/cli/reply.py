"""The commands that rank what could be said next: `turnwise reply` and `turnwise papers plan`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnwise._utils.files import check_file, is_standard
from turnwise.cli.options import (
    Candidates,
    ConversationFile,
    EmbeddingsFile,
    Force,
    Generator,
    GivenStore,
    Goal,
    GoalSpeaker,
    Half,
    Mode,
    ModelArgument,
    Number,
    OtherId,
    RankingFile,
    Seed,
    Speaker,
    Top,
    Where,
)
from turnwise.cli.reading import Reading, reads_conversations
from turnwise.cli.tables import print_hits, print_ranking, write_json
from turnwise.cli.terminal import quiet_transformers

if TYPE_CHECKING:
    import numpy as np

    from turnwise.replies.reply_model import ReplyModel

_LONGEST_GENERATED = 40  # tokens; kept short, since somebody is waiting


@reads_conversations
def reply(
    model: ModelArgument,
    conversation: ConversationFile,
    candidates: Candidates = None,
    store: GivenStore = None,
    where: Where = None,
    id: OtherId = None,
    top: Top = 10,
    mode: Mode = None,
    speaker: Speaker = None,
    embeddings: EmbeddingsFile = None,
    half: Half = False,
    json_file: RankingFile = None,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Rank candidates for the next message of a conversation.

    Example: `turnwise reply model --candidates replies.txt --conversation chat.jsonl`
    """
    quiet_transformers()
    from turnwise.encoders.loading import load_encoder
    from turnwise.replies.candidates import read_candidates
    from turnwise.replies.reply_model import ReplyModel, next_speaker

    if json_file is not None:
        check_file(json_file, force)
    if candidates is None or store is not None:
        if candidates is not None or store is None:
            raise ValueError(f"expected either --candidates or --store, got {'neither' if store is None else 'both'}")
        if embeddings is not None:
            raise ValueError("--embeddings belongs to --candidates: a store keeps its own")
        settings = {"where": where, "limit": top, "mode": mode, "speaker": speaker}
        _reply_from_store(store, model, _messages(conversation, id, reading), settings, json_file)
        return
    if where is not None:
        raise ValueError("--where belongs to --store")
    if embeddings is not None:
        check_file(embeddings, force=True)  # an earlier file with the same candidates is reused
    messages = _messages(conversation, id, reading)
    texts = read_candidates(candidates, reading.read)
    reply_model = ReplyModel(load_encoder(model))
    vectors = _embed_candidates(reply_model, texts, embeddings, half)
    running = reply_model.start(speaker or next_speaker(messages))
    for message in messages:
        running.add(message["content"], message["role"])
    _show(texts, running.score(vectors, mode), top, json_file)


def _reply_from_store(
    path: str, model: str, messages: list[dict[str, Any]], settings: dict[str, Any], json_file: Path | None
) -> None:
    from turnwise.store import ConversationStore

    opened = ConversationStore.open(path, encoder=model, read_only=True)
    hits = [asdict(hit) for hit in opened.next_replies(messages, **settings)]
    if json_file is not None:
        write_json(json_file, [{"message": hit["text"], "score": hit["score"], **hit} for hit in hits])
    print_hits(hits)


@reads_conversations
def plan(
    model: ModelArgument,
    conversation: ConversationFile,
    goal: Goal,
    candidates: Candidates = None,
    generator: Generator = None,
    number: Number = 100,
    id: OtherId = None,
    top: Top = 10,
    speaker: Speaker = None,
    goal_speaker: GoalSpeaker = None,
    seed: Seed = 0,
    json_file: RankingFile = None,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Rank candidates, given or generated, for the next message by how well they lead to a goal.

    Example: `turnwise papers plan model --conversation chat.jsonl --goal "It is booked." --candidates replies.txt`
    """
    quiet_transformers()
    from turnwise.encoders.loading import load_encoder
    from turnwise.papers.triple_encoders.planning import rank
    from turnwise.replies.candidates import read_candidates
    from turnwise.replies.reply_model import ReplyModel, next_speaker

    if json_file is not None:
        check_file(json_file, force)
    if (candidates is None) == (generator is None):
        raise ValueError(
            f"expected either --candidates or --generator, got {'neither' if generator is None else 'both'}"
        )
    messages = _messages(conversation, id, reading)
    reply_model = ReplyModel(load_encoder(model))
    who = speaker or next_speaker(messages)
    if candidates is not None:
        texts = read_candidates(candidates, reading.read)
    elif generator is not None:
        texts = _generate(generator, messages, number, who, seed)
    _show(texts, rank(reply_model, messages, texts, goal, who, goal_speaker or who), top, json_file)


def _messages(path: Path, id: str | None, reading: Reading) -> list[dict[str, Any]]:
    """The messages with text of one conversation of a file, prepared as for training."""
    for row in reading.read(path):
        if id is None or row["id"] == id:
            if messages := [message for message in row["messages"] if message["content"].strip()]:
                return messages
            raise ValueError(f"{path}: the conversation {row['id']!r} has no message with text")
    raise ValueError(f"{path}: found no conversation {id!r}")


def _embed_candidates(model: ReplyModel, texts: list[str], file: Path | None, half: bool) -> np.ndarray:
    """The embeddings of candidates (len(texts), dim), kept in a file if one is given."""
    from turnwise.replies.candidates import candidate_embeddings

    if file is not None:
        return candidate_embeddings(model, texts, file, half)
    return model.encode_candidates(texts, show_progress_bar=True)


def _generate(generator: str, messages: list[dict[str, Any]], number: int, speaker: str | None, seed: int) -> list[str]:
    """Distinct messages that a causal language model generates."""
    from turnwise.papers.generation import generate_candidates

    generated = generate_candidates(
        generator, messages, number, speaker=speaker, seed=seed, top_k=0, max_tokens=_LONGEST_GENERATED
    )
    return list(dict.fromkeys(text for text in generated if text))


def _show(texts: list[str], scores: np.ndarray, top: int, json_file: Path | None) -> None:
    """Print the best texts, ties in their given order, and write them to the file if there is one."""
    order = (-scores).argsort(kind="stable")[:top]
    ranking = [{"message": texts[row], "score": float(scores[row])} for row in order]
    if json_file is not None:
        write_json(json_file, ranking)
    if json_file is None or not is_standard(json_file):
        print_ranking(ranking)
