from __future__ import annotations

from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch.nn.functional import normalize

from closeness import assert_same_vectors
from turnwise.collators import TextCollator
from turnwise.encoders.forward import encode_sliced, sliced_means, take
from turnwise.papers.joined_contexts import JoinedContextCollator
from turnwise.papers.tried.teacher_vectors import TeacherVectors

CPU = torch.device("cpu")


@pytest.fixture
def rows(conversations) -> list[dict[str, Any]]:
    return [conversations[number] for number in range(len(conversations))]


@pytest.fixture
def collator(tiny_encoder) -> TextCollator:
    return JoinedContextCollator(tiny_encoder)


def passes(encoder: SentenceTransformer) -> list[int]:
    """A list to which the number of texts of each forward pass from now on is added."""
    found: list[int] = []
    encoder.register_forward_pre_hook(lambda module, given: found.append(len(given[0]["input_ids"])))
    return found


def test_what_one_pass_over_the_whole_batch_gives(collator, rows) -> None:
    batch = {name.removeprefix("messages_"): tensor for name, tensor in collator(rows).items()}
    with torch.no_grad():
        texts = normalize(sliced_means(encode_sliced(collator.encoder, batch["input_ids"], batch["attention_mask"])))
    contexts, turns = TeacherVectors(collator)(rows, CPU)
    assert_same_vectors(turns, take(texts, batch["turn_text"]))
    preceded = batch["context_text"] >= 0
    assert preceded.tolist() == [turn > 0 for row in rows for turn in range(len(row["messages"]))]
    expected = take(texts, batch["context_text"])[preceded]
    assert_same_vectors(contexts[preceded], expected)
    assert not contexts.is_inference() and not turns.requires_grad


@pytest.mark.parametrize("max_bytes", [0, 6 * 2 * 32 * 4, 1 << 20], ids=["none", "the longest two", "all"])
def test_the_same_bits_in_any_company_kept_or_not(collator, rows, max_bytes: int) -> None:
    vectors = TeacherVectors(collator, max_bytes)
    alone = {row["id"]: torch.stack(TeacherVectors(collator)([row], CPU)) for row in rows}
    for numbers in ([0, 1, 2, 3, 4], [4, 2], [1, 1, 0, 3], [3], [2, 4, 1]):
        batch = [rows[number] for number in numbers]
        expected = torch.cat([alone[row["id"]] for row in batch], dim=1)
        assert torch.equal(torch.stack(vectors(batch, CPU)), expected)


def test_nothing_goes_through_the_teacher_twice(collator, rows) -> None:
    vectors, found = TeacherVectors(collator), passes(collator.encoder)
    vectors(rows[:2], CPU)
    vectors(rows[2:], CPU)
    first = sum(found)
    assert first
    vectors([*reversed(rows)], CPU)
    renamed = [{**row, "id": "other", "messages": [{**message} for message in row["messages"]]} for row in rows]
    vectors(renamed, CPU)
    assert sum(found) == first
    cut = {**rows[1], "messages": rows[1]["messages"][1:]}  # another conversation, though its id is known
    vectors([cut], CPU)
    assert sum(found) > first


def test_no_more_is_kept_than_allowed(collator, rows) -> None:
    first = 4 * 2 * 32 * 4  # bytes: its turns, two vectors of 32 numbers each
    vectors, found = TeacherVectors(collator, max_bytes=first), passes(collator.encoder)
    vectors(rows, CPU)
    found.clear()
    vectors([rows[0]], CPU)
    assert not found
    vectors([rows[1]], CPU)
    assert found
