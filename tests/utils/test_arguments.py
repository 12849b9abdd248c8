"""No call takes a single text for a list of its letters."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turnlens
from turnlens._utils.arguments import require_list
from turnlens.data import Columns, Redaction
from turnlens.encoders.messages import encode_contexts
from turnlens.encoders.reply_model import ReplyModel
from turnlens.errors import ConversationError
from turnlens.evaluation import build_retrieval_task, labelled_conversations
from turnlens.papers import planning
from turnlens.papers.baselines import TfIdf
from turnlens.papers.next_message.next_message import evaluate_next_message
from turnlens.papers.next_message.sequences import EmbeddedSequences, build_sequences


def test_lists_of_any_kind_are_taken() -> None:
    for given in (["a", "b"], ("a", "b"), iter("ab"), np.array(["a", "b"]), {"a": 1, "b": 2}):
        assert require_list(given, "ids") == ["a", "b"]
    assert require_list([], "ids") == []


@pytest.mark.parametrize("given", ["12", b"12", Path("12")])
def test_single_texts_are_refused_with_the_remedy(given: Any) -> None:
    with pytest.raises(TypeError, match=r"ids: expected a list, got the single .*12.*: put it in a list, ids=\[…\]"):
        require_list(given, "ids")


def test_items_other_than_texts_are_refused_by_place() -> None:
    with pytest.raises(TypeError, match="ids: expected texts, got None at position 1"):
        require_list(["a", None], "ids")  # type: ignore[list-item]
    with pytest.raises(TypeError, match="ids: expected a list of texts, got 12"):
        require_list(12, "ids")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("ignore", lambda encoder, talks: Columns(ignore="secret")),
        ("patterns", lambda encoder, talks: Redaction(patterns="emails")),
        ("encoders", lambda encoder, talks: turnlens.merge("model")),
        ("encoders", lambda encoder, talks: turnlens.merge(Path("model"))),
        ("texts", lambda encoder, talks: ReplyModel(encoder).encode_candidates("yes")),
        ("texts", lambda encoder, talks: encode_contexts(encoder, ["yes"])),
        ("texts", lambda encoder, talks: TfIdf().fit(talks).encode_messages("yes")),
        ("candidates", lambda encoder, talks: planning.rank(ReplyModel(encoder), talks[0]["messages"], "yes", "no")),
        ("modes", lambda encoder, talks: evaluate_next_message(_sequences(encoder, talks), modes="bi")),
    ],
)
def test_public_calls_refuse_a_single_text(
    tiny_encoder: Any, conversations: Any, name: str, call: Callable[[Any, Any], object]
) -> None:
    with pytest.raises(TypeError, match=f"{name}: expected a list, got the single"):
        call(tiny_encoder, conversations)


@pytest.mark.parametrize("build", [build_sequences, build_retrieval_task, labelled_conversations])
@pytest.mark.parametrize("given", ["chats.jsonl", ["my card"]])
def test_tasks_are_built_of_no_text(build: Callable[[Any], object], given: Any) -> None:
    with pytest.raises(ConversationError, match=r"row 0: expected a conversation.*files are read by"):
        build(given)


def _sequences(encoder: Any, talks: Any) -> EmbeddedSequences:
    return EmbeddedSequences(encoder, build_sequences(talks))
