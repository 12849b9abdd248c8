from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from turnlens.errors import ConversationError
from turnlens.papers.dialogue_cse.dialogue_sts import read_sts_task
from turnlens.papers.dialogue_cse.sts_pairs import propose_sts_pairs, write_sts_pairs

COLOURS = ("red", "blue", "green", "black", "white", "grey")
WANTS = {"ride": "a {} taxi to the station", "wear": "some {} shoes for work", "paint": "two cans of {} paint"}


class ColourVectors:
    """Knows colours only: texts are neighbours when theirs is the same."""

    vector_size = len(COLOURS)

    def __contains__(self, word: str) -> bool:
        return word in COLOURS

    def __getitem__(self, word: str) -> np.ndarray:
        return np.eye(len(COLOURS), dtype=np.float32)[COLOURS.index(word)]


@pytest.fixture
def conversations() -> list[dict[str, object]]:
    return [
        {
            "messages": [
                {"role": "user", "content": f"I want {want.format(colour)}", "intent": intent},
                {"role": "assistant", "content": f"Here is {want.format(colour)}!"},
                {"role": "user", "content": "Thanks."},
            ]
        }
        for intent, want in WANTS.items()
        for colour in COLOURS
    ]


def test_equal_shares_no_duplicates_and_a_seed(conversations: list[dict[str, object]]) -> None:
    pairs = propose_sts_pairs(conversations, 20, word_vectors=ColourVectors())
    assert pairs.column_names == ["text_a", "text_b", "heuristic"]
    assert Counter(pairs["heuristic"]) == {"unigram": 7, "word-vectors": 7, "same-label": 6}
    assert len({frozenset((row["text_a"], row["text_b"])) for row in pairs}) == 20
    assert all(row["text_a"] != row["text_b"] for row in pairs)
    assert pairs[:] == propose_sts_pairs(conversations, 20, word_vectors=ColourVectors())[:]
    assert pairs[:] != propose_sts_pairs(conversations, 20, word_vectors=ColourVectors(), seed=1)[:]


def test_each_heuristic_pairs_what_it_says(conversations: list[dict[str, object]]) -> None:
    pairs = propose_sts_pairs(conversations, 45, word_vectors=ColourVectors())
    intent_of = {m["content"]: m.get("intent") for row in conversations for m in row["messages"]}  # type: ignore[attr-defined]
    for row in pairs:
        a, b = row["text_a"], row["text_b"]
        if row["heuristic"] == "same-label":
            assert intent_of[a] == intent_of[b] is not None
        else:
            assert "Thanks." not in (a, b)  # no other text shares a word with it
            assert set(a.split()) & set(b.split())
        if row["heuristic"] == "word-vectors":
            assert set(COLOURS) & set(a.strip("!").split()) & set(b.strip("!").split())


def test_pairs_that_differ_in_case_and_punctuation_only_are_not_proposed() -> None:
    spellings = ["a taxi", "A taxi!", "a taxi?", "a taxi to town", "a taxi to work"]
    rows = [{"messages": [{"role": "user", "content": text, "intent": "ride"} for text in spellings]}]
    with pytest.raises(ConversationError, match="only 0 of 1 pairs found by the heuristic 'word-vectors'"):
        propose_sts_pairs(rows, 3, word_vectors=ColourVectors())
    with pytest.raises(ConversationError, match=r"only \d of 10 pairs found by the heuristic 'unigram'; ask for fewer"):
        propose_sts_pairs(rows, 30, word_vectors=ColourVectors())


def test_too_few_pairs_and_missing_labels(conversations: list[dict[str, object]]) -> None:
    with pytest.raises(ValueError, match=r"n must be 3 or more, .* got 2"):
        propose_sts_pairs(conversations, 2)
    with pytest.raises(ConversationError, match="no message carries the label 'topic'"):
        propose_sts_pairs(conversations, 6, label="topic", word_vectors=ColourVectors())
    single = [{"messages": [{"role": "user", "content": "hi there", "intent": "greet"}]}]
    with pytest.raises(ConversationError, match="only 0 of 1 pairs found by the heuristic 'unigram'"):
        propose_sts_pairs(single, 3, word_vectors=ColourVectors())


def test_word_vectors_are_trained_when_none_are_given(conversations: list[dict[str, object]]) -> None:
    pytest.importorskip("gensim", reason="word vectors are trained with gensim")
    pairs = propose_sts_pairs(conversations, 12)
    assert Counter(pairs["heuristic"]) == {"unigram": 4, "word-vectors": 4, "same-label": 4}
    assert pairs[:] == propose_sts_pairs(conversations, 12)[:]


def test_chinese_needs_no_spaces() -> None:
    texts = ["什么时候发货", "今天能发货吗", "明天可以发货吗", "可以退货吗", "怎么申请退货", "退货运费谁付"]
    rows = [{"messages": [{"role": "user", "content": text, "intent": text[-2] + text[-1]} for text in texts]}]
    rows[0]["messages"] += [{"role": "user", "content": "退货可以吗", "intent": "货吗"}]
    for row in propose_sts_pairs(rows, 3, word_vectors=CharacterVectors()):
        assert set(row["text_a"]) & set(row["text_b"])


class CharacterVectors:
    """A direction per character."""

    vector_size = 64

    def __contains__(self, word: str) -> bool:
        return len(word) == 1

    def __getitem__(self, word: str) -> np.ndarray:
        return np.random.default_rng(ord(word)).normal(size=64).astype(np.float32)


def test_an_annotated_proposal_is_a_task(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    rows = [
        {"text_a": "one\ttab", "text_b": "two\nlines", "heuristic": "unigram"},
        {"text_a": "是吗", "text_b": "是的", "heuristic": "unigram"},
    ]
    write_sts_pairs(rows, path)
    assert path.read_bytes() == "\tone tab\ttwo lines\n\t是吗\t是的\n".encode()
    with pytest.raises(ConversationError, match=r"pairs\.tsv:1: the score is empty"):
        read_sts_task(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("".join(f"{score}{line}\n" for score, line in zip((4, 2), lines)), encoding="utf-8")
    task = read_sts_task(path)
    assert task.scores == (4.0, 2.0) and task.pairs[0] == ("one tab", "two lines")
    with pytest.raises(FileExistsError, match="exists already"):
        write_sts_pairs(rows, path)
    write_sts_pairs(rows, path, force=True)
    assert path.read_bytes().startswith(b"\tone")
