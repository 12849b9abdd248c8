"""What the launcher on Ray Train makes of errors; that it trains is tested in training/test_several_processes.py."""

from __future__ import annotations

import signal

import pytest

from turnwise.distributed import ray_training

train = pytest.importorskip("ray.train", reason="needs the extra ray")


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


def test_a_turn_order_head_needs_no_workers(tmp_path) -> None:
    from typer.testing import CliRunner

    from turnwise.cli.main import app

    arguments = [
        "train",
        "chats.jsonl",
        "--method",
        "turn-order-head",
        "--engine",
        "ray",
        "--output",
        str(tmp_path / "m"),
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1 and "fitted by one process" in result.output
