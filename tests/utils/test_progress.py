import io
import logging

from rich.logging import RichHandler
from rich.table import Table

from turnlens._utils import progress
from turnlens._utils.progress import SafeConsole, phases, progress_bar

HOSTILE = "a\x1b]0;title\x07b\x9b31mc\rd\x08e\x7ff\tg\u202eh\u2066i\ud800j\nh"


def printed(*renderables: object, **options: object) -> str:
    console = SafeConsole(file=io.StringIO(), markup=False, width=60)
    for renderable in renderables:
        console.print(renderable, **options)
    return console.file.getvalue()


def controls(text: str) -> set[str]:
    return {c for c in text if not c.isprintable() and c != "\n"}


def test_no_text_gives_the_terminal_orders() -> None:
    table = Table(HOSTILE, title=HOSTILE)
    table.add_row(HOSTILE)
    for text in (printed(HOSTILE), printed(HOSTILE, soft_wrap=True), printed(table), printed([HOSTILE])):
        assert controls(text) == set()
        assert "title" in text and "31mc" in text
    assert printed("a\nb é 😀") == "a\nb é 😀\n"


def test_logged_texts_neither() -> None:
    console = SafeConsole(file=io.StringIO(), width=60)
    RichHandler(console=console).emit(logging.makeLogRecord({"msg": HOSTILE, "levelname": "WARNING"}))
    assert controls(console.file.getvalue()) == set()


def test_colours_and_progress_bars_still_work() -> None:
    console = SafeConsole(file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print("hello", style="red")
    assert console.file.getvalue() == "\x1b[31mhello\x1b[0m\n"
    assert isinstance(progress_bar().console, SafeConsole)


def test_without_a_terminal_a_line_is_written_now_and_then(monkeypatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(progress, "note", lines.append)
    for seconds in (30, 0):
        monkeypatch.setattr(progress, "_SECONDS_PER_LINE", seconds)
        for show in (True, False):
            with progress_bar(show) as bar:
                bar.advance(bar.add_task("embedding", total=1200), 1100)
    assert lines == ["embedding: 1,100 of 1,200"]


def test_bars_of_phases_move_one_bar_forward_only(monkeypatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(progress, "note", lines.append)
    monkeypatch.setattr(progress, "_SECONDS_PER_LINE", 0)
    with phases(100) as begin:
        begin(20)
        for share in (6, 12, 3):  # the last bar starts anew
            with progress_bar() as bar:
                bar.advance(bar.add_task("embedding", total=12), share)
        begin(80)
        with progress_bar() as bar:
            bar.update(bar.add_task("learning", total=4), completed=1)
    told = [line for line in lines if "starting" not in line]
    assert list(dict.fromkeys(told)) == [
        "embedding: 10 % of all",
        "embedding: 20 % of all",
        "learning: 40 % of all",
    ]
    with progress_bar() as bar:
        bar.advance(bar.add_task("later", total=2), 1)
    assert lines[-1] == "later: 1 of 2"
