from __future__ import annotations

from .command_line import run, succeed


def test_bad_rows_are_an_error_or_skipped(chats, tmp_path) -> None:
    with chats.open("a") as file:
        file.write('{"messages": 3}\n')
    result = run("convert", chats, "--output", tmp_path / "out.jsonl")
    assert result.exit_code == 1 and "chats.jsonl:31" in result.output and "--skip-bad-rows" in result.output
    assert "Wrote 30 conversations" in succeed("convert", chats, "--output", tmp_path / "out.jsonl", "--skip-bad-rows")
