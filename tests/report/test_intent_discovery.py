"""The task intent-discovery: its formulas by hand, and groups of messages and of conversations against labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from tests.groups.clouds import WORDS, clouds
from turnlens.errors import ConversationError
from turnlens.evaluation import evaluate
from turnlens.evaluation.clustering_metrics import discovery_figures


def test_figures_by_hand() -> None:
    # group 0: a a b, group 1: b b, group 2: c, none: c
    groups, labels = [0, 0, 0, 1, 1, 2, -1], list("aabbbcc")
    figures = discovery_figures(groups, labels)
    assert figures["accuracy"] == pytest.approx((2 + 2 + 1) / 7)
    assert figures["precision"] == pytest.approx((2 + 2 + 1) / 7)
    assert figures["recall"] == pytest.approx((2 + 2 + 1) / 7)
    assert figures["left_out"] == pytest.approx(1 / 7)
    assert figures["nmi"] == pytest.approx(normalized_mutual_info_score(labels, groups))
    assert figures["ari"] == pytest.approx(adjusted_rand_score(labels, groups))


def test_precision_matches_many_accuracy_matches_one() -> None:
    # Too many groups are precise, too few recall everything, and accuracy takes one group a label.
    many = discovery_figures([0, 1, 2, 3], list("aabb"))
    few = discovery_figures([0, 0, 0, 0], list("aabb"))
    assert (many["precision"], many["recall"], many["accuracy"]) == (1.0, 0.5, 0.5)
    assert (few["precision"], few["recall"], few["accuracy"]) == (0.5, 1.0, 0.5)
    assert many["f1"] == few["f1"] == pytest.approx(2 / 3)


def test_nothing_in_a_group_is_nothing_right() -> None:
    figures = discovery_figures([-1, -1], ["a", "b"])
    assert [figures[name] for name in ("accuracy", "precision", "recall", "f1", "left_out")] == [0, 0, 0, 0, 1]


class _Clouds:
    """Six intents, thirty messages of each, whose vectors lie in clouds."""

    def __init__(self) -> None:
        vectors, self.texts, self.clouds = clouds(6, 30)
        self._vectors = dict(zip(self.texts, vectors))

    def messages(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self._vectors[text] for text in texts])

    def conversations(self, conversations: Sequence[Sequence[dict[str, str]]]) -> np.ndarray:
        return self.messages([messages[0]["content"] for messages in conversations])

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"id": text, "wish": WORDS[cloud], "messages": [{"role": "user", "content": text, "intent": WORDS[cloud]}]}
            for text, cloud in zip(self.texts, self.clouds)
        ]


def test_groups_of_messages_against_their_intents() -> None:
    corpus = _Clouds()
    figures = evaluate(corpus.rows(), encoder=corpus.messages, tasks="intent-discovery")["intent_discovery"]
    assert figures["accuracy"] == figures["f1"] == figures["ari"] == 100.0
    assert (figures["groups"], figures["labels"], figures["messages"], figures["runs"]) == (6.0, 6, 180, 5)
    assert figures["left_out"] == figures["accuracy_std"] == 0.0


def test_every_message_counts_also_a_repeated_one() -> None:
    corpus = _Clouds()
    rows = corpus.rows()
    misunderstood = [{**rows[0], "messages": [{**rows[0]["messages"][0], "intent": WORDS[1]}]}] * 20
    figures = evaluate(rows + misunderstood, encoder=corpus.messages, tasks="intent-discovery")["intent_discovery"]
    assert figures["messages"] == 200 and figures["accuracy"] == 90.0


def test_groups_of_conversations_against_their_labels() -> None:
    corpus = _Clouds()
    figures = evaluate(
        corpus.rows(), encoder=corpus.conversations, tasks="intent-discovery", conversation_label="wish"
    )["intent_discovery"]
    assert figures["accuracy"] == 100.0 and figures["conversations"] == 180


def test_one_intent_cannot_be_discovered() -> None:
    corpus = _Clouds()
    with pytest.raises(ConversationError, match="at least 2 different labels 'intent' are needed, got 1"):
        evaluate(corpus.rows()[:30], encoder=corpus.messages, tasks="intent-discovery")
