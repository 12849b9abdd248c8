import copy
import dataclasses
import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from sklearn.metrics import adjusted_rand_score

import turnlens
from turnlens.data.messages import texts_of
from turnlens.training.held_out import HeldOut, compare_figures
from turnlens.training.recipes import Complete
from turnlens.training.reply_head import FitReplyHead
from turnlens.training.run import Run, TrainingState
from turnlens.training.steps import EmbedMessages, FitProjection, Learn, LearnTaskVector, SelectInterpolation

RECIPE = Complete(batch_size=64, max_steps=3, learning_rate=1e-3)
CHANCE = np.broadcast_to([9.0] + 9 * [-0.5], (10, 10))  # a gain by one conversation, or draw, of ten
SETTINGS = {"batch_size": 64, "max_steps": 3, "checkpoint_steps": 2}


@pytest.fixture(scope="module")
def corpus() -> Dataset:
    return turnlens.sample_conversations(60, seed=1).select_columns(["id", "messages"])


@pytest.fixture(scope="module")
def whole(corpus: Dataset, tiny_encoder_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of a training by default that nothing cuts."""
    folder = tmp_path_factory.mktemp("whole") / "model"
    trained = turnlens.train(corpus, settings=SETTINGS, encoder=load(tiny_encoder_path), output=folder)
    record = json.loads((folder / "training.json").read_text())
    assert trained.training_report.before_after == record["held_out"]["figures"] != {}
    assert same(turnlens.load_encoder(folder, device="cpu"), weights_of(trained))
    return folder


@pytest.fixture(scope="module")
def before_choice(corpus: Dataset, tiny_encoder_path: Path) -> tuple[TrainingState, SelectInterpolation]:
    """The weights a training has learned, and the step that chooses what is kept of it."""
    state = RECIPE.begin(corpus, load(tiny_encoder_path), None)
    for step in RECIPE.steps(state):
        if isinstance(step, SelectInterpolation):
            return state, step
        state = Run(None).once(step, state)
    raise AssertionError("nothing is chosen")


def load(path: Path) -> turnlens.ConversationEncoder:
    return turnlens.load_encoder(path, device="cpu")


def weights_of(encoder: turnlens.ConversationEncoder) -> dict[str, torch.Tensor]:
    return {name: weight.clone() for name, weight in encoder.state_dict().items()}


def same(encoder: turnlens.ConversationEncoder, weights: dict[str, torch.Tensor]) -> bool:
    """Say whether an encoder has these weights; perhaps it has learned to project its vectors besides."""
    found = encoder.state_dict()
    return all(torch.equal(found[name], weight) for name, weight in weights.items())


@pytest.mark.slow
def test_the_default_gives_encoder_head_centre_and_figures(whole: Path, corpus: Dataset) -> None:
    trained = turnlens.load_encoder(whole)
    assert trained.reply_head is not None and set(trained.centre) == {"mean", "messages"}
    record = json.loads((whole / "training.json").read_text())
    assert record["kept"] == 50 and record["left_out"] == {"held out": 10}
    assert set(record["learned"]) <= {"answers", "context"}
    for figure in record["held_out"]["figures"].values():
        low, high = figure["difference_interval"]
        assert low <= figure["difference"] <= high
        assert figure["difference"] == pytest.approx(figure["after"] - figure["before"], abs=0.02)
    card = (whole / "README.md").read_text()
    assert "next message" in card and corpus[0]["messages"][0]["content"] not in card


def test_what_is_learned_apart_shares_temperature_and_length(tiny_encoder, corpus) -> None:
    recipe = Complete(temperature=0.2, max_length=32, max_steps=3)
    steps = recipe.steps(recipe.begin(corpus, tiny_encoder, None))
    apart = [step.recipe for step in steps if isinstance(step, LearnTaskVector)]
    assert [(part.temperature, part.max_length, part.max_steps) for part in apart] == [(0.2, 32, 3)] * 2


Choose = Callable[..., TrainingState]


@pytest.fixture
def choose(before_choice: tuple[TrainingState, SelectInterpolation], monkeypatch: pytest.MonkeyPatch) -> Choose:
    """Chooses where the stability of groups (draws, conversations) is that of each share, in order, and of before."""
    state, step = before_choice

    def choose(
        of_shares: Sequence[np.ndarray], next_message: np.ndarray, of_before: float = 0, **how: bool
    ) -> TrainingState:
        values, known = iter(of_shares), {}

        def stability(self: HeldOut, vectors: np.ndarray) -> np.ndarray:
            if np.array_equal(vectors, state.vectors["alone"][: len(vectors)]):
                return np.full((10, 10), of_before)
            if (key := vectors.tobytes()) not in known:
                known[key] = next(values)
            return known[key]

        def ranks(self: HeldOut, vectors: np.ndarray) -> np.ndarray:
            return next_message * (not np.array_equal(vectors, state.vectors["alone"][: len(vectors)]))

        monkeypatch.setattr(HeldOut, "stability", stability)
        monkeypatch.setattr(HeldOut, "next_message", ranks)
        copies = {name: dict(getattr(state, name)) for name in ("record", "vectors", "task_vectors")}
        own = dataclasses.replace(state, encoder=copy.deepcopy(state.encoder), **copies)
        return Run(None).once(dataclasses.replace(step, **how), own)

    return choose


@pytest.mark.slow
@pytest.mark.parametrize("best", range(4))
def test_the_best_shares_on_held_out_conversations_win(
    best: int, before_choice: tuple[TrainingState, SelectInterpolation], choose: Choose
) -> None:
    state, step = before_choice
    start, learned = weights_of(state.initial), state.task_vectors
    after = choose([np.full((10, 10), float(number == best)) for number in range(4)], np.zeros(10))
    record = after.record["learned"]
    assert record == step.shares[best] and set(learned) == {"answers", "context"}
    assert same(state.initial, start) and not same(after.encoder, start)
    for name, weight in after.encoder.state_dict().items():
        added = [share * learned[step][name] for step, share in record.items() if name in learned[step]]
        assert torch.allclose(weight.float(), start[name] + sum(added), atol=1e-6)


@pytest.mark.parametrize("keep", [False, True])
def test_losses_are_kept_only_with_keep_anyway(keep: bool, choose: Choose) -> None:
    after = choose([np.zeros((10, 10))] * 4, np.ones(10), of_before=1, keep_anyway=keep)
    assert same(after.encoder, weights_of(after.initial)) is not keep


@pytest.mark.parametrize("by", ["conversations", "draws"])
def test_a_gain_that_may_be_chance_is_not_kept(by: str, choose: Choose) -> None:
    after = choose([CHANCE if by == "conversations" else CHANCE.T] * 4, np.zeros(10))
    assert same(after.encoder, weights_of(after.initial))


@pytest.mark.parametrize("two_sides", [False, True])
def test_next_messages_are_enough_where_somebody_else_says_them(two_sides: bool, choose: Choose) -> None:
    after = choose([CHANCE] * 4, np.ones(10), two_sides=two_sides)
    assert same(after.encoder, weights_of(after.initial)) is not two_sides


@pytest.mark.slow
def test_a_resumed_default_training_gives_the_same_model(
    whole: Path, tiny_encoder_path: Path, corpus: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(**how: bool) -> turnlens.ConversationEncoder:
        encoder = load(tiny_encoder_path)
        return turnlens.train(corpus, settings=SETTINGS, encoder=encoder, output=tmp_path / "cut", **how)

    with monkeypatch.context() as patch:
        patch.setattr(FitReplyHead, "__call__", None)
        with pytest.raises(TypeError):
            train()
    with monkeypatch.context() as patch:
        patch.setattr(EmbedMessages, "__call__", None)  # the vectors are there
        resumed = train(resume=True)
    expected = turnlens.load_encoder(whole, device="cpu")
    assert same(resumed, weights_of(expected))
    assert resumed.reply_head is not None and expected.reply_head is not None
    assert torch.equal(resumed.reply_head.context, expected.reply_head.context)
    assert (tmp_path / "cut" / "training.json").read_text() == (whole / "training.json").read_text()
    assert not (tmp_path / "cut.run").exists()


def test_bfloat16_is_the_default_on_capable_processors(corpus, tiny_encoder, monkeypatch) -> None:
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    stages: list[bool | None] = []
    monkeypatch.setattr(Learn, "__call__", lambda self, state, run: stages.append(self.recipe.bf16))
    for made_for_it, given, bf16 in ((True, None, True), (True, False, False), (False, None, False)):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda made_for_it=made_for_it: {"amx_bf16": made_for_it})
        recipe = dataclasses.replace(RECIPE, bf16=given)
        state = recipe.begin(corpus, tiny_encoder, None)
        for step in recipe.steps(state):
            if isinstance(step, LearnTaskVector):
                step(state, Run(None))
        assert stages == [bf16, bf16]
        stages.clear()


def test_few_conversations_give_a_centre_only(tiny_encoder, corpus, caplog) -> None:
    start = weights_of(tiny_encoder)
    with caplog.at_level(logging.WARNING, "turnlens"):
        trained = turnlens.train(corpus.select(range(49)), encoder=tiny_encoder)
    assert "too few" in caplog.text
    assert same(trained, start) and trained.centre and trained.reply_head is None


@pytest.mark.slow
def test_one_speaker_conversations_learn_from_context_alone(tiny_encoder, corpus, tmp_path: Path) -> None:
    rows = [{"id": row["id"], "messages": [{**m, "role": "user"} for m in row["messages"]]} for row in corpus]
    recipe, start = dataclasses.replace(RECIPE, keep_anyway=True), weights_of(tiny_encoder)
    trained = turnlens.train(rows, method=recipe, encoder=tiny_encoder, output=tmp_path / "model")
    record = json.loads((tmp_path / "model" / "training.json").read_text())
    assert trained.reply_head is not None and not same(trained, start)
    assert set(record["learned"]) == {"context"} and "projected" not in record


@pytest.mark.slow
@pytest.mark.usefixtures("without_noise")
def test_later_steps_get_projected_vectors(tiny_encoder, corpus, monkeypatch) -> None:
    project, projected = FitProjection.__call__, []

    def watched(self: FitProjection, state: TrainingState, run: Run) -> None:
        texts = texts_of(state.held_out["messages"][:])
        project(self, state, run)
        projected.append(state.record["projected"])
        np.testing.assert_allclose(state.vectors["held_out"], state.encoder.encode_messages(texts), atol=1e-5)

    monkeypatch.setattr(FitProjection, "__call__", watched)
    turnlens.train(corpus, method=dataclasses.replace(RECIPE, bf16=False), encoder=tiny_encoder)
    assert projected == [True]


def held_out(topics: np.ndarray) -> HeldOut:
    """Conversations of six messages about one topic each, which the vectors in context tell."""
    count = len(topics)
    in_context = np.eye(topics.max() + 1, dtype=np.float32)[np.repeat(topics, 6)]
    in_context += 0.01 * np.random.default_rng(1).normal(size=in_context.shape).astype(np.float32)
    return HeldOut(np.full(count, 6), np.tile([0, 1], 3 * count), np.arange(6 * count), in_context)


def test_topical_vectors_are_better_by_every_figure() -> None:
    topics = np.arange(40) % 10
    judge = held_out(topics)
    noise = np.random.default_rng(0).normal(size=(240, 10)).astype(np.float32)
    good, bad = judge.figures(judge.in_context), judge.figures(noise)
    for name in good:
        assert good[name].shape == (40,) and good[name].mean() > bad[name].mean() + 0.1
        assert (good[name] >= 0).all() and good[name].mean() <= 1
    compared = compare_figures(bad, good)
    assert all(figure["difference_interval"][0] > 0 for figure in compared.values())


def test_collapsed_vectors_are_not_better_than_chance() -> None:
    judge = held_out(np.arange(40) % 10)
    figures = judge.figures(np.ones((240, 10), np.float32))
    assert figures["next_message"].mean() < 0.02
    assert figures["in_context"].mean() < 0.15
    assert figures["stability"].mean() == 0


@pytest.mark.parametrize(("noise", "expected"), [(0.01, 1.0), (100.0, 0.0)])
def test_real_groups_are_stable_and_noise_is_not(noise: float, expected: float) -> None:
    topics = np.repeat(np.arange(20), 2)
    vectors = np.eye(20)[np.repeat(topics, 6)] + noise * np.random.default_rng(0).normal(size=(240, 20))
    stability = held_out(topics).figures(vectors.astype(np.float32))["stability"]
    assert stability.shape == (40,) and abs(stability.mean() - expected) < 0.25


def test_stability_is_the_adjusted_rand_index(monkeypatch) -> None:
    judge, pairs = held_out(np.arange(40) % 10), []
    groups = HeldOut._groups

    def watched(self: HeldOut, *arguments: Any) -> np.ndarray:
        pairs.append(groups(self, *arguments))
        return pairs[-1]

    monkeypatch.setattr(HeldOut, "_groups", watched)
    vectors = np.random.default_rng(0).normal(size=(240, 10)).astype(np.float32) + 2 * judge.in_context
    stability = judge.figures(vectors)["stability"]
    expected = np.mean([adjusted_rand_score(one, other) for one, other in zip(pairs[::2], pairs[1::2])])
    np.testing.assert_allclose(stability.mean(), expected, rtol=1e-12)


def test_reciprocal_ranks_by_hand() -> None:
    """Two conversations of two messages: the query is the first message, with one candidate of its own, two others."""
    units = np.array([[1, 0], [0.6, 0.8], [0, 1], [0.8, 0.6]], np.float32)
    judge = HeldOut(np.array([2, 2]), np.array([0, 1, 0, 1]), np.arange(4), units)
    # Message 1 after message 0: cosines 0.6 with its own, 0 and 0.8 with others. Message 3 after 2: 0.6; 0, 0.8.
    assert judge.figures(units)["next_message"].tolist() == [1 / 2, 1 / 2]
    assert judge.figures(units)["in_context"].tolist() == [1, 1]  # the vectors in context are the same


def test_the_steps_follow_from_the_messages() -> None:
    assert Complete(batch_size=512, epochs=5).steps_for(512, 20) == 5
    assert Complete().steps_for(300_000, 20) == 20
    assert Complete(max_steps=7).steps_for(300_000, 20) == 7
