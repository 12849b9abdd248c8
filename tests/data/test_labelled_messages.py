import pytest
from datasets import Dataset

from turnlens.data.messages import distinct_texts, labelled_texts, labels_of_texts
from turnlens.errors import ConversationError


def conversation(*messages: tuple[str, str | None]) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": text, "intent": intent} for text, intent in messages]}


def test_texts_of_several_labels_have_none() -> None:
    rows = [conversation(("Yes", "book"), ("Taxi!", "ride")), conversation(("Yes", "ride"), ("Yes", "book"))]
    assert labels_of_texts(rows, "intent") == {"Yes": None, "Taxi!": "ride"}
    assert labelled_texts(rows, "intent") == {"Taxi!": "ride"}


def test_unlabelled_and_empty_messages_do_not_count() -> None:
    rows = [conversation((" Hi ", "greet"), ("Hi", None), ("Hi", ""), ("  ", "greet"), ("Bye", None))]
    assert labels_of_texts(rows, "intent") == {"Hi": "greet"}
    assert distinct_texts(rows) == ["Hi", "Bye"]


def test_data_sets_and_number_labels_are_accepted() -> None:
    messages = [{"role": "a", "content": "x", "act": 0}, {"role": "b", "content": "y", "act": None}]
    rows = Dataset.from_list([{"id": "1", "messages": messages}])
    assert labels_of_texts(rows, "act") == {"x": "0"}


def test_lists_of_one_label_count() -> None:
    acts = [("a", ["greet"]), ("b", ["greet", "ask"]), ("c", []), ("d", ["ask"]), ("a", ["greet"]), ("d", ["greet"])]
    rows = [{"messages": [{"role": "u", "content": text, "acts": found} for text, found in acts]}]
    assert labels_of_texts(rows, "acts") == {"a": "greet", "b": None, "d": None}
    with pytest.raises(ConversationError, match="a text, a whole number or a list of these"):
        labels_of_texts([{"messages": [{"role": "u", "content": "x", "acts": [0.5]}]}], "acts")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [conversation(("Hi", None))],
            r"no message carries the label 'intent' .*; messages have: role, content, intent",
        ),
        (
            [{"messages": [{"role": "user", "content": "Hi"}], "intent": "greet"}],
            "no message .*, but conversations do: --task conversation-retrieval --conversation-label intent evaluates",
        ),
        ([], r"no message carries the label 'intent' .*; messages have: no field at all"),
        ([{"text": "Hi"}], 'row 0: expected "messages"'),
        ([conversation(("Hi", "a")), {"messages": [{"role": "user", "intent": "a"}]}], "row 1, message 0: .*content"),
        ([{"messages": [{"content": "Hi", "intent": {"a": "b"}}]}], "row 0, message 0: label 'intent' must be"),
    ],
)
def test_bad_rows_are_named(rows: list[dict[str, object]], message: str) -> None:
    with pytest.raises(ConversationError, match=message):
        labels_of_texts(rows, "intent")
