from __future__ import annotations

import pytest
from sentence_transformers import SentenceTransformer

from .command_line import run, succeed

pytest.importorskip("model2vec", reason="needs the extra static")
pytest.importorskip("skeletoken", reason="needs the extra static")


def test_a_static_encoder(tiny_encoder_path, tmp_path) -> None:
    arguments = ("model", "distill", tiny_encoder_path, "--to", "static", "--output", tmp_path / "static")
    succeed(*arguments, "--dimensions", "16")
    assert SentenceTransformer(str(tmp_path / "static"), device="cpu").encode("thanks").shape == (16,)
    assert "exists already" in run(*arguments).output


def test_it_embeds_by_the_commands(chats, tiny_encoder_path, tmp_path) -> None:
    succeed("model", "distill", tiny_encoder_path, "--output", tmp_path / "static")
    succeed("embed", chats, "--model", tmp_path / "static", "--output", tmp_path / "v.parquet")
    pytest.importorskip("lancedb", reason="needs the extra store")
    succeed("index", chats, "--model", tmp_path / "static", "--store", tmp_path / "talks")
    succeed("search", tmp_path / "talks", "my card")
