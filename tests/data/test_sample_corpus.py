import hashlib
import json
import re
from itertools import pairwise
from types import SimpleNamespace

import bm25s
import numpy as np
import pytest

from turnlens.data.sample_corpus import MAX_TURNS, common, domains, sample_conversations

DOMAINS = domains()
LABELS = {f"{domain.name}:{name}" for domain in DOMAINS for name in domain.intents}


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    return sample_conversations(400).to_list()


def requests(rows: list[dict]) -> dict[str, str]:
    """Distinct customer requests and their intents."""
    return {m["content"]: m["intent"] for row in rows for m in row["messages"] if m["intent"]}


def test_corpus_is_the_same_in_every_release() -> None:
    """Names of the project, hash seeds and versions of Python change nothing."""
    texts = json.dumps(sample_conversations(20).to_list()).encode()
    assert hashlib.sha256(texts).hexdigest()[:16] == "e0bd0acb58471680"


def test_a_smaller_corpus_is_a_prefix_of_a_larger_one() -> None:
    assert sample_conversations(10).to_list() == sample_conversations(20).select(range(10)).to_list()


def test_seeds_differ() -> None:
    zero, one = (sample_conversations(5, seed=seed) for seed in (0, 1))
    assert zero["messages"][:] != one["messages"][:]
    assert not set(zero["id"]) & set(one["id"])


@pytest.mark.parametrize("n", [0, -1])
def test_refuses_fewer_than_one_conversation(n: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        sample_conversations(n)


def test_columns_and_nothing_on_disk() -> None:
    dataset = sample_conversations(3)
    assert dataset.column_names == ["id", "messages", "domain"]
    assert set(dataset[0]["messages"][0]) == {"role", "content", "intent"}
    assert dataset["id"][:] == ["sample-0-000000", "sample-0-000001", "sample-0-000002"]
    assert not dataset.cache_files


def test_labels_belong_to_customers_and_domain(rows: list[dict]) -> None:
    seen = set()
    for row in rows:
        intents = {message["intent"] for message in row["messages"] if message["intent"]}
        assert 1 <= len(intents) <= 3
        assert intents <= LABELS
        assert {intent.split(":")[0] for intent in intents} == {row["domain"]}
        assert all(message["role"] == "user" for message in row["messages"] if message["intent"])
        seen |= intents
    assert seen == LABELS
    assert {row["domain"] for row in rows} == {domain.name for domain in DOMAINS}


def test_lengths(rows: list[dict]) -> None:
    lengths = [len(row["messages"]) for row in rows]
    assert min(lengths) >= 4
    assert max(lengths) <= MAX_TURNS


def test_messages_are_filled(rows: list[dict]) -> None:
    contents = [message["content"] for row in rows for message in row["messages"]]
    assert all(content.strip() for content in contents)
    assert not any(set("{}#") & set(content) for content in contents)


def test_a_few_conversations_have_three_parties(rows: list[dict]) -> None:
    roles = [{message["role"] for message in row["messages"]} for row in rows]
    assert all({"user", "assistant"} <= those for those in roles)
    assert 0.02 < np.mean([len(those) == 3 for those in roles]) < 0.1


def test_generic_messages_recur_and_speakers_repeat(rows: list[dict]) -> None:
    conversations = [row["messages"] for row in rows]
    farewells = [messages[-1]["content"] for messages in conversations]
    assert set(farewells) == set(common().farewells)
    twice = [any(a["role"] == b["role"] for a, b in pairwise(messages)) for messages in conversations]
    assert 0.1 < np.mean(twice) < 0.5


def test_some_messages_are_typed_carelessly(rows: list[dict]) -> None:
    typed = [message["content"] for row in rows for message in row["messages"] if message["role"] == "user"]
    assert 0.02 < np.mean([text == text.lower() and text[0].isalpha() for text in typed]) < 0.15


def test_tables_are_rich_and_consistent() -> None:
    assert len(DOMAINS) == 4
    phrasings = [text for domain in DOMAINS for intent in domain.intents.values() for text in intent.phrasings]
    assert len(phrasings) == len(set(phrasings)) >= 300
    for domain in DOMAINS:
        assert len(domain.intents) >= 5
        for name, intent in domain.intents.items():
            assert len(set(intent.phrasings)) >= 10, name
            assert len(set(intent.topics)) >= 8, name
            assert len(intent.questions) >= 2, name
            assert len(intent.resolutions) >= 3, name
            assert set(intent.then) <= set(domain.intents) - {name}, name


def texts(table: object) -> list[str]:
    """All texts of a phrase table, at any depth."""
    if isinstance(table, str):
        return [table]
    table = vars(table) if isinstance(table, SimpleNamespace) else table
    assert isinstance(table, dict | list | tuple)
    return [text for value in (table.values() if isinstance(table, dict) else table) for text in texts(value)]


def test_every_slot_of_a_phrase_exists() -> None:
    lines = dict(vars(common()))
    slots = lines.pop("slots")
    assert all(text.count("{topic}") == 1 for text in lines["requests"])
    lines["requests"] = tuple(text.replace("{topic}", "") for text in lines["requests"])
    phrases = [text for table in (lines, *DOMAINS) for text in texts(table)]
    used = {name.removeprefix("other_") for text in phrases for name in re.findall(r"\{(.*?)\}", text)}
    assert used == set(slots)
    assert not any(set("{}") & set(re.sub(r"\{\w+\}", "", text)) for text in phrases)


def test_word_overlap_does_not_find_the_intent(rows: list[dict]) -> None:
    labels = np.array(list(requests(rows).values()))
    tokens = [text.lower().split() for text in requests(rows)]
    index = bm25s.BM25()
    index.index(tokens, show_progress=False)
    precisions = []
    for query in range(0, len(tokens), 5):
        scores = index.get_scores(tokens[query])
        ranking = np.delete(labels[np.argsort(-scores)], np.flatnonzero(np.argsort(-scores) == query))
        relevant = ranking == labels[query]
        if relevant.any():
            precisions.append((np.cumsum(relevant) / np.arange(1, len(relevant) + 1))[relevant].mean())
    assert np.mean(precisions) < 0.35
