"""The released evaluation sets of DialogueCSE, where they are at hand."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer

from turnlens.evaluation import evaluate
from turnlens.papers.dialogue_cse.dialogue_sts import read_sts_task
from turnlens.papers.released_files import read_retrieval_task

DATA = Path(os.environ.get("TURNLENS_DATA", "../shared/data"))
SETS = [("ecd/dev", 2373, 500), ("ecd/test", 4243, 1000), ("jddc/dev", 2094, 1000)]


def by_characters(texts: list[str]) -> np.ndarray:
    return HashingVectorizer(analyzer="char", ngram_range=(1, 2), n_features=1024).transform(texts).toarray()


def folder_of(name: str) -> Path:
    folder = DATA / name
    if not (folder / "select.txt").is_file():
        pytest.skip(f"the released data is not at {folder}; set TURNLENS_DATA to the folder that holds {name}")
    return folder


@pytest.mark.parametrize(("name", "queries", "pairs"), SETS)
def test_released_files_are_read_whole(name: str, queries: int, pairs: int) -> None:
    folder = folder_of(name)
    task = read_retrieval_task(folder / "select.txt")
    assert len(task.queries) == queries and task.dropped == 0
    assert {len(indices) for indices in task.positives} == {30}
    assert {len(indices) for indices in task.negatives} == {40}
    scores = read_sts_task(folder / "sts.txt").scores
    assert len(scores) == pairs and set(scores) == {1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("name", "mean_average_precision", "correlation"),
    [
        ("ecd/dev", 48.76, 45.79),
        pytest.param("ecd/test", 41.13, 35.71, marks=pytest.mark.slow),
        pytest.param("jddc/dev", 39.36, 71.98, marks=pytest.mark.slow),
    ],
)
def test_figures_of_shared_characters(name: str, mean_average_precision: float, correlation: float) -> None:
    # Chance is MAP 46.0: 30 positives among 70. Shared characters do worse on two sets of three, since the negatives,
    # retrieved by BM25, have more characters in common with their query than the positives have.
    result = evaluate(folder_of(name), encoder=by_characters, tasks=["semantic-retrieval", "dialogue-sts"])
    assert result["semantic_retrieval"]["map"] == pytest.approx(mean_average_precision, abs=0.2)
    assert result["dialogue_sts"]["spearman"] == pytest.approx(correlation, abs=0.2)
