"""The real server with real stores."""

import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from httpx2 import Client

import turnlens
from turnlens.service.keys import new_key

from .conftest import Gate
from .server import SECONDS, Running, run_server

CARD = {
    "id": "shop/card 1",
    "topic": "card",
    "messages": [
        {"role": "user", "content": "my card is lost", "intent": "lost"},
        {"role": "assistant", "content": "i cancel the card"},
    ],
}
PIZZA = {
    "id": "pizza",
    "topic": "food",
    "messages": [
        {"role": "user", "content": "i want to order a pizza", "intent": "order"},
        {"role": "assistant", "content": "thanks"},
    ],
}


def lines(*conversations: dict[str, Any]) -> dict[str, Any]:
    content = "\n".join(map(json.dumps, conversations))
    return {"content": content, "headers": {"Content-Type": "application/x-ndjson"}}


@pytest.fixture(scope="module")
def shared(tiny_encoder_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("conversations")
    with run_server(model=str(tiny_encoder_path), model_name="tiny", stores={"talks": folder / "talks"}) as server:
        yield server


@pytest.fixture
def running(shared: Running) -> Running:
    """A server whose store is empty."""
    store = shared.service.stores.get("talks", None).writer
    store.delete(store.ids())
    return shared


@pytest.fixture
def folder(running: Running) -> Path:
    """The folder of the store, for tests that leave it as it was."""
    return running.service.stores.get("talks", None).writer.path


@pytest.fixture
def own_server(tiny_encoder_path: Path, tmp_path: Path) -> Iterator[Running]:
    """A server for a test that does harm to its store, in the folder ``talks``."""
    with run_server(model=str(tiny_encoder_path), model_name="tiny", stores={"talks": tmp_path / "talks"}) as server:
        yield server


def test_conversations_are_added_grow_are_read_and_deleted(client: Client) -> None:
    added = client.post("/v1/conversations", json={"conversations": [CARD, PIZZA]})
    assert added.json() == {
        "added": 2,
        "grown": 0,
        "changed": 0,
        "unchanged": 0,
        "messages": 4,
        "shortened": 0,
        "lost": 0,
        "repeated": 0,
    }
    grown = {**CARD, "messages": [*CARD["messages"], {"role": "user", "content": "thanks"}]}
    again = client.post("/v1/conversations", **lines(grown, PIZZA)).json()
    nothing = dict.fromkeys(added.json(), 0)
    assert again == {**nothing, "grown": 1, "unchanged": 1, "messages": 1}
    twice = client.post("/v1/conversations", **lines(PIZZA, PIZZA)).json()
    assert twice == {**nothing, "unchanged": 2, "repeated": 1}  # so a client learns that ids were not its own
    assert client.get("/v1/conversations/shop%2Fcard%201").json() == grown
    assert client.get("/v1/stores").json() == {"stores": [{"name": "talks", "conversations": 2, "messages": 5}]}
    deleted = client.delete("/v1/conversations/shop/card 1").json()
    assert deleted == {"id": "shop/card 1", "deleted": True, "erased": False}
    assert client.delete("/v1/conversations/shop/card 1").json()["deleted"] is False
    assert client.get("/v1/conversations/shop/card 1").status_code == 404


@pytest.mark.parametrize("damaged", ["v1/messages.lance/data/*", "v1/*/_versions/*", "store.json"])
def test_a_damaged_store_is_503_with_a_log(
    own_server: Running, tmp_path: Path, caplog: pytest.LogCaptureFixture, damaged: str
) -> None:
    with own_server.client() as client:
        assert client.post("/v1/conversations", json={"conversations": [CARD]}).status_code == 200
        for path in (tmp_path / "talks").glob(damaged):
            path.write_bytes(b"")
        answers = [
            client.post("/v1/search", json={"query": "card", "mode": "text"}),
            client.get("/v1/conversations/shop/card 1"),
            client.post("/v1/conversations", json={"conversations": [{**CARD, "topic": "another"}]}),
        ]
        assert client.get("/health/live").status_code == 200
    for answer in answers[: 2 if "data" in damaged else 3]:
        assert answer.status_code == 503, answer.text
        assert answer.json()["error"]["message"] == "the store cannot be used as it is: see the log of the service"
    assert str(tmp_path / "talks") in caplog.text and "copy" in caplog.text and "backup" in caplog.text


def test_a_refused_write_makes_no_new_folder(client: Client, folder: Path) -> None:
    assert client.post("/v1/conversations", json={"conversations": [CARD]}).status_code == 200
    moved = folder.rename(folder.with_name("moved"))
    assert client.post("/v1/conversations", json={"conversations": [PIZZA]}).status_code == 503
    assert client.delete("/v1/conversations/pizza").status_code == 503
    assert not folder.exists()
    moved.rename(folder)
    assert client.post("/v1/conversations", json={"conversations": [PIZZA]}).json()["added"] == 1


def test_a_reindexed_store_is_503_until_the_restart(
    own_server: Running, tiny_encoder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """`turnlens store reindex` may run beside a service, which keeps the encoder that it has."""
    with own_server.client() as client:
        assert client.post("/v1/conversations", json={"conversations": [CARD]}).status_code == 200
        assert client.post("/v1/search", json={"query": "card"}).status_code == 200
        tiny_encoder[0].auto_model.embeddings.word_embeddings.weight.data *= -1
        turnlens.ConversationStore.open(tmp_path / "talks").reindex(tiny_encoder)
        for level in ("message", "conversation"):
            assert client.post("/v1/search", json={"query": "card", "level": level}).status_code == 503
    assert "holds vectors of" in caplog.text


def test_every_get_route_answers_head(client: Client) -> None:
    for path, status in (("/health", 200), ("/health/live", 200), ("/v1/conversations/nobody", 404)):
        answer = client.head(path)
        assert (answer.status_code, answer.content) == (status, b"")


def test_numeric_ids_become_texts(client: Client) -> None:
    assert client.post("/v1/conversations", **lines({**CARD, "id": 17})).json()["added"] == 1
    assert client.post("/v1/conversations", json={"conversations": [{**CARD, "id": "17"}]}).json()["unchanged"] == 1
    assert client.get("/v1/conversations/17").json() == {**CARD, "id": "17"}


def test_nan_labels_come_back_as_null(client: Client) -> None:
    body = json.dumps({"conversations": [{**PIZZA, "price": float("nan"), "nested": {"a": None}}]})
    answer = client.post("/v1/conversations", content=body, headers={"Content-Type": "application/json"})
    assert answer.json()["added"] == 1
    expected = {**PIZZA, "price": None, "nested": {"a": None}}
    found = client.get("/v1/conversations/pizza").json()
    assert {**expected, **found} == expected and found["messages"] == PIZZA["messages"]


def test_searches_give_what_the_store_gives(client: Client, folder: Path) -> None:
    client.post("/v1/conversations", json={"conversations": [CARD, PIZZA]})
    answers = {
        name: client.post("/v1/search", json=body).json()["results"]
        for name, body in {
            "vector": {"query": "the card", "limit": 3},
            "hybrid": {"query": "the card", "mode": "hybrid", "where": "role = 'user' and label.intent = 'lost'"},
            "text": {"query": "pizza", "mode": "text"},
            "conversation": {"query": "the card", "level": "conversation"},
        }.items()
    }
    next_ = client.post("/v1/next", json={"messages": CARD["messages"][:1]}).json()
    store = turnlens.ConversationStore.open(folder, create=False)
    expected = store.search_messages("the card", limit=3)
    assert [(hit["conversation"], hit["turn"]) for hit in answers["vector"]] == [
        (hit.conversation, hit.turn) for hit in expected
    ]
    assert np.allclose([hit["score"] for hit in answers["vector"]], [hit.score for hit in expected], atol=1e-5)
    assert [hit["text"] for hit in answers["hybrid"]] == ["my card is lost"]
    assert [hit["text"] for hit in answers["text"]] == ["i want to order a pizza"]
    assert answers["conversation"][0]["speakers"] == ["user", "assistant"]
    assert [hit.conversation for hit in store.search_conversations("the card")] == [
        hit["conversation"] for hit in answers["conversation"]
    ]
    replies = store.next_replies(CARD["messages"][:1], where="role = 'assistant'")
    assert [reply["text"] for reply in next_["replies"]] == [reply.text for reply in replies]
    assert next_["replies"][0]["conversation"] == replies[0].conversation
    assert not any("probability" in reply for reply in next_["replies"])  # nothing is suggested


MISTAKES: list[tuple[str, dict[str, Any], int, str | None]] = [
    ("search", {"json": {"query": "a", "where": "role = 'x' OR 1=1 --"}}, 422, "where"),
    ("search", {"json": {"query": "a", "where": "text = 'a'; DROP TABLE messages"}}, 422, "where"),
    ("search", {"json": {"query": "a", "limit": 10**9}}, 422, "limit"),
    ("search", {"json": {"query": "a", "level": "conversation", "mode": "text"}}, 422, None),
    ("search", {"json": {"messages": CARD["messages"]}}, 422, None),
    ("search", {"json": {"query": ""}}, 422, "query"),
    ("search", {"json": {"query": " \n", "mode": "text"}}, 422, "query"),
    ("next", {"json": {"messages": CARD["messages"], "where": "nothing = 3"}}, 422, "where"),
    ("search", {"json": {"query": "a", "where": "role = 'usr'"}}, 422, "where"),
    ("search", {"json": {"query": "a", "where": "label.tpic = 'food'", "level": "conversation"}}, 422, "where"),
    ("search", {"json": {"messages": [{"role": "user", "content": " "}], "level": "conversation"}}, 422, None),
    ("next", {"json": {"messages": CARD["messages"], "where": "label.intent = 'none'"}}, 422, "where"),
    ("next", {"json": {"messages": [{"role": "user", "content": ""}]}}, 422, None),
    ("next", {"json": {"messages": []}}, 422, "messages"),
    ("next", {"json": {"messages": [{"role": "customer", "content": "my card"}]}}, 422, None),
    ("next", {"json": {"messages": CARD["messages"], "speaker": "agnt"}}, 422, None),
    ("conversations", {"json": {"conversations": [CARD, {"id": "", "messages": []}]}}, 422, "conversations.1.id"),
    ("conversations", {"json": CARD}, 422, "id"),
    ("conversations", lines(CARD, {"id": "b", "messages": [{"role": "u", "content": 3}]}), 422, "line 2.messages"),
    ("conversations", {"content": "{]", "headers": {"Content-Type": "application/json"}}, 422, None),
    ("conversations", {"content": json.dumps(CARD), "headers": {"Content-Type": "text/plain"}}, 415, None),
    (
        "conversations",
        {
            "content": gzip.compress(json.dumps(CARD).encode()),
            "headers": {"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"},
        },
        415,
        None,
    ),
    ("conversations?store=other", {"json": {"conversations": [CARD]}}, 404, "store"),
]


def test_a_mistake_changes_nothing_and_names_its_place(client: Client) -> None:
    client.post("/v1/conversations", **lines(PIZZA))
    for path, request, status, param in MISTAKES:
        response = client.post(f"/v1/{path}", **request)
        assert client.get("/v1/stores").json()["stores"][0]["conversations"] == 1
        error = response.json()["error"]
        assert response.status_code == status, error
        assert error["param"] == param or error["param"].startswith(f"{param}."), error


def test_reads_do_not_wait_for_embedding(gate: Gate, tmp_path: Path) -> None:
    with run_server(stores={"talks": tmp_path / "talks"}) as server, server.client() as client:
        client.post("/v1/conversations", **lines(PIZZA))
        gate.shut()
        adding = ThreadPoolExecutor(1).submit(client.post, "/v1/conversations", **lines(CARD))
        assert gate.reached.wait(SECONDS)
        # The gate opens only after these answers.
        assert client.get("/v1/conversations/pizza").json() == PIZZA
        hits = client.post("/v1/search", json={"query": "pizza", "mode": "text"}).json()["results"]
        assert [hit["conversation"] for hit in hits] == ["pizza"]
        assert client.delete("/v1/conversations/nobody?store=other").status_code == 404
        gate.open()
        assert adding.result(SECONDS).json()["added"] == 1
        assert client.get("/v1/conversations/shop/card 1").json() == CARD


def test_any_id_is_reached_by_its_path(client: Client) -> None:
    for id in ("a\nb", "a\r\nb", "\n", "a\n", "a/b?c#d%", "\u2028", "'"):
        path = f"/v1/conversations/{quote(id, safe='')}"
        assert client.post("/v1/conversations", json={"conversations": [{**CARD, "id": id}]}).json()["added"] == 1
        assert client.get(path).json() == {**CARD, "id": id}
        assert client.delete(path).json() == {"id": id, "deleted": True, "erased": False}
        assert client.get(path).status_code == 404


def test_long_queries_are_cut_and_long_words_refused(client: Client) -> None:
    long = {"query": "my card is lost " * 100_000}
    client.post("/v1/conversations", **lines(CARD))
    assert len(client.post("/v1/search", json=long).json()["results"]) == 2
    assert len(client.post("/v1/search", json={**long, "level": "conversation"}).json()["results"]) == 1
    for mode in ("text", "hybrid"):
        answer = client.post("/v1/search", json={**long, "mode": mode})
        assert answer.status_code == 422 and answer.json()["error"]["param"] == "query"


def test_long_messages_are_stored_and_long_blobs_refused(client: Client) -> None:
    long = {"id": "long", "messages": [{"role": "user", "content": "my card is lost " * 20_000}]}
    blob = {"id": "blob", "messages": [{"role": "user", "content": "x" * 100_000}]}
    assert client.post("/v1/conversations", **lines(long)).json()["added"] == 1
    assert client.get("/v1/conversations/long").json() == long
    answer = client.post("/v1/conversations", **lines(CARD, blob))
    assert answer.status_code == 413 and "100,000 characters" in answer.json()["error"]["message"]
    assert client.get("/v1/conversations/shop/card 1").status_code == 404


def test_a_key_sees_its_own_store_only(tiny_encoder_path: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    both = ["read", "write"]
    a, b, all_ = new_key(keys, "a", both, "a"), new_key(keys, "b", both, "b"), new_key(keys, "all", both)
    stores = {"a": tmp_path / "store-a", "b": tmp_path / "store-b"}
    with run_server(model=str(tiny_encoder_path), stores=stores, keys=keys) as server:
        with server.client(a) as client:
            assert client.post("/v1/conversations", **lines(CARD)).status_code == 200
            assert client.post("/v1/conversations?store=b", **lines(CARD)).status_code == 404
            assert [store["name"] for store in client.get("/v1/stores").json()["stores"]] == ["a"]
        with server.client(b) as client:
            assert client.get("/v1/conversations/shop/card 1").status_code == 404
            for path in ("/v1/search?store=a", "/v1/next?store=a"):
                body = {"messages": CARD["messages"], **({"level": "conversation"} if "search" in path else {})}
                assert client.post(path, json=body).status_code == 404
                assert client.post(path.partition("?")[0], json=body).status_code == 200
            assert client.get("/v1/conversations/shop/card 1?store=a").status_code == 404
            assert client.delete("/v1/conversations/shop/card 1?store=a").status_code == 404
            assert client.post("/v1/search", json={"query": "my card"}).json() == {"results": []}
        with server.client(all_) as client:
            assert client.get("/v1/conversations/shop/card 1").status_code == 422
            assert client.get("/v1/conversations/shop/card 1?store=a").json() == CARD


def test_a_server_takes_the_model_of_its_store(tiny_encoder_path: Path, tmp_path: Path, caplog) -> None:
    turnlens.ConversationStore.open(tmp_path / "talks", encoder=str(tiny_encoder_path)).add([CARD])
    stores = {"talks": tmp_path / "talks", "mistyped": tmp_path / "talk"}
    with caplog.at_level("INFO", "turnlens.service"), run_server(stores=stores) as server, server.client() as client:
        assert f"store talks in {tmp_path / 'talks'}; conversations: 1, messages: 2" in caplog.text
        assert f"store mistyped in {tmp_path / 'talk'}; conversations: 0, messages: 0" in caplog.text
        assert client.get("/v1/models").json()["data"][0]["id"] == tiny_encoder_path.name
        answer = client.post("/v1/search?store=talks", json={"query": "card"}).json()
        assert answer["results"][0]["labels"] == {"topic": "card", "intent": "lost"}


def test_a_store_of_another_encoder_is_refused(tiny_encoder, tmp_path: Path, caplog) -> None:
    tiny_encoder[0].auto_model.embeddings.word_embeddings.weight.data += 1
    tiny_encoder.save_pretrained(str(tmp_path / "other"), create_model_card=False)
    turnlens.ConversationStore.open(tmp_path / "talks", encoder=tiny_encoder)
    tiny_encoder[0].auto_model.embeddings.word_embeddings.weight.data += 1
    tiny_encoder.save_pretrained(str(tmp_path / "third"), create_model_card=False)
    with run_server(wait=False, model=str(tmp_path / "third"), stores={"t": tmp_path / "talks"}) as server:
        assert "holds vectors of" in str(server.service.worker.loaded.exception(60))
        with server.client() as client:
            assert client.get("/health/live").status_code == 503
            assert client.get("/v1/stores").status_code == 503


def test_null_is_as_an_optional_field_not_given(client: Client) -> None:
    client.post("/v1/conversations", json={"conversations": [CARD, PIZZA]})
    described = client.get("/openapi.json").json()
    answered = []
    for path, methods in described["paths"].items():
        for content in methods.get("post", {}).get("requestBody", {}).get("content", {}).values():
            schema = described["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
            optional = schema["properties"].keys() - set(schema.get("required", ()))
            for example in schema["examples"] if optional else ():
                nulls = dict.fromkeys(optional - example.keys())
                address = path.replace("{store}", "talks")
                with_nulls, without = (client.post(address, json={**more, **example}) for more in (nulls, {}))
                assert with_nulls.status_code == without.status_code, (path, with_nulls.text)
                answered += [path] * (without.status_code == 200)
    assert {"/v1/embeddings", "/v1/rerank", "/v1/search"} <= set(answered)
