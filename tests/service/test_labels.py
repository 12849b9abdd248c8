"""`POST /v1/label` with the groups of a store."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from httpx2 import Client

import turnlens
from tests.report.talks import talks
from turnlens.report import label

from .server import Running, run_server


@pytest.fixture
def running(tiny_encoder_path: Path, tmp_path: Path) -> Iterator[Running]:
    turnlens.ConversationStore.create(tmp_path / "talks", talks(36), encoder=tiny_encoder_path)
    with run_server(model=str(tiny_encoder_path), model_name="tiny", stores={"talks": tmp_path / "talks"}) as server:
        yield server


def test_messages_get_the_groups_of_the_store(client: Client, tmp_path: Path) -> None:
    talk = talks(1, start=40)[0]
    early = client.post("/v1/label", json={"messages": talk["messages"]})
    assert early.status_code == 422 and "has no groups" in early.json()["error"]["message"]
    turnlens.cluster(tmp_path / "talks")
    answer = client.post("/v1/label", json={"messages": talk["messages"]})
    assert answer.status_code == 200, answer.text
    expected = label([talk], groups=tmp_path / "talks").to_pylist()
    assert [row["confidence"] for row in answer.json()["labels"]] == pytest.approx(
        [row["confidence"] for row in expected], abs=1e-4
    )
    assert [row.get("group_name") for row in answer.json()["labels"]] == [row["group_name"] for row in expected]
