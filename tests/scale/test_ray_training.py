"""Errors in the launcher on Ray Train; that it trains is tested in training/test_several_processes.py."""

import logging
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from turnlens._utils.progress import error_console, note
from turnlens.scale import ray_training

train = pytest.importorskip("ray.train", reason="needs the extra ray")

pytestmark = pytest.mark.slow


def wrapped(error: Exception) -> Exception:
    from ray.train.v2._internal.util import construct_user_exception_with_traceback

    try:
        raise error
    except type(error) as raised:
        return construct_user_exception_with_traceback(raised)


def test_what_users_can_mend_is_raised_as_it_was() -> None:
    lost, bad_row = (
        wrapped(RuntimeError("connection closed by peer")),
        wrapped(ValueError("chats.jsonl:3: no messages")),
    )
    with pytest.raises(ValueError, match=r"^chats\.jsonl:3: no messages$"):
        ray_training._reason(train.WorkerGroupError("both", {0: lost, 1: bad_row}))


def test_anything_else_is_told_in_a_line() -> None:
    lost = wrapped(RuntimeError("connection closed by peer"))
    assert ray_training._reason(train.WorkerGroupError("one", {0: lost})) == "RuntimeError: connection closed by peer"
    assert ray_training._reason(train.ControllerError(OSError("no room"))).endswith("no room")


@pytest.mark.parametrize(("code", "raised"), [(0, KeyboardInterrupt), (1, KeyboardInterrupt), (143, SystemExit)])
def test_ctrl_c_is_an_interruption_and_its_handler_is_put_back(code: int, raised: type[BaseException]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(raised), ray_training._ctrl_c_raises():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise SystemExit(code)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.fixture
def as_worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, dict[str, Any]], None]]:
    """Runs what a worker of some rank runs, and puts the console and the log back afterwards."""
    logger = logging.getLogger("turnlens")

    def run(rank: str, config: dict[str, Any]) -> None:
        monkeypatch.setenv("RANK", rank)
        monkeypatch.chdir(Path.cwd())  # which is put back too
        monkeypatch.setattr(logger, "handlers", [])
        ray_training._in_worker(config)
        error_console.file = None

    yield run
    error_console.file = None


def test_notes_and_warnings_of_the_first_worker_arrive(as_worker, tmp_path) -> None:
    told: list[str] = []

    class Queue:
        put = staticmethod(told.append)

    def work(resume: bool) -> None:
        note(f"in {Path.cwd().name}, resume {resume}")
        logging.getLogger("turnlens").warning("a conversation is too long")

    config = {"work": work, "resume": True, "folder": str(tmp_path), "notes": Queue(), "log_level": logging.WARNING}
    as_worker("0", config)
    as_worker("1", config)
    assert told[0] == f"in {tmp_path.name}, resume True"
    assert len(told) == 2 and "a conversation is too long" in told[1]


def test_a_folder_that_a_node_lacks_is_told(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="is not on every node: start from a folder on a disk they share"):
        ray_training._in_worker({"folder": str(tmp_path / "missing")})


def test_a_reply_head_needs_no_workers(tmp_path) -> None:
    from typer.testing import CliRunner

    from turnlens.cli.main import app

    chats = tmp_path / "chats.jsonl"
    chats.write_text('{"id": "c", "messages": [{"role": "user", "content": "hello"}]}')
    arguments = ["train", str(chats), "--method", "reply-head", "--engine", "ray", "--output", str(tmp_path / "m")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1 and "runs in one process" in result.output
