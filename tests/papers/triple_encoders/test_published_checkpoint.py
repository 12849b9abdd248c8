"""A checkpoint as the authors of the triple-encoders publish it, tokens without prompts, scored by their protocol."""

import logging
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

import turnlens
from sequence_cases import cosine, embedded, numbered
from turnlens.encoders.transformer import transformer_of
from turnlens.papers.next_message.next_message import evaluate_next_message
from turnlens.papers.triple_encoders.short_term_planning import evaluate_short_term_planning
from turnlens.papers.triple_encoders.views import Views, add_views, views_of

SIX = ("[BEFORE]", "[AFTER]", "[B1]", "[B2]", "[O]", "[E]")


@pytest.fixture
def published(tiny_encoder, tmp_path):
    """Saves an encoder as the authors' trainer does: further tokens, embeddings of their own, nothing else."""

    def save(tokens: tuple[str, ...] = SIX) -> Path:
        tiny_encoder.tokenizer.add_tokens(list(tokens), special_tokens=True)
        transformer = transformer_of(tiny_encoder)
        torch.manual_seed(1)
        transformer.resize_token_embeddings(len(tiny_encoder.tokenizer), mean_resizing=False)
        with torch.no_grad():
            transformer.get_input_embeddings().weight[-len(tokens) :].normal_()
        tiny_encoder.save_pretrained(str(tmp_path / "published"), create_model_card=False)
        return tmp_path / "published"

    return save


@pytest.mark.parametrize(
    ("tokens", "views", "before"),
    [
        (SIX, Views(True, True, "published"), ("before1_other", "[B1] [O] [BEFORE] ")),
        (SIX[:4], Views(True, False, "published"), ("before2", "[B2] [BEFORE] ")),
        (("[BEFORE]", "[AFTER]", "[O]", "[E]"), Views(False, True, "published"), ("before_same", "[E] [BEFORE] ")),
        (("[BEFORE]", "[AFTER]"), Views(False, False), ("before", "[BEFORE] ")),
    ],
)
def test_it_is_recognised_by_its_tokens_and_says_so(published, caplog, tokens, views, before) -> None:
    with caplog.at_level(logging.WARNING, "turnlens"):
        encoder = turnlens.load_encoder(published(tokens))
    assert "taken for a published checkpoint" in caplog.text and before[1].split()[-1] in caplog.text
    assert views_of(encoder) == views
    assert encoder.prompts[before[0]] == before[1] and encoder.prompts["after"] == "[AFTER] "
    assert caplog.text.count("published checkpoint") == 1  # not at every look
    assert ("average" in turnlens.ReplyModel(encoder).modes) == views.triple


def test_training_goes_on_in_its_order_of_tokens(published) -> None:
    encoder = turnlens.load_encoder(published(("[BEFORE]", "[AFTER]", "[O]", "[E]")))
    add_views(encoder, "c3l")
    assert encoder.prompts["before1_same"] == "[B1] [E] [BEFORE] "
    add_views(encoder, "c3l", token_order="turnlens")
    assert encoder.prompts["before1_same"] == "[BEFORE] [B1] [E] "


def tokens_of(distance: int) -> str:
    """The speaker token of a text so many turns before the after-text: the speakers take turns."""
    return "[E]" if distance % 2 == 0 else "[O]"


@pytest.mark.slow
def test_next_utterances_are_ranked_as_by_the_authors(published) -> None:
    """The mean rank of each context length among all utterances at that depth, as their evaluator prints it."""
    path, rows = published(), numbered(9, 7)
    stock = SentenceTransformer(str(path), device="cpu")
    stock.prompts = {}
    for last_rows in (None, 2):
        mode = "average" if last_rows is None else f"last-{last_rows}"
        result = evaluate_next_message(embedded(turnlens.load_encoder(path), rows), modes=(mode,))
        for length in range(2, 7):
            ranks = []
            after = [stock.encode("[AFTER] " + row["messages"][length]["content"]) for row in rows]
            for number, row in enumerate(rows):
                texts = [message["content"] for message in row["messages"][:length]]
                one, two = (
                    [
                        stock.encode(f"[{view}] {tokens_of(length - turn)} [BEFORE] {text}")
                        for turn, text in enumerate(texts)
                    ]
                    for view in ("B1", "B2")
                )
                first = 0 if last_rows is None else length - last_rows
                pairs = [(one[i] + two[j]) / 2 for j in range(length) for i in range(j) if j >= first]
                scores = np.array([sum(cosine(pair, candidate) for pair in pairs) for candidate in after])
                ranks.append(1 + (scores > scores[number] + 1e-6).sum())
            found = result.modes[mode].values["average_rank"][result.context_length == length]
            assert found.mean() == pytest.approx(np.mean(ranks))


@pytest.mark.slow
def test_plans_are_ranked_as_by_the_authors(published) -> None:
    path, rows = published(), numbered(6, 7)
    stock = SentenceTransformer(str(path), device="cpu")
    stock.prompts = {}
    others = ["pizza", "my card", "cancel the order"]
    result = evaluate_short_term_planning(
        embedded(turnlens.load_encoder(path), rows), candidates=lambda context, speaker: others, lengths=(3,)
    )
    for distance in (1, 2, 3):
        for row, rank in zip(rows, result.modes["triple"].values["average_rank"][result.distance == distance]):
            texts = [message["content"] for message in row["messages"]]
            goal = stock.encode("[AFTER] " + texts[3 + distance])
            context = [stock.encode(f"[B1] {tokens_of(3 + distance - i)} [BEFORE] {texts[i]}") for i in range(3)]
            scores = []
            for text in (texts[3], *others):
                candidate = stock.encode(f"[B2] {tokens_of(distance)} [BEFORE] {text}")
                mixed = sum(cosine((one + candidate) / 2, goal) for one in context)
                scores.append(len(context) * cosine(candidate, goal) + mixed)
            assert rank == 1 + sum(score > scores[0] + 1e-6 for score in scores)
