"""Bodies of requests to the service, and what must hold of its answers."""

import json
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from fuzz.hostile import changed_value, damaged_bytes

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "service")]

_MESSAGES = [{"role": "user", "content": "my card is lost", "time": "2024-05-01"}, {"role": "agent", "content": "oh"}]
_TALK = {"id": "a/b 1", "messages": _MESSAGES, "topic": "card", "tags": ["x"], "n": 1}
_SEARCH = {"limit": 3, "offset": 1, "where": "role = 'user' and not label.n in (1, 2)"}
# By the name of the file in which a finding is kept.
_BODIES: dict[str, tuple[str, Any]] = {
    "embeddings": ("/v1/embeddings", {"input": ["a", "b"], "encoding_format": "base64", "dimensions": 8, "user": "u"}),
    "tokens": ("/v1/embeddings", {"model": "tiny", "input": [[5, 6], [7]]}),
    "dialogue": ("/v1/embeddings", {"messages": _MESSAGES, "pooling": "mean"}),
    "rerank": ("/v1/rerank", {"query": "a", "documents": ["b", {"text": "c"}], "top_n": 1, "return_documents": True}),
    "conversations": ("/v1/conversations", {"conversations": [_TALK]}),
    "lines": ("/v1/conversations", _TALK),
    "search": ("/v1/search", {"query": "card", "mode": "hybrid", **_SEARCH}),
    "alike": ("/v1/search", {"messages": _MESSAGES, "level": "conversation", **_SEARCH}),
    "next": ("/v1/next", {"messages": _MESSAGES, "candidates": ["a", "b"], "speaker": "user", "mode": "bi"}),
    "replies": ("/v1/next", {"messages": _MESSAGES, "distinct": True, "where": "role = 'agent'", "limit": 3}),
}


_MANY = (
    *('"k{}": 0', "[]", "{{}}", '""', "0", '"a, b"', "null", "[[]]", '{{"role": "u"}}'),
    '{{"role": "user", "content": "a"}}',
    '{{"role": "user", "content": "a", "k{}": [0]}}',
    '{{"text": "a"}}',
    '{{"id": "{}", "messages": [{{"role": "u", "content": "a"}}]}}',
    '"\\\\\\"", ["',
)
_FIELDS = ("input", "messages", "documents", "candidates", "conversations", "query", "where", "x")


@st.composite
def bodies(draw: st.DrawFn) -> tuple[str, bytes]:
    """A route, and a body that resembles what it takes or has one part very many times: up to more than are served."""
    name, (_, body) = draw(st.sampled_from(sorted(_BODIES.items())))
    if draw(st.booleans()):
        return name, json.dumps(draw(changed_value(body))).encode("utf-8", "replace")
    if draw(st.booleans()):
        return name, draw(damaged_bytes(json.dumps(body).encode()))
    part, count = draw(st.sampled_from(_MANY)), draw(st.sampled_from((2, 100, 3_000, 60_000, 130_000, 260_000)))
    inner = ", ".join(part.format(number) for number in range(count))
    opened, closed = draw(st.sampled_from(("[]", "{}", ("[[", "]]"), ("", ""), ("[", ""))))
    depth = draw(st.sampled_from((0, 0, 0, 1, 50, 300)))
    value = "[" * depth + opened + inner + closed + "]" * depth
    written = json.dumps(body | {draw(st.sampled_from(_FIELDS)): "HERE"}).replace('"HERE"', value)
    return name, (written if draw(st.booleans()) else value).encode()[: 8 * 2**20]


@cache
def _client() -> Any:
    """A client of a service in a thread of this process, which ends with the process."""
    from server import SECONDS, start_server  # type: ignore[import-not-found]

    from tiny_encoder import save_tiny_encoder

    folder = Path(tempfile.mkdtemp(prefix="turnlens-fuzz-"))
    server = start_server(model=str(save_tiny_encoder(folder)), stores={"talks": folder / "talks"})
    server.service.worker.loaded.result(SECONDS)
    return server.client()


def check_request(name: str, body: bytes) -> None:
    """The service answers, or refuses with an error in JSON; it never fails."""
    kind = "application/x-ndjson" if name == "lines" else "application/json"
    answer = _client().post(_BODIES[name][0], content=body, headers={"Content-Type": kind})
    said = answer.json()
    assert _client().get("/health/live").status_code == 200
    if answer.status_code != 200:
        assert answer.status_code in (400, 404, 413, 422), (answer.status_code, answer.text)
        assert isinstance(said["error"]["message"], str) and said["error"]["type"], said
        assert len(said["error"]["message"]) < 25_000, len(said["error"]["message"])
