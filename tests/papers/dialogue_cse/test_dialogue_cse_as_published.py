"""DialogueCSE as published: negatives of the corpus, samples as units, Eq. 7 read literally, n turns in all."""

import random

import pytest
import torch
from datasets import Dataset

from turnlens.papers.dialogue_cse.loss import DialogueCSELoss, DialogueCSESettings, context_turns_of
from turnlens.papers.dialogue_cse.recipe import PublishedDialogueCSE
from turnlens.papers.dialogue_cse.response_negatives import (
    ReleasedNegatives,
    ResponseNegatives,
    ResponseNegativesCollator,
)
from turnlens.papers.dialogue_cse.table import SUITE
from turnlens.papers.experiments.runner import Cell
from turnlens.papers.pieces import PieceCollator, UtterancePool, cut_samples

from .test_dialogue_cse import literal_similarity


def tokens_of(encoder, text: str) -> torch.Tensor:
    features = encoder.tokenize([text])
    return encoder(features)["token_embeddings"][0].double()


@pytest.mark.parametrize("count", ["each-side", "in-all"])
def test_samples_with_negatives_of_the_corpus_equal_the_literal_formula(tiny_encoder, conversations, count) -> None:
    settings = DialogueCSESettings(
        context_turns=2, context_count=count, aggregation="attention", turn_weights="tokens", negatives=3
    )
    loss = DialogueCSELoss(tiny_encoder, settings)
    torch.nn.init.normal_(loss.turn_scorer[0].weight)
    collate = ResponseNegativesCollator(tiny_encoder, negatives=ResponseNegatives(UtterancePool(conversations), 3))
    pieces = cut_samples(conversations, settings.reach)
    assert settings.reach == (2 if count == "each-side" else 1)
    rows = []
    PieceCollator(rows.extend, conversations)([pieces[number] for number in (2, 5, 9)])
    with torch.no_grad():
        found = loss([{name.removeprefix("messages_"): value for name, value in collate(rows).items()}])
        scorer = loss.turn_scorer.double()
        losses = []
        for row in rows:
            texts, place = [message["content"] for message in row["messages"]], row["response"]
            context = [tokens_of(tiny_encoder, text) for turn, text in enumerate(texts) if turn != place]
            (drawn,) = collate.negatives.of(row["id"], row["start"], row["messages"], [place])
            assert len(drawn) == 3 and texts[place] not in drawn
            candidates = [tokens_of(tiny_encoder, text) for text in (texts[place], *drawn)]
            literal = [literal_similarity(context, one, scorer, padded=True) for one in candidates]
            logits = torch.stack(literal) / settings.temperature
            losses.append(logits.logsumexp(0) - logits[0])
        torch.testing.assert_close(found.double(), torch.stack(losses).mean(), rtol=1e-4, atol=1e-5)


def test_whole_conversations_may_have_negatives_of_the_corpus(tiny_encoder, conversations, check_learning) -> None:
    collate = ResponseNegativesCollator(tiny_encoder, negatives=ResponseNegatives(UtterancePool(conversations), 4))
    batch = collate(list(conversations))
    assert (batch["messages_negative_text"] >= 0).all()
    check_learning(DialogueCSELoss(tiny_encoder, DialogueCSESettings(negatives=4)), batch)


def test_n_turns_in_all_are_the_nearest_one_before_before_one_after() -> None:
    conversation = torch.tensor([0] * 6)
    for count, expected in [(1, [2]), (2, [2, 4]), (3, [1, 2, 4]), (4, [1, 2, 4, 5])]:
        found = context_turns_of(conversation, count, "in-all")
        assert found[3].tolist() == expected
    assert context_turns_of(conversation, 2, "in-all")[0].tolist() == [-1, 1]


def test_negatives_have_the_role_of_the_response_if_asked() -> None:
    rows = [
        {"id": str(number), "messages": [{"role": role, "content": f"{number} {role}"} for role in ("user", "agent")]}
        for number in range(6)
    ]
    pool = UtterancePool(Dataset.from_list(rows))
    messages = rows[2]["messages"]
    for drawn, role in zip(ResponseNegatives(pool, 20, same_role=True).of("2", 0, messages, [0, 1]), ("user", "agent")):
        assert {text.split()[1] for text in drawn} == {role} and "2" not in {text.split()[0] for text in drawn}
    (anyone,) = ResponseNegatives(pool, 40).of("2", 0, messages, [0])
    assert {text.split()[1] for text in anyone} == {"user", "agent"}
    fresh = ResponseNegatives(pool, 20, epoch=1).of("2", 0, messages, [0])
    assert fresh != ResponseNegatives(pool, 20).of("2", 0, messages, [0])


def test_a_conversation_is_drawn_before_one_of_its_utterances() -> None:
    rows = [{"id": "own", "messages": [{"role": "a", "content": "mine"}]}]
    rows += [{"id": "short", "messages": [{"role": "a", "content": "rare"}]}]
    rows += [{"id": "long", "messages": [{"role": "a", "content": str(turn)} for turn in range(99)]}]
    pool = UtterancePool(Dataset.from_list(rows))
    (drawn,) = ResponseNegatives(pool, 400).of("own", 0, rows[0]["messages"], [0])
    assert 150 < drawn.count("rare") < 250 and len(set(drawn)) > 60 and "mine" not in drawn  # drawn at once, about 4
    assert pool.draw_by_conversation("nobody", "own", random.Random(0)) != "mine"


def test_each_data_set_is_read_as_the_paper_reads_it() -> None:
    def settings(name: str) -> list[tuple[int, int | None]]:
        data = next(data for data in SUITE.data if data.name == name)
        adapted, trained = Cell(data, SUITE.methods_by_name["dialogue-cse-paper"], 0).trainings(SUITE.full)
        return [(adapted.settings.max_length, None), (trained.settings.max_length, trained.settings.min_turns)]

    assert {name: settings(name) for name in ("jddc", "mdc", "ecd")} == {
        "jddc": [(100, None), (100, 4)],
        "mdc": [(50, None), (50, 2)],
        "ecd": [(50, None), (50, 4)],
    }


def test_a_corpus_that_says_one_thing_has_no_negatives() -> None:
    rows = [{"id": str(number), "messages": [{"role": "a", "content": "yes"}] * 2} for number in range(3)]
    negatives = ResponseNegatives(UtterancePool(Dataset.from_list(rows)), 1)
    with pytest.raises(ValueError, match="no utterance outside the conversation '0' found that differs"):
        negatives.of("0", 0, rows[0]["messages"], [0])


def released(texts: list[str], response: int, negatives: list[str]) -> list[dict]:
    messages = [{"role": "ab"[turn % 2], "content": text, "negatives": None} for turn, text in enumerate(texts)]
    messages[response]["negatives"] = negatives
    return messages


def test_released_negatives_are_those_of_the_response_and_new_in_each_epoch() -> None:
    messages = released(["hello", "hi there"], 1, ["no", "yes", "maybe", "hi there"])
    (drawn,) = ReleasedNegatives(3).of("0", 0, messages, [1])
    assert sorted(drawn) == ["maybe", "no", "yes"]
    (many,) = ReleasedNegatives(5).of("0", 0, messages, [1])
    assert len(many) == 5 and set(many) <= {"maybe", "no", "yes"}
    assert len({tuple(ReleasedNegatives(2, epoch=epoch).of("0", 0, messages, [1])[0]) for epoch in range(20)}) > 1


def test_a_corpus_released_with_negatives_is_learned_from_with_these(tiny_encoder) -> None:
    rows = [
        {"id": "0", "messages": released(["where is it", "on its way", "thanks"], 1, ["red", "blue"])},
        {"id": "1", "messages": released(["too late", "sorry", "refund me", "done"], 3, ["green", "done"])},
    ]
    recipe = PublishedDialogueCSE(negatives=2, adaptation=None)
    inputs = recipe.inputs(tiny_encoder, Dataset.from_list(rows))
    samples = inputs["train_dataset"].to_list()
    assert [(sample["row"], sample["start"] + sample["response"]) for sample in samples] == [(0, 1), (1, 3)]
    batch = inputs["data_collator"](samples)
    assert (batch["messages_negative_text"] >= 0).any(1).sum() == 2
