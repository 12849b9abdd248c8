"""The code of docs/service.md works as it stands, where the package that it is for is installed."""

from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import turnlens
from tests.cli.command_line import succeed
from tests.test_commands_of_pages import ROOT, blocks_of

pytest.importorskip("openai", reason="needs openai, of the extra dev")

PAGE = "http://127.0.0.1:8000"


def run_block(package: str, url: str = PAGE) -> dict[str, Any]:
    """Run the page's code with this package and return its variables."""
    pytest.importorskip(package, reason=f"needs {package}, which no extra has")
    (code,) = [
        block.code
        for page in ("service.md", "groups.md")
        for block in blocks_of(ROOT / "docs" / page)
        if block.language == "python" and package in block.code
    ]
    names: dict[str, Any] = {}
    exec(code.replace(PAGE, url), names)
    return names


@pytest.fixture(scope="module")
def url(tiny_encoder_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    from .server import run_server

    store = tmp_path_factory.mktemp("integrations") / "talks"
    turnlens.ConversationStore.create(store, turnlens.sample_conversations(20), encoder=tiny_encoder_path)
    with run_server(model=str(tiny_encoder_path), model_name="turnlens/encoder", stores={"talks": store}) as server:
        yield server.url


def test_openais_client(url: str) -> None:
    assert len(run_block("openai", url)["answer"].data) == 2


def test_a_retriever_of_langchain(url: str) -> None:
    documents = run_block("langchain_core", url)["documents"]
    assert len(documents) == 5 and all(document.page_content for document in documents)
    assert {"conversation", "turn"} <= documents[0].metadata.keys()


def test_a_retriever_of_llama_index(url: str) -> None:
    nodes = run_block("llama_index.core", url)["nodes"]
    assert len(nodes) == 5 and all(node.text and node.score is not None for node in nodes)


def test_tags_in_langfuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, str]] = []

    class Langfuse(BaseHTTPRequestHandler):
        """Its API, as far as scores need it."""

        def do_POST(self) -> None:
            sent.append((self.path, self.rfile.read(int(self.headers["Content-Length"])).decode()))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.chdir(tmp_path)
    Path("tags.csv").write_text("id,turn,trace,group,group_name\na,0,t1,3,refund\nb,0,t2,,\n", encoding="utf-8")
    with HTTPServer(("127.0.0.1", 0), Langfuse) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        for name in ("LANGFUSE_HOST", "LANGFUSE_BASE_URL"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "a")
        monkeypatch.setenv("LANGFUSE_SECRET_KEY", "b")
        try:
            run_block("langfuse")
        finally:
            server.shutdown()  # also where langfuse is not installed; its thread would wait busily for ever
    (score,) = [body for path, body in sent if "score" in path or "score" in body]
    assert all(word in score for word in ("t1", "refund", "CATEGORICAL")) and "t2" not in score


@pytest.fixture(scope="module")
def exports(tiny_encoder_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the page exports."""
    folder = tmp_path_factory.mktemp("exports")
    store = folder / "talks"
    turnlens.ConversationStore.create(store, turnlens.sample_conversations(60), encoder=tiny_encoder_path)
    succeed("export", store, "--output", folder / "tags.parquet")
    succeed("export", store, "--sample", 3, "--output", folder / "examples.jsonl")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("package", ["duckdb", "polars"])
def test_exports_are_read(package: str, exports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(exports)
    reader = pytest.importorskip(package, reason=f"needs {package}, which no extra has")
    if package == "polars":
        requests = reader.read_parquet("tags.parquet").group_by("group_name").len("conversations")
        talks = reader.read_ndjson("examples.jsonl").select("id", reader.col("messages").list.len())
        rows = {"requests": requests.rows(), "talks": talks.rows()}
    else:
        counted = "select group_name, count(*) from 'tags.parquet' group by all"
        rows = {"requests": reader.sql(counted).fetchall()}
        rows["talks"] = reader.sql("select id, len(messages) from 'examples.jsonl'").fetchall()
    assert sum(count for _, count in rows["requests"]) == 60
    assert rows["talks"] and all(turns > 0 for _, turns in rows["talks"])
