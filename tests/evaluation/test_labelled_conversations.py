"""Labels of whole dialogues: which rows count, which are left out, and what is refused; and embedding them."""

from typing import Any

import numpy as np
import pytest
from datasets import Dataset

from turnlens.errors import ConversationError
from turnlens.evaluation import embed_labelled, labelled_conversations


def row(text: str, **columns: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text, "intent": "secret"}], **columns}


def test_exactly_one_label_counts() -> None:
    rows = [
        row("a", id="x", domains=["taxi"]),
        row("b", id="y", domains=["taxi", "hotel"]),
        row("c", id=None, domains=["taxi"]),
        row("d", id="z", domains=[]),
        row("e", id="u", domains=["hotel"]),
        row("f", id="v", domains=[None]),
    ]
    for conversations in (rows, Dataset.from_list(rows), iter(rows)):
        dialogues = labelled_conversations(conversations)
        assert dialogues.ids == ("x", "2", "u")
        assert dialogues.labels == ("hotel", "taxi") and dialogues.codes.tolist() == [1, 1, 0]
        assert dialogues.queries.tolist() == [0, 1] and dialogues.query_ids == ("x", "2")
        assert dialogues.dropped == 1 and dialogues.left_out == 3
        assert dialogues.conversations[0] == [{"role": "user", "content": "a"}]  # no label reaches the encoder


def test_the_column_is_found_or_given() -> None:
    rows = [
        row(str(n), domain="", services=[f"s{n % 2}"], topic="one" if n else "two", batch=n % 3 // 2) for n in range(6)
    ]
    assert labelled_conversations(rows).labels == ("s0", "s1")  # the column domain holds nothing
    assert labelled_conversations(rows, "topic").labels == ("one", "two")
    assert labelled_conversations(rows, "batch").labels == ("0", "1")


@pytest.mark.parametrize(
    ("rows", "label", "message"),
    [
        (
            [row("a", id="1")],
            None,
            "conversations: no column 'domain' or 'domains' or .* conversations have: messages, id",
        ),
        ([row("a", id="1")], "kind", "no column 'kind' with the labels"),
        ([], None, "the conversations have: no column at all"),
        ([row("a", domains=["x", "y"])], None, "no conversation has exactly one label in 'domains'"),
        ([row("a", domain="x"), row("b", domain="x")], None, "2 conversations with exactly one label and 1 different"),
        ([row("a", domain="x"), row("b", domain="y")], None, "one of them on 2 conversations, are needed; got 2"),
        ([row("a", domain=0.5)], None, "row 0: 'domain' must hold a text, a whole number or a list of these: 0.5"),
        ([{"messages": [], "domain": "x"}], None, 'row 0: expected "messages", a list of one or more'),
        ([{"messages": ["hi"], "domain": "x"}], None, "row 0, message 0: expected .*, got 'hi'"),
        ([{"domain": "x"}], None, 'row 0: expected "messages"'),
        ([{"messages": [{"role": "user"}], "domain": "x"}], None, 'row 0, message 0: expected "content"'),
    ],
)
def test_what_cannot_be_evaluated(rows: list[dict[str, Any]], label: str | None, message: str) -> None:
    with pytest.raises(ConversationError, match=message):
        labelled_conversations(rows, label)


def test_a_sample_of_the_queries() -> None:
    rows = [row(str(n), domain=str(n % 5)) for n in range(50)] + [row("alone", domain="lone")]
    few, again = (labelled_conversations(rows, max_queries=10, seed=3) for _ in range(2))
    many = labelled_conversations(rows, max_queries=30, seed=3)
    assert few.queries.tolist() == again.queries.tolist()
    assert len(few.queries) == 10 and set(few.queries) < set(many.queries)
    assert len(few.conversations) == 51 and few.dropped == 1 and 50 not in many.queries
    assert labelled_conversations(rows, max_queries=10, seed=4).queries.tolist() != few.queries.tolist()
    with pytest.raises(ValueError, match="max_queries must be 1 or more, got 0"):
        labelled_conversations(rows, max_queries=0)


def test_each_distinct_conversation_is_embedded_once_at_length_one() -> None:
    seen: list[str] = []

    def encode(conversations: list[list[dict[str, str]]]) -> np.ndarray:
        seen.extend(messages[0]["content"] for messages in conversations)
        return np.array([[3.0, 4.0], [0.0, 0.0]])

    dialogues = labelled_conversations([row("a", domain="x"), row("b", domain="x"), row("a", domain="y")])
    embedded = embed_labelled(encode, dialogues)
    assert seen == ["a", "b"]
    assert embedded.units.dtype == np.float32
    assert embedded.units == pytest.approx(np.array([[0.6, 0.8], [0, 0], [0.6, 0.8]]))


def test_what_an_encoder_may_not_return() -> None:
    dialogues = labelled_conversations([row(text, id=text, domain=text < "c") for text in "abc"])
    with pytest.raises(ValueError, match=r"must return \(3, dim\) numbers, got shape \(3,\)"):
        embed_labelled(lambda some: np.zeros(3), dialogues)
    with pytest.raises(ValueError, match="nan or inf for 1 texts, first 'b'"):
        embed_labelled(lambda some: np.array([[1.0], [np.nan], [1.0]]), dialogues)
