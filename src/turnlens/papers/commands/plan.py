"""The command that ranks what could be said next by how well it leads to a goal: `turnlens papers plan`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from turnlens._utils.files import check_file
from turnlens.cli.options import (
    Candidates,
    ConversationFile,
    Force,
    ModelArgument,
    OtherId,
    RankingFile,
    Seed,
    Speaker,
    Top,
)
from turnlens.cli.reading_options import Reading, reads_conversations
from turnlens.cli.reply import messages_to_continue, show_ranking
from turnlens.cli.terminal import quiet_transformers

_LONGEST_GENERATED = 40  # tokens; kept short, since somebody is waiting


@reads_conversations
def plan(
    model: ModelArgument,
    conversation: ConversationFile,
    goal: Annotated[str, typer.Option(help="What should be said a few turns later.")],
    candidates: Candidates = None,
    generator: Annotated[
        str | None,
        typer.Option(help="A causal language model that generates the candidates instead: a folder or a Hub name."),
    ] = None,
    number: Annotated[int, typer.Option(min=1, help="Number of candidates to generate.")] = 100,
    id: OtherId = None,
    top: Top = 10,
    speaker: Speaker = None,
    goal_speaker: Annotated[
        str | None, typer.Option(help="Who says the goal; by default whoever speaks next.", show_default=False)
    ] = None,
    seed: Seed = 0,
    json_file: RankingFile = None,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Rank candidates, given or generated, for the next message by how well they lead to a goal.

    Example: `turnlens papers plan model --conversation chat.jsonl --goal "It is booked." --candidates replies.txt`
    """
    quiet_transformers()
    from turnlens.encoders.loading import load_encoder
    from turnlens.encoders.reply_model import ReplyModel, next_speaker
    from turnlens.papers.triple_encoders.planning import rank
    from turnlens.store.reply_candidates import read_candidates

    if json_file is not None:
        check_file(json_file, force)
    if (candidates is None) == (generator is None):
        raise ValueError(
            f"expected either --candidates or --generator, got {'neither' if generator is None else 'both'}"
        )
    messages = messages_to_continue(conversation, id, reading)
    reply_model = ReplyModel(load_encoder(model))
    who = speaker or next_speaker(messages)
    if candidates is not None:
        texts = read_candidates(candidates, reading.read)
    elif generator is not None:
        texts = _generate(generator, messages, number, who, seed)
    show_ranking(texts, rank(reply_model, messages, texts, goal, who, goal_speaker or who), top, json_file)


def _generate(generator: str, messages: list[dict[str, Any]], number: int, speaker: str | None, seed: int) -> list[str]:
    """Distinct messages that a causal language model generates."""
    from turnlens.papers.generation import generate_candidates

    generated = generate_candidates(
        generator, messages, number, speaker=speaker, seed=seed, top_k=0, max_tokens=_LONGEST_GENERATED
    )
    return list(dict.fromkeys(text for text in generated if text))
