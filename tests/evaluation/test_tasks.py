import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import Dataset
from sklearn.feature_extraction.text import HashingVectorizer

from turnlens.errors import ConversationError
from turnlens.evaluation import TASKS, evaluate, load_task


def by_characters(texts: list[str]) -> np.ndarray:
    return HashingVectorizer(analyzer="char", ngram_range=(1, 2), n_features=256).transform(texts).toarray()


def by_task(data: object, tasks: str | list[str] = "semantic-retrieval", **how: Any) -> dict[str, dict[str, Any]]:
    return evaluate(data, encoder=by_characters, tasks=tasks, **how)  # type: ignore[arg-type]


@pytest.fixture
def released(tmp_path: Path) -> Path:
    folder = tmp_path / "released"
    folder.mkdir()
    (folder / "select.txt").write_text("0\tred taxi\t\t1\t2\n1\tblue taxi\t\t0\t2\n2\tred wine\t\t\t0\n")
    (folder / "sts.txt").write_text("5\ta taxi\ta cab\n1\ta taxi\tred wine\n3\ttea\twine\n", encoding="utf-8")
    return folder


@pytest.fixture
def rows() -> list[dict[str, object]]:
    texts = {"ride": ["red taxi now", "a blue taxi", "red taxi please"], "drink": ["red wine", "white wine, no taxi"]}
    return [
        {"id": intent, "messages": [{"role": "user", "content": text, "intent": intent} for text in some]}
        for intent, some in texts.items()
    ]


def test_a_folder_serves_both_tasks(released: Path) -> None:
    result = by_task(released, ["semantic-retrieval", "dialogue_sts"])
    assert list(result) == ["semantic_retrieval", "dialogue_sts"]
    assert json.loads(json.dumps(result)) == result
    assert result["semantic_retrieval"]["queries"] == 2 and result["semantic_retrieval"]["dropped"] == 1
    assert result["dialogue_sts"]["pairs"] == 3
    assert result == by_task(str(released), ["semantic_retrieval", "dialogue-sts"])
    for task in (TASKS["semantic-retrieval"], TASKS["dialogue-sts"]):
        figures = result[task.key]
        low, high = figures[f"{task.metric}_interval"]
        assert low <= figures[task.metric] <= high
        assert task.description and task.citation.startswith(("@", "https://"))


def test_single_files(released: Path) -> None:
    assert "map" in by_task(released / "select.txt")["semantic_retrieval"]
    assert "spearman" in by_task(released / "sts.txt", "dialogue-sts")["dialogue_sts"]
    annotated = (released / "sts.txt").rename(released / "annotated.tsv")
    assert by_task(annotated, "dialogue-sts")["dialogue_sts"]["pairs"] == 3


def test_a_dataset_and_a_file_of_conversations(tmp_path: Path, rows: list[dict[str, object]]) -> None:
    from_dataset = by_task(Dataset.from_list(rows))
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert by_task(path) == from_dataset
    assert from_dataset["semantic_retrieval"]["queries"] == 5
    limited = by_task(path, max_queries=2, seed=1)["semantic_retrieval"]
    assert limited["queries"] + limited["dropped"] == 2


def test_a_task_is_loaded_once_for_several_encoders(rows: list[dict[str, object]]) -> None:
    task = load_task("semantic_retrieval", rows)
    score = TASKS["semantic-retrieval"].score
    perfect = score(lambda texts: np.array([["wine" in text, "wine" not in text] for text in texts], float), task, 0)
    assert perfect.summary()["map"] == 100.0
    assert score(by_characters, task, 0).summary() == score(by_characters, task, 0).summary()


def test_similar_file_names_are_no_released_files(tmp_path: Path, rows: list[dict[str, object]]) -> None:
    messages = tmp_path / "requests.txt"
    messages.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert by_task(messages) == by_task(rows)


def test_another_label(rows: list[dict[str, object]]) -> None:
    renamed = json.loads(json.dumps(rows).replace('"intent"', '"act"'))
    with pytest.raises(ConversationError, match="no message carries the label 'intent'"):
        by_task(renamed)
    assert by_task(renamed, label="act") == by_task(rows)


def test_data_that_does_not_serve_the_task(released: Path, tmp_path: Path, rows: list[dict[str, object]]) -> None:
    def refused(data: object, task: str, message: str) -> None:
        with pytest.raises(ConversationError, match=message):
            by_task(data, task)

    refused(rows, "dialogue-sts", "cannot be built from conversations, it needs annotated data: a file sts.txt")
    refused(tmp_path, "dialogue-sts", "needs annotated data")
    refused(released / "sts.txt", "semantic-retrieval", "file of the task dialogue-sts, not of semantic-retrieval")
    refused(released / "select.txt", "dialogue-sts", "file of the task semantic-retrieval, not of dialogue-sts")
    (released / "select.txt").unlink()
    refused(released, "semantic-retrieval", "the folder holds sts.txt but no select.txt")
    unlabelled = tmp_path / "chats.jsonl"
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    unlabelled.write_text(json.dumps({"messages": messages}) + "\n", encoding="utf-8")
    refused(unlabelled, "semantic-retrieval", r"chats\.jsonl: no message carries the label 'intent'")


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"select\.txt"):
        by_task(tmp_path / "select.txt")
    with pytest.raises((FileNotFoundError, ConversationError), match="nowhere"):
        by_task(tmp_path / "nowhere.jsonl")


def test_unknown_and_no_tasks(rows: list[dict[str, object]]) -> None:
    known = "semantic-retrieval, intent-discovery, semantic-retrieval-with-history, conversation-retrieval"
    with pytest.raises(ValueError, match=f"unknown task 'retrieval' .*: expected one of {known}"):
        by_task(rows, ["semantic-retrieval", "retrieval"])
    with pytest.raises(ValueError, match=f"no task given: expected one or more of {known}"):
        by_task(rows, [])
