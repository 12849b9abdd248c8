import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

import turnlens
from closeness import assert_same_vectors, rounding
from turnlens.encoders.messages import encode_contexts
from turnlens.encoders.reply_model import ComposedReplies, ReplyModel, next_speaker
from turnlens.papers.next_message.next_message import evaluate_next_message
from turnlens.papers.next_message.sequences import EmbeddedSequences, build_sequences

TURNS = ["hello", "what do you want", "i want a pizza"]


def test_a_plain_encoder_sums_cosines(tiny_encoder: SentenceTransformer) -> None:
    model = ReplyModel(tiny_encoder)
    running = model.start("user")
    for text in TURNS:
        running.add(text, "user")
    units = [vector / np.linalg.norm(vector) for vector in tiny_encoder.encode([*TURNS, "yes please"])]
    candidates = model.encode_candidates(["yes please"])
    np.testing.assert_allclose(running.score(candidates, "bi"), [sum(units[:3]) @ units[3]], atol=rounding(3))
    stored = model.encode_candidates(["yes please"], vectors=tiny_encoder.encode(["yes please"]))
    np.testing.assert_allclose(stored, candidates, atol=rounding())


def test_each_turn_is_encoded_once(tiny_encoder: SentenceTransformer, texts_read_by) -> None:
    seen = texts_read_by(tiny_encoder)
    running = ReplyModel(tiny_encoder).start()
    for text in TURNS:
        running.add(text, "user")
        running.query_of("bi")
        running.query_of("bi")
    assert seen == TURNS


def test_mistakes_are_told(tiny_encoder: SentenceTransformer) -> None:
    running = ReplyModel(tiny_encoder).start("user")
    with pytest.raises(ValueError, match="no turn yet"):
        running.query_of()
    running.add("hello", "user")
    with pytest.raises(ValueError, match="turn 1: expected a text, got None"):
        running.add(None, "user")  # type: ignore[arg-type]
    for mode in ("average", "max", "composed"):
        with pytest.raises(ValueError, match="is not one of this model's, which are bi, joined"):
            running.score(np.ones((1, 32), np.float32), mode)


@pytest.mark.parametrize(("speakers", "following"), [("ab", "a"), ("abb", "a"), ("abc", "b"), ("a", None), ("", None)])
def test_who_speaks_next(speakers: str, following: str | None) -> None:
    assert next_speaker([{"role": speaker, "content": "…"} for speaker in speakers]) == following


SPOKEN = [("a", "i want a pizza"), ("b", "my card"), ("b", "the order"), ("a", "cancel the flight"), ("c", "thanks")]
CANDIDATES = ["my pizza", "cancel", "the card", "order thanks"]


@pytest.fixture
def with_head(tiny_encoder, add_head) -> SentenceTransformer:
    return add_head(tiny_encoder)


def test_a_running_conversation_scores_as_the_head_does(with_head: SentenceTransformer, texts_read_by) -> None:
    model = ComposedReplies(with_head)
    seen = texts_read_by(with_head)
    candidates = model.encode_candidates(CANDIDATES)
    assert_same_vectors(candidates, model.encode_candidates(CANDIDATES, with_head.encode(CANDIDATES)))
    seen.clear()
    running, units = model.start("a"), with_head.encode_messages([text for _, text in SPOKEN])
    units = torch.from_numpy(units / np.linalg.norm(units, axis=1, keepdims=True))
    seen.clear()
    for count, (speaker, text) in enumerate(SPOKEN, start=1):
        running.add(text, speaker)
        latest = list(range(count - 1, max(-1, count - 4), -1))
        same = torch.tensor([[SPOKEN[turn][0] == "a" for turn in latest]])
        query = with_head.reply_head.queries(units[latest][None], same, torch.ones_like(same)).detach().numpy()[0]
        np.testing.assert_allclose(running.score(candidates), candidates @ query, atol=rounding())
    assert seen == [text for _, text in SPOKEN]  # each message is encoded once


def test_modes_that_the_model_lacks(with_head: SentenceTransformer) -> None:
    model = turnlens.ReplyModel(with_head)
    running = model.start()
    with pytest.raises(ValueError, match="no turn yet"):
        running.query_of()
    running.add("my card", "a")
    with pytest.raises(ValueError, match="one of this model's, which are composed"):
        running.score(model.encode_candidates(CANDIDATES), "bi")


def test_joined_contexts_of_a_plain_encoder(tiny_encoder: SentenceTransformer) -> None:
    model = turnlens.ReplyModel(tiny_encoder)
    candidates, running = model.encode_candidates(CANDIDATES), model.start("a")
    for speaker, text in SPOKEN * 3:
        running.add(text, speaker)
    texts = [text for _, text in SPOKEN * 3][-10:]
    expected = candidates @ encode_contexts(tiny_encoder, [texts])[0]
    np.testing.assert_allclose(running.score(candidates, "joined"), expected, atol=rounding())


def test_next_utterance_ranks_as_running_conversations_do(with_head: SentenceTransformer) -> None:
    generator = np.random.default_rng(0)
    words = ["card", "order", "pizza", "flight", "cancel", "thanks", "my", "the"]
    rows = [
        {
            "id": str(number),
            "messages": [
                # three speakers, nobody twice in a row: such messages would count as one
                {"role": f"s{role % 3}", "content": " ".join(generator.choice(words, 3))}
                for role in np.cumsum(generator.integers(1, 3, size=6))
            ],
        }
        for number in range(8)
    ]
    result = evaluate_next_message(EmbeddedSequences(with_head, build_sequences(rows)), modes=["composed"], lengths=[4])
    model, expected = turnlens.ReplyModel(with_head), []
    texts = [row["messages"][4]["content"] for row in rows]
    candidates = model.encode_candidates(texts)
    for number, row in enumerate(rows):
        running = model.start(row["messages"][4]["role"])
        for message in row["messages"][:4]:
            running.add(message["content"], message["role"])
        scores = running.score(candidates)
        expected.append(1 + (scores > scores[number] + 1e-6).sum())
    assert result.modes["composed"].values["average_rank"].tolist() == expected


def test_composed_comes_first_for_encoders_with_head(with_head: SentenceTransformer) -> None:
    rows = turnlens.sample_conversations(12).to_list()
    figures = turnlens.evaluate(rows, encoder=with_head, tasks="next-message")["next_message"]
    assert next(iter(figures)) == "composed"


@pytest.mark.parametrize("goal_speaker", ["a", "b", "nobody"])
def test_a_plan_is_how_well_the_goal_follows(with_head: SentenceTransformer, goal_speaker: str) -> None:
    model = turnlens.ReplyModel(with_head)
    context = [{"role": speaker, "content": text} for speaker, text in SPOKEN]
    expected = []
    for candidate in CANDIDATES:  # each is said in turn, and then the goal is the only candidate
        running = model.start(goal_speaker)
        for speaker, text in [*SPOKEN, ("a", candidate)]:
            running.add(text, speaker)
        expected.append(running.score(model.encode_candidates(["cancel my order"]))[0])
    scores = turnlens.papers.planning.rank(model, context, CANDIDATES, "cancel my order", "a", goal_speaker)
    np.testing.assert_allclose(scores, expected, atol=rounding())
