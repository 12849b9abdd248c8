from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq

from turnwise.encoders import embed

from .command_line import run, succeed


def test_embedding_goes_on_where_it_was_cut_off(chats, tiny_encoder_path, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(embed, "_CONVERSATIONS_IN_PART", 10)
    arguments = ("embed", chats, "--model", tiny_encoder_path, "--output")
    succeed(*arguments, tmp_path / "whole.parquet")
    embedded, seen = embed.encode_utterances, []

    def cut_off(*given):
        seen.append(given)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return embedded(*given)

    monkeypatch.setattr(embed, "encode_utterances", cut_off)
    result = run(*arguments, tmp_path / "cut.parquet")
    assert result.exit_code == 130 and "--resume" in result.output
    assert not (tmp_path / "cut.parquet").exists()
    succeed(*arguments, tmp_path / "cut.parquet", "--resume")
    assert len(seen) == 4
    assert pq.read_table(tmp_path / "cut.parquet").equals(pq.read_table(tmp_path / "whole.parquet"))
    assert not (tmp_path / "cut.parquet.run").exists()


def test_a_damaged_model_is_one_error(chats, tiny_encoder_path, tmp_path) -> None:
    model = Path(shutil.copytree(tiny_encoder_path, tmp_path / "model"))
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    result = run("embed", chats, "--model", model, "--output", tmp_path / "vectors.parquet")
    assert result.exit_code == 1 and "cannot load the encoder" in result.output and "Traceback" not in result.output


def test_a_mistake_leaves_no_unfinished_run(chats, tiny_encoder_path, tmp_path) -> None:
    arguments = (
        "embed",
        chats,
        "--model",
        tiny_encoder_path,
        "--level",
        "dialogue",
        "--output",
        tmp_path / "v.parquet",
    )
    wrong = run(*arguments, "--pooling", "speaker:nobody")
    assert wrong.exit_code == 1 and "no speaker 'nobody'" in wrong.output
    succeed(*arguments, "--pooling", "mean")
