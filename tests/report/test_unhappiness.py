"""Unhappiness with answers."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from tests.report.talks import chats
from tests.report.test_speakers import corpus
from turnlens.encoders.folders import DEFAULT_ENCODER
from turnlens.report import cluster
from turnlens.report.corpus import CorpusEncoder
from turnlens.report.unhappiness import unhappiness, unhappy_conversations

SAID = {
    "user": "The app shows an error when I log in.",
    "agent": "Please restart your phone.",
    "angry": "That is no help at all, this is useless.",
    "glad": "Great, thanks a lot!",
    "done": "No, nothing else, thanks",
}


def test_only_what_follows_an_answer_to_a_request_counts() -> None:
    encoder = SimpleNamespace(messages=lambda texts: {"vector": np.eye(2)[[int(len(texts) < 3)] * len(texts)]})
    spoken = corpus("agent user agent user user agent", "user user agent", "user agent user")
    asks, first = spoken.role == spoken.roles.index("user"), np.array([0, 6, 9])
    spoken = replace(
        spoken,
        first=first,
        vectors=np.eye(2)[[0] * 11 + [1]],
        encoder=CorpusEncoder(DEFAULT_ENCODER, "", lambda: encoder),
    )
    requests = np.isin(np.arange(12), (1, 6, 9))
    scores = unhappiness(spoken, asks, requests)
    assert np.flatnonzero(~np.isnan(scores)).tolist() == [3, 11] and scores[3] > 0 > scores[11]
    np.testing.assert_equal(unhappy_conversations(scores, spoken)["unhappy"], [1, np.nan, 0])
    assert unhappy_conversations(unhappiness(spoken, asks, np.zeros(12, bool)), spoken) == {}


@pytest.mark.parametrize("encoder", (DEFAULT_ENCODER, "another"))
def test_complaints_after_answers_are_unhappy_and_thanks_are_not(
    encoder: str, tiny_encoder: SentenceTransformer
) -> None:
    texts = [("user", "agent", last) for _ in range(20) for last in ("angry", "glad")]
    rows = chats([f"{SAID[key]} {n}" for key in keys] for n, keys in enumerate(texts))
    groups = cluster(rows, encoder=tiny_encoder if encoder == "another" else encoder)
    assert groups.report.numbers["unhappy"].tolist() == [1, 0] * 20
    assert groups.to_arrow()["unhappy"].to_pylist() == [None, None, True, None, None, False] * 20
    first = groups.summary().to_pylist()[0]
    assert (first["unhappy_above"], first["unhappy_known"]) == (0.5, 40)


def test_who_wants_no_more_is_not_unhappy() -> None:
    texts = [("user", "agent", last) for _ in range(20) for last in ("angry", "done")]
    groups = cluster(chats([f"{SAID[key]} {n}" for key in keys] for n, keys in enumerate(texts)))
    assert groups.report.numbers["unhappy"].tolist() == [1, 0] * 20
