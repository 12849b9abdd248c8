from pathlib import Path

import numpy as np
import pytest

from turnlens.encoders.history import add_history
from turnlens.errors import ConversationError
from turnlens.evaluation import TASKS, evaluate, load_task

TASK = "semantic-retrieval-with-history"


def rows() -> list[dict[str, object]]:
    """Short answers, whose intents only what they answer can tell."""
    seen = []
    for number in range(12):
        intent = ("order", "card")[number % 2]
        texts = [f"about the {intent} ?", f"yes please {number}", f"{intent} done", ""]
        messages = [{"role": "ab"[turn % 2], "content": text, "intent": ""} for turn, text in enumerate(texts)]
        messages[1]["intent"] = intent
        seen.append({"id": str(number), "messages": messages})
    return seen


def by_words(texts: list[str]) -> np.ndarray:
    words = ("about", "order", "card", "yes", "please", "done")
    return np.array([[text.split().count(word) for word in words] for text in texts], dtype=float)


def test_answers_are_told_apart_by_what_they_answer() -> None:
    figures = evaluate(rows(), encoder=by_words, tasks=["semantic-retrieval", TASK])
    assert figures["semantic_retrieval_with_history"]["map"] == 100
    assert figures["semantic_retrieval"]["map"] < 80
    assert figures["semantic_retrieval_with_history"]["queries"] == figures["semantic_retrieval"]["queries"] == 12


def test_a_text_said_twice_has_the_mean_of_its_vectors() -> None:
    talks = rows()
    talks[2]["messages"][1]["content"] = "yes please 0"  # type: ignore[index]
    data = load_task(TASK, talks)
    query = data.task.texts.index("yes please 0")
    scores = {}
    for texts in data.conversations:
        assert "" not in texts
        scores[texts] = add_history(by_words(list(texts)), [len(texts)])[1]
    first, second = (scores[texts] for texts in data.conversations if texts[1] == "yes please 0")
    np.testing.assert_allclose(first, second)  # both answer the same
    assert TASKS[TASK].score(by_words, data).values["map"][list(data.task.queries).index(query)] == 1


def test_a_released_file_has_no_conversations(tmp_path: Path) -> None:
    (tmp_path / "select.txt").write_text("0\ta b\tx\t1\t2\n1\ta c\tx\t0\t2\n2\ta d\ty\t\t0\n", encoding="utf-8")
    with pytest.raises(ConversationError, match="semantic-retrieval"):
        evaluate(tmp_path / "select.txt", encoder=by_words, tasks=TASK)
