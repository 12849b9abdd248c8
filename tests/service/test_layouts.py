"""Every route that takes messages takes them in the layouts that files may have."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from httpx2 import Client

import turnlens
from closeness import assert_same_vectors
from message_layouts import LAYOUTS, PLAIN, TEXTS, WRONG

from .server import Running, run_server


@pytest.fixture(scope="module")
def running(tiny_encoder_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    store = tmp_path_factory.mktemp("layouts") / "talks"
    rows = [{"id": "talk", "messages": PLAIN}]
    turnlens.ConversationStore.create(store, rows, encoder=tiny_encoder_path)
    with run_server(model=str(tiny_encoder_path), model_name="tiny", stores={"talks": store}) as server:
        yield server


def test_conversations_are_added_in_all_layouts(client: Client) -> None:
    answer = client.post("/v1/conversations", json={"conversations": [{"id": "new", "messages": LAYOUTS}]})
    assert answer.status_code == 200, answer.text
    stored = client.get("/v1/conversations/new").json()["messages"]
    client.delete("/v1/conversations/new")
    assert [message["content"] for message in stored] == TEXTS
    assert stored[1]["tool_calls"] == LAYOUTS[1]["tool_calls"]


def test_instructions_are_labels_as_in_files(client: Client) -> None:
    said = [{"role": "system", "content": "Be kind."}, *PLAIN[:1], {"role": "developer", "content": "Be brief."}]
    for turns in (said[:2], [*said, {"role": "assistant", "content": "Hello."}]):  # the second time it has grown
        answer = client.post("/v1/conversations", json={"conversations": [{"id": "told", "messages": turns}]})
        assert answer.status_code == 200, answer.text
    assert (answer.json()["grown"], answer.json()["messages"]) == (1, 2)
    stored = client.get("/v1/conversations/told").json()
    client.delete("/v1/conversations/told")
    assert stored["system"] == "Be kind."
    assert [(m["role"], m["content"], m.get("notice")) for m in stored["messages"]] == [
        ("user", PLAIN[0]["content"], None),
        ("developer", "", "Be brief."),
        ("assistant", "Hello.", None),
    ]


@pytest.mark.parametrize(
    ("path", "further"),
    [
        ("/v1/next", {"speaker": "assistant"}),
        ("/v1/next", {"candidates": ["thanks", "bye"]}),
        ("/v1/search", {"level": "conversation"}),
    ],
)
def test_running_conversations_are_read_in_all_layouts(client: Client, path: str, further: dict) -> None:
    answers = [client.post(path, json={"messages": said, **further}) for said in (LAYOUTS, PLAIN)]
    assert [answer.status_code for answer in answers] == [200, 200], answers[0].text
    found, expected = (
        next(iter(hits for hits in answer.json().values() if isinstance(hits, list))) for answer in answers
    )
    assert [hit["text"] for hit in found] == [hit["text"] for hit in expected]


@pytest.mark.parametrize("several", [False, True])
def test_conversations_are_embedded_in_all_layouts(client: Client, several: bool) -> None:
    answers = [
        client.post("/v1/embeddings", json={"messages": [said, said] if several else said}).json()
        for said in (LAYOUTS, PLAIN)
    ]
    assert_same_vectors(*([row["embedding"] for row in answer["data"]] for answer in answers))


def test_labels_are_given_to_messages_in_all_layouts(client: Client) -> None:
    # the store has no groups; a body that is refused is refused before that
    answer = client.post("/v1/label", json={"messages": LAYOUTS})
    assert "has no groups" in answer.json()["error"]["message"]


def test_an_unknown_message_layout_is_refused(client: Client) -> None:
    for message, problem in WRONG:
        wrong = {"id": "new", "messages": [PLAIN[0], message]}
        added = client.post("/v1/conversations", json={"conversations": [wrong]})
        ranked = client.post("/v1/next", json={"messages": wrong["messages"]})
        for answer, place in ((added, "conversations.0.messages.1"), (ranked, "messages.1")):
            error = answer.json()["error"]
            assert answer.status_code == 422 and error["param"] == place and problem in error["message"]
