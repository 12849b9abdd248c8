from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import GPT2LMHeadModel

from closeness import rounding
from sequence_cases import cosine
from turnlens.encoders.reply_model import ReplyModel
from turnlens.papers.generation import generate_candidates
from turnlens.papers.triple_encoders.planning import bi_plan_scores, rank, triple_plan_scores

CONTEXT = [
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": "what do you want"},
    {"role": "assistant", "content": "hello"},
    {"role": "supervisor", "content": "yes"},
]
CANDIDATES = ["a pizza", "cancel my flight", "a pizza"]


def literal_triple(before1: np.ndarray, candidate: np.ndarray, goal: np.ndarray) -> float:
    """Eq. 4."""
    pairs = sum(cosine((one + candidate) / 2, goal) for one in before1)
    return len(before1) * cosine(candidate, goal) + pairs


def test_scores_of_many_contexts_at_once() -> None:
    generator = np.random.default_rng(0)
    before1, candidates, goals = (generator.normal(size=shape) for shape in ((3, 4, 6), (3, 5, 6), (3, 6)))
    each = [triple_plan_scores(*one) for one in zip(before1, candidates, goals)]
    np.testing.assert_allclose(triple_plan_scores(before1, candidates, goals), each, rtol=1e-12)


@pytest.mark.parametrize("goal_speaker", ["user", "assistant"])
def test_texts_are_ranked_in_their_views(tiny_encoder, with_views, goal_speaker: str) -> None:
    model = ReplyModel(with_views(tiny_encoder, "c3l"))

    def relation(speaker: str) -> str:
        return "same" if speaker == goal_speaker else "other"

    goal = tiny_encoder.encode("your flight is booked", prompt_name="after")
    before1 = np.stack(
        [tiny_encoder.encode(m["content"], prompt_name=f"before1_{relation(m['role'])}") for m in CONTEXT]
    )
    before2 = tiny_encoder.encode(CANDIDATES, prompt_name=f"before2_{relation('user')}")
    scores = rank(model, CONTEXT, CANDIDATES, "your flight is booked", "user", goal_speaker)
    np.testing.assert_allclose(
        scores, [literal_triple(before1, one, goal) for one in before2], atol=rounding(2 * len(CONTEXT))
    )
    np.testing.assert_allclose(
        rank(model, CONTEXT[:1], CANDIDATES[1:2], "your flight is booked", "user", goal_speaker),
        [literal_triple(before1[:1], before2[1], goal)],
        atol=rounding(2),
    )


@pytest.mark.parametrize("views", ["ccl", None])
def test_other_models_compare_candidate_and_goal(tiny_encoder, with_views, views) -> None:
    model = ReplyModel(with_views(tiny_encoder, views) if views else tiny_encoder)
    before = tiny_encoder.encode(CANDIDATES, prompt_name="before_other" if views else None)
    goal = tiny_encoder.encode("thanks", prompt_name="after" if views else None)
    scores = rank(model, CONTEXT, CANDIDATES, "thanks", "user", "assistant")
    np.testing.assert_allclose(scores, [cosine(one, goal) for one in before], atol=rounding())


def test_mistakes_are_told(tiny_encoder) -> None:
    model = ReplyModel(tiny_encoder)
    with pytest.raises(ValueError, match="got 0 turns and 3 candidates"):
        rank(model, [], CANDIDATES, "thanks")
    with pytest.raises(ValueError, match="got 4 turns and 0 candidates"):
        rank(model, CONTEXT, [], "thanks")
    vectors = np.ones((2, 4))
    for candidates in (vectors[:0], vectors[:, 1:], vectors[0]):
        with pytest.raises(ValueError, match="at least one candidate"):
            bi_plan_scores(candidates, np.ones(4))
    for context in (vectors[:0], vectors[:, 1:]):
        with pytest.raises(ValueError, match="at least one context utterance"):
            triple_plan_scores(context, vectors, np.ones(4))


@pytest.fixture
def generator(save_generator, tmp_path: Path) -> str:
    return save_generator(tmp_path / "generator")


def prompts_of(monkeypatch, name: str, context: list[dict[str, str]], **options: object) -> list[int]:
    """The token ids a generator is given."""
    seen: list[list[int]] = []
    generate = GPT2LMHeadModel.generate

    def watched(model, prompt, **settings):
        seen.extend(prompt.tolist())
        return generate(model, prompt, **settings)

    monkeypatch.setattr(GPT2LMHeadModel, "generate", watched)
    generate_candidates(name, context, n=1, device="cpu", **options)
    return seen[0]


def test_candidates_are_generated_by_seed(generator: str) -> None:
    state = torch.get_rng_state()
    first, again, other = (generate_candidates(generator, CONTEXT, n=25, seed=seed, device="cpu") for seed in (0, 0, 1))
    assert len(first) == len(other) == 25 and all(isinstance(text, str) for text in first)
    assert first == again != other
    words = {word for text in first for word in text.split()}
    assert words <= {"hello", "yes", "no", "pizza", "card", "thanks", "U:", "A:"}
    assert torch.equal(torch.get_rng_state(), state)
    # Sampling the likeliest token only is deterministic, whatever the seed.
    assert len(set(generate_candidates(generator, CONTEXT, n=3, top_p=1e-6, device="cpu"))) == 1


def test_utterances_end_where_the_model_ends_them_unless_they_are_cut(generator: str, monkeypatch) -> None:
    limits: list[dict[str, object]] = []
    generate = GPT2LMHeadModel.generate
    monkeypatch.setattr(
        GPT2LMHeadModel, "generate", lambda *args, **settings: (limits.append(settings), generate(*args, **settings))[1]
    )
    generate_candidates(generator, CONTEXT[:1], n=1, device="cpu")
    generate_candidates(generator, CONTEXT[:1], n=1, device="cpu", max_tokens=5, top_k=3)
    assert limits[0]["max_new_tokens"] == 32 - 2 and "top_k" not in limits[0]
    assert limits[1]["max_new_tokens"] == 5 and limits[1]["top_k"] == 3
    with pytest.raises(ValueError, match="max_tokens >= 1 and top_k >= 0, got 0 and None"):
        generate_candidates(generator, CONTEXT, max_tokens=0)


def test_the_prompt_is_the_turns_each_ended_without_the_oldest_where_the_model_ends(
    generator: str, monkeypatch
) -> None:
    short = [{"role": "a", "content": text} for text in ("hello", "yes no")]
    assert prompts_of(monkeypatch, generator, short) == [2, 0, 3, 4, 0]
    long = [{"role": "a", "content": "card " * 10}, *({"role": "b", "content": "yes no no"} for _ in range(4))]
    # 32 positions, half of which are for the reply: four turns of four tokens, and not the one before
    assert prompts_of(monkeypatch, generator, long) == [3, 4, 4, 0] * 4
    assert prompts_of(monkeypatch, generator, [{"role": "a", "content": "card " * 30}]) == [6] * 15 + [0]


def test_a_chat_template_makes_the_speaker_the_assistant(save_generator, tmp_path: Path, monkeypatch) -> None:
    template = (
        "{% for m in messages %}{{ 'A: ' if m.role == 'assistant' else 'U: ' }}{{ m.content }} {% endfor %}"
        "{% if add_generation_prompt %}A: {% endif %}"
    )
    name = save_generator(tmp_path / "chat", template)
    context = [("ann", "hello"), ("ben", "pizza"), ("ann", "yes"), ("cleo", "no")]
    messages = [{"role": role, "content": text} for role, text in context]
    assert prompts_of(monkeypatch, name, messages, speaker="ben") == [8, 2, 9, 5, 8, 3, 4, 9]
    strict = save_generator(tmp_path / "strict", "{{ raise_exception('roles must alternate') }}")
    with pytest.raises(ValueError, match=r"does not take this conversation: roles must alternate"):
        generate_candidates(strict, messages, n=1, device="cpu")


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{{ 1 // 0 }}", "division"),
        ("{{ messages.nothing.more }}", "has no attribute"),
        ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "not rendered after 1 sec"),
    ],
)
def test_a_chat_template_that_fails_or_does_not_end(
    save_generator, tmp_path: Path, monkeypatch, template: str, problem: str
) -> None:
    monkeypatch.setattr("turnlens.papers.generation._LONGEST_RENDERING", 1.0)
    name = save_generator(tmp_path / "chat", template)
    with pytest.raises(ValueError, match=rf"chat template does not take this conversation: .*{problem}"):
        generate_candidates(name, CONTEXT, n=1, device="cpu")


def test_mistakes_of_generating_are_told(generator: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one utterance"):
        generate_candidates(generator, [])
    for wrong in ({"n": 0}, {"top_p": 0.0}, {"temperature": 0.0}):
        with pytest.raises(ValueError, match="expected n >= 1"):
            generate_candidates(generator, CONTEXT, **wrong)
    with pytest.raises(ValueError, match="cannot load the generator"):
        generate_candidates(str(tmp_path / "nowhere"), CONTEXT)
