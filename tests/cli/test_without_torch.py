"""The plain installation does the main job: where torch cannot be imported, every command but training works."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import turnlens

pytestmark = pytest.mark.slow

README = Path(__file__).parents[2] / "README.md"
# Python imports it at its start: nothing that only training needs can be imported or found from then on.
_BLOCKED = """
import sys

class _Blocker:
    names = {"torch", "sentence_transformers", "transformers", "accelerate"}

    @classmethod
    def find_spec(cls, name, *_):
        if name.partition(".")[0] in cls.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, _Blocker)
import importlib.util
_find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name in _Blocker.names else _find(name, *more)
"""
_COMMANDS = {
    "inspect chats.jsonl": "",
    "explore chats.jsonl --export report": "report",
    "cluster chats.jsonl --output groups.csv": "groups.csv",
    "label chat.jsonl --groups chats.store --output labels.csv": "labels.csv",
    "index chats.jsonl --store talks": "talks",
    "search talks card --mode text": "",
    "search talks card --mode vector": "",
    "search talks card --mode hybrid": "",
    "reply --store talks --conversation chat.jsonl": "",
    "embed chats.jsonl --output vectors.parquet": "vectors.parquet",
    "embed chats.jsonl --level conversation --output whole.parquet": "whole.parquet",
    "embed chats.jsonl --level message-in-context --output in-context.parquet": "in-context.parquet",
    "evaluate chats.jsonl --task semantic-retrieval": "",
}


@pytest.fixture
def plain(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "sitecustomize.py").write_text(_BLOCKED)
    talks = turnlens.sample_conversations(240)  # so many that surprise is measured
    talks.to_json(str(tmp_path / "chats.jsonl"))
    talks.select([0]).to_json(str(tmp_path / "chat.jsonl"))
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "HF_HUB_OFFLINE": "1"}


def ran(environment: dict[str, str], folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "turnlens", *command.split()]
    return subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True)


def test_plain_commands_work_without_torch(plain: dict[str, str], tmp_path: Path) -> None:
    assert (
        "No module named 'torch'"
        in subprocess.run([sys.executable, "-c", "import torch"], env=plain, capture_output=True, text=True).stderr
    )
    for command, written in _COMMANDS.items():
        done = ran(plain, tmp_path, command)
        assert done.returncode == 0 and "Traceback" not in done.stderr, f"{command}: {done.stdout}{done.stderr}"
        assert not written or (tmp_path / written).exists(), command


def test_lines_of_python_work_without_torch(plain: dict[str, str], tmp_path: Path) -> None:
    lines = re.split("^## Six lines of Python\n+```python\n", README.read_text(encoding="utf-8"), flags=re.MULTILINE)[1]
    lines = re.sub(r"turnlens\.train\(.*?\)", "turnlens.load_encoder()", lines.split("```")[0])
    words = [sys.executable, "-c", lines.replace('"fitted"', "None")]
    done = subprocess.run(words, env=plain, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and (tmp_path / "shop").is_dir(), done.stderr


def test_training_names_its_extra_in_one_line(plain: dict[str, str], tmp_path: Path) -> None:
    for command in ("train chats.jsonl --output model", "demo --output shown"):
        done = ran(plain, tmp_path, command)
        assert done.returncode == 1 and "pip install 'turnlens[train]'" in done.stderr, done.stderr
        assert "Traceback" not in done.stderr and len(done.stderr.strip().splitlines()) <= 2, done.stderr


def test_the_service_embeds_for_openais_client_without_torch(plain: dict[str, str], tmp_path: Path) -> None:
    openai = pytest.importorskip("openai")
    words = [sys.executable, "-u", "-m", "turnlens", "serve", "--port", "0"]
    with subprocess.Popen(words, env=plain, cwd=tmp_path, stdout=-1, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout
            address = next(found[0] for line in process.stdout if (found := re.search(r"http://[\d.]+:\d+", line)))
            while json.load(urllib.request.urlopen(f"{address}/health/live", timeout=30)) is None:
                pass
            client = openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=8)
            answer = client.embeddings.create(model="encoder", input=["my card is gone", "thanks"])
            assert len(answer.data) == 2 and len(answer.data[0].embedding) == 384
        finally:
            process.terminate()
            process.stdout.read()
