"""Messages that are answered alike come closer; answers that say nothing about them change nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sklearn.linear_model import Ridge

import turnlens
from tests.report.talks import chats
from turnlens._utils.vectors import unit_vectors
from turnlens.groups.answer_guess import Answers, LinearGuess, answered_vectors, fit_answer_guess
from turnlens.groups.group_model import Basis, read_models
from turnlens.report import label

DIM, TOPICS, COUNT = 16, 4, 400
ALL = np.ones(2 * COUNT, bool)


def in_pairs(speaks: np.ndarray = ALL, conversation: np.ndarray | None = None) -> Answers:
    """Messages and answers in turn, each pair a conversation of its own."""
    rows = np.arange(2 * COUNT)
    return Answers(rows % 2, rows // 2 if conversation is None else conversation, rows % 2 == 0, speaks)


def asked_and_answered(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of messages and answers in turn (n), and topics, which answers tell more clearly."""
    topic = np.repeat(random.integers(TOPICS, size=COUNT), 2)
    clear = np.tile([1.5, 4.0], COUNT)
    vectors = random.normal(size=(2 * COUNT, DIM)) + clear[:, None] * np.eye(DIM)[topic]
    return unit_vectors(vectors).astype(np.float32), topic


def closer(vectors: np.ndarray, topic: np.ndarray) -> float:
    """By how much the cosine of two messages about the same is above that of two others, in the mean."""
    units = unit_vectors(vectors - vectors.mean(0))
    cosines, same = units @ units.T, topic[:, None] == topic
    return float(cosines[same].mean() - cosines[~same].mean())


def test_answers_are_all_that_others_say_afterwards() -> None:
    role = np.array(["uab".index(role) for role in "uuaabauuua"])
    conversation = np.array([0, 0, 0, 0, 0, 1, 1, 1, 2, 2], np.uint32)
    speaks = np.arange(10) != 3

    def to(asks: np.ndarray) -> list[list[int]]:
        return [sorted({*row} - {-1}) for row in Answers(role, conversation, asks, speaks).to(np.arange(10)).tolist()]

    assert to(role >= 0) == [[2, 4], [2, 4], [4], [4], [], [6, 7], [], [], [9], []]
    assert to(role == 0) == [[2, 4], [2, 4], [], [], [], [], [], [], [9], []]


def test_a_chat_of_a_year_is_answered_by_what_comes_soon() -> None:
    rows = np.arange(100)
    answers = Answers(rows % 2, rows * 0, rows % 2 == 0, rows >= 0)
    assert answers.to(rows[:1]).max() == 29 and (answers.to(rows[-4:-3]) >= 0).sum() == 2
    vectors = rows[:, None].astype(np.float32)
    means, is_answered = answers.means(vectors, rows[-4:])
    assert is_answered.tolist() == [True, False, True, False] and means.ravel() == pytest.approx([98, 99])


def test_messages_that_are_answered_alike_come_closer() -> None:
    vectors, topic = asked_and_answered(np.random.default_rng(0))
    guess = fit_answer_guess(vectors, in_pairs())
    assert guess is not None
    answered = answered_vectors(vectors, in_pairs(), guess)
    assert len(answered) == 2 * COUNT
    assert closer(answered[::2], topic[::2]) > 1.5 * closer(vectors[::2], topic[::2])
    assert (answered[1::2] == vectors[1::2]).all()  # nobody answers an answer


def test_unrelated_answers_add_next_to_nothing() -> None:
    random = np.random.default_rng(0)
    vectors, _ = asked_and_answered(random)
    vectors[1::2] = random.permutation(vectors[1::2])
    guess = fit_answer_guess(vectors, in_pairs())
    added = np.zeros(1) if guess is None else np.linalg.norm(guess(vectors[1::2]), axis=1)
    assert added.max() < 0.1


@pytest.mark.parametrize("speaks", [~ALL, np.arange(2 * COUNT) < 3 * DIM, np.arange(2 * COUNT) % 2 == 0])
def test_too_few_messages_with_an_answer_teach_nothing(speaks: np.ndarray) -> None:
    vectors, _ = asked_and_answered(np.random.default_rng(0))
    assert fit_answer_guess(vectors, in_pairs(speaks)) is None
    assert fit_answer_guess(vectors, in_pairs(conversation=np.arange(2 * COUNT))) is None


def test_answers_that_are_all_the_same_teach_nothing() -> None:
    vectors, _ = asked_and_answered(np.random.default_rng(0))
    vectors[1::2] = vectors[1]
    guess = fit_answer_guess(vectors, in_pairs())
    assert guess is None or np.abs(guess(vectors[1::2])).max() < 1e-3


def test_guesses_are_those_of_scaled_ridge_regression() -> None:
    vectors, _ = asked_and_answered(np.random.default_rng(1))
    guess = fit_answer_guess(vectors, in_pairs())
    assert guess is not None
    said, answers = (vectors[::2] - vectors[::2].mean(0)).astype(float), vectors[1::2].astype(float)

    def ridge(rows: slice) -> Any:
        return Ridge(alpha=((answers[rows] - answers[rows].mean(0)) ** 2).sum() / DIM).fit(
            answers[rows], said[rows] - said[rows].mean(0)
        )

    halves = [(slice(0, COUNT // 2), slice(COUNT // 2, None)), (slice(COUNT // 2, None), slice(0, COUNT // 2))]
    guessed = np.concatenate([ridge(own).predict(answers[other]) for own, other in halves])
    true = np.concatenate([said[other] for _, other in halves])
    slope = min(1.0, float((guessed * true).sum() / (guessed**2).sum()))
    assert guess(answers) == pytest.approx(slope * ridge(slice(None)).predict(answers), abs=2e-3)


def talks(count: int, start: int = 0) -> list[dict[str, Any]]:
    """Conversations about one of two topics, which the answer names, and two of three customers."""
    said = []
    for number in range(start, start + count):
        topic = ("card", "pizza")[number % 2]
        letters = " ".join("abcdefghij"[int(digit)] for digit in str(number))  # so that answers are no macros
        asked = f"please help me with {topic if number % 3 else 'it'} {number}"
        said.append([asked, f"{topic} {topic} {topic} {letters}"])
    return [{**row, "id": str(start + place)} for place, row in enumerate(chats(said))]


def basis_of(store: turnlens.ConversationStore) -> Basis:
    turnlens.cluster(store)
    basis = read_models(Path(store.path))["message"].basis
    assert basis is not None
    return basis


def test_groups_and_labels_follow_the_answers(tmp_path: Path, tiny_encoder: SentenceTransformer) -> None:
    store = turnlens.ConversationStore.create(tmp_path / "talks", talks(180), encoder=tiny_encoder)
    found = turnlens.cluster(store, role="user").to_pandas()
    labelled = label(talks(60, start=180), groups=store).to_pandas()
    for table in (found, labelled):
        asked = table[(table["role"] == "user") & table["group"].notna()]
        number = asked["id"].astype(int)
        shares = (number % 2).groupby(asked["group"]).mean()
        assert len(asked) > 50 and len(shares) < 6
        says_nothing = number % 3 == 0
        right = (asked["group"].map(shares) > 0.5) == (number % 2 == 1)
        assert right[says_nothing].mean() > 0.9


def test_macros_tell_what_they_answer(tmp_path: Path, tiny_encoder: SentenceTransformer) -> None:
    rows = talks(100)
    for row in rows:
        row["messages"][1]["content"] = row["messages"][1]["content"].split()[0]
    assert basis_of(turnlens.ConversationStore.create(tmp_path / "macros", rows, encoder=tiny_encoder)).answers


def test_a_growing_store_keeps_what_its_answers_taught(tmp_path: Path, tiny_encoder: SentenceTransformer) -> None:
    store = turnlens.ConversationStore.create(tmp_path / "talks", talks(80), encoder=tiny_encoder)

    def weights() -> np.ndarray:
        guess = basis_of(store).answers
        assert isinstance(guess, LinearGuess)
        return guess.weights

    before = weights()
    store.add(talks(10, start=80))
    assert (weights() == before).all()
    store.add(talks(90, start=90))
    assert (weights() != before).any()
