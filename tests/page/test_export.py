import html
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from typer.testing import CliRunner

import turnlens
from tests.page.conftest import Watch
from turnlens.cli.explore import _stem
from turnlens.cli.main import app
from turnlens.data.personal.redaction import NOT_FOUND
from turnlens.page import export_report
from turnlens.report import Report, build_report
from turnlens.report.html_report import write_html_file
from turnlens.report.label_columns import Label
from turnlens.report.measures import members
from turnlens.report.summary import summary_table
from turnlens.store import ConversationStore

DATA = Path(os.environ.get("TURNLENS_DATA", Path(__file__).parents[2] / "../shared/data"))


@pytest.fixture(scope="module")
def chats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chats") / "chats.jsonl"
    turnlens.sample_conversations(40, seed=1).to_json(str(path))
    return path


@pytest.mark.slow
def test_an_exported_report_opens_from_the_disk(report: Report, tmp_path: Path, open_page: Watch) -> None:
    file = export_report(report, tmp_path / "a folder")
    watched = open_page(file.as_uri(), offline=True)
    for view in ("overview", "map", "groups", "flows", "conversation/0", "search?q=help"):
        page = watched.open(view)
        assert page.locator("#edit, .follow").count() == 0
    assert {path.name for path in file.parent.iterdir()} == {"data", "index.html", "js", "style.css"}


@pytest.mark.slow
def test_sgd_is_shown(tiny_encoder_path: Path, tmp_path: Path, open_page: Watch) -> None:
    file = DATA / "sgd" / "test.jsonl.gz"
    if not file.is_file():
        pytest.skip(f"no {file} (set TURNLENS_DATA)")
    conversations = turnlens.read_conversations(file).select(range(300))
    store = ConversationStore.open(tmp_path / "talks", encoder=str(tiny_encoder_path))
    store.add(conversations)
    watched = open_page(export_report(build_report(store), tmp_path / "report").as_uri(), offline=True)
    for view in (
        "overview",
        "map",
        "map?level=conversation",
        "groups",
        "flows",
        "conversations?order=surprise",
        "conversation/0",
        "search",
    ):
        watched.open(view)
    page = watched.open("search?q=" + quote(conversations[0]["messages"][0]["content"]))
    page.wait_for_selector("#hits .message")


@pytest.mark.parametrize(
    ("data", "stem"),
    [("a/chats.jsonl.gz", "chats"), ("*.jsonl", "chats"), ("-", "chats"), ("x/tickets-*.csv", "tickets")],
)
def test_stores_are_named_after_their_data(data: str, stem: str) -> None:
    assert _stem(Path(data)) == stem


def test_export_replaces_only_a_report_and_only_when_forced(report: Report, tmp_path: Path) -> None:
    export_report(report, tmp_path / "report")
    with pytest.raises(FileExistsError, match="--force"):
        export_report(report, tmp_path / "report")
    (tmp_path / "report" / "data" / "summary.js").write_text("old")
    export_report(report, tmp_path / "report", force=True)
    assert (tmp_path / "report" / "data" / "summary.js").read_text().startswith("turnlens.put(")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("my own page")
    with pytest.raises(FileExistsError, match="something other than"):
        export_report(report, tmp_path / "mine", force=True)
    assert (tmp_path / "mine" / "index.html").read_text() == "my own page"
    with pytest.raises(NotADirectoryError):
        export_report(report, tmp_path / "mine" / "index.html")


def test_explore_indexes_data_then_exports_the_report(chats: Path, tiny_encoder_path: Path, tmp_path: Path) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["explore", *arguments])
        return result.exit_code, result.output

    store, folder = str(tmp_path / "talks"), str(tmp_path / "report")
    code, said = run(str(chats), "--store", store, "--model", str(tiny_encoder_path), "--export", folder)
    assert code == 0, said
    assert f"{folder}/index.html" in said and "embedded" in said
    code, said = run("--store", store, "--export", folder)
    assert code == 1 and "--force" in said
    code, said = run()
    assert code == 1 and "--store" in said


@pytest.mark.slow
def test_a_mailed_report_fits_three_pages_and_a_phone(report: Report, tmp_path: Path, browser: Any) -> None:
    request = next(group for group in report.groups["message"] if group.level == 1 and group.opening)
    many = [
        replace(request, id=10_000 + place, name=f"A request with a rather long name {place}") for place in range(30)
    ]
    groups = {**report.groups, "message": [*report.groups["message"], *many]}
    values = 1000 + 90 * np.random.default_rng(0).standard_normal(len(report.ids))
    numbers = dict.fromkeys(("cost", "a", "b", "c"), values)
    long = replace(report, groups=groups, numbers=numbers, texts=["many words " * 40] * len(report.texts))
    write_html_file(long, tmp_path / "long.html")
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto((tmp_path / "long.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    sides = page.locator("h1, td").evaluate_all(
        "(all) => all.map((e) => e.getBoundingClientRect()).map(({left, right}) => [left, right])"
    )
    assert all(left >= 8 and right <= 382 for left, right in sides)  # margins, and no clipped column
    paper = page.pdf(prefer_css_page_size=True)
    page.set_viewport_size({"width": 680, "height": 1000})  # of A4 between its margins
    page.emulate_media(media="print")
    assert page.evaluate("(table => table.scrollWidth - table.clientWidth)(document.querySelector('table'))") <= 0
    page.close()
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", paper)) <= 3


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_a_mailed_report_is_accessible(report: Report, tmp_path: Path, browser: Any, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    write_html_file(report, tmp_path / "report.html")
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto((tmp_path / "report.html").as_uri())
    result = axe.run(page)
    page.close()
    assert not result.response["violations"], result.generate_report()


def test_a_mailed_report_counts_omitted_rows_and_keeps_growing_ones(report: Report, tmp_path: Path) -> None:
    request = next(group for group in report.groups["message"] if group.level == 1 and group.opening)
    steady = [replace(request, id=10_000 + place, name=f"A steady request {place}") for place in range(24)]
    grows = replace(request, id=20_000, name="One that grows")
    conversation = report.messages["conversation"]
    turn = np.arange(len(conversation)) - report.conversations["first"][conversation]
    of_message = np.where(turn < 8, 10_000 + conversation % 3 + 3 * turn, -1)
    of_message[(turn == turn.min()) & (conversation > len(report.ids) - 16)] = grows.id  # 15
    messages = {**report.messages, "group": of_message, "time": 86_400.0 * conversation}
    changed = replace(report, groups={**report.groups, "message": [*steady, grows]}, messages=messages, numbers={})
    write_html_file(changed, tmp_path / "page.html", period="month")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    shown = re.findall(r"<td>(A steady request \d+)<", page)
    (left_out,) = re.findall(r"Not shown are (\d+) smaller requests, each in at most (?:\d+) conversations", page)
    assert len(shown) + int(left_out) == 24 and "<td>One that grows<" in page and "▲" in page
    write_html_file(changed, tmp_path / "week.html", period="week")
    assert "the last seven days" in (tmp_path / "week.html").read_text(encoding="utf-8")


def test_a_mailed_report_without_times_has_no_change(report: Report, tmp_path: Path) -> None:
    days = {**report.messages, "time": 86_400.0 * report.messages["conversation"]}
    for place, timed in ((tmp_path / "timed", replace(report, messages=days)), (tmp_path / "not", report)):
        write_html_file(timed, place)
    timed, untimed = ((tmp_path / name).read_text(encoding="utf-8") for name in ("timed", "not"))
    assert "change, points" in timed and "no times are known" not in timed
    assert "change, points" not in untimed and "no times are known" in untimed


def test_a_mailed_report_shows_texts_unless_told_otherwise(report: Report, tmp_path: Path) -> None:
    asked = [group for group in report.groups["message"] if group.level == 1 and group.role == report.speakers.asker]
    inside = members(report, min(asked, key=lambda group: group.size).id)
    teams = Label(("Claims", "Orders"), inside.astype(np.int32))
    channels = Label(("mail", "web"), np.ones(len(report.ids), np.int32))
    prompts = Label(("a " * 40, "You help. " * 20), inside.astype(np.int32))
    report = replace(report, conversation_labels={"Team": teams, "Channel": channels, "system": prompts})
    write_html_file(report, tmp_path / "with.html")
    write_html_file(report, tmp_path / "without.html", texts=False)
    title = replace(report, title="a\u202e<b>\x1b")
    write_html_file(title, tmp_path / "title.html", texts=False)
    assert "a\ufffd&lt;b&gt;\ufffd" in (tmp_path / "title.html").read_text(encoding="utf-8")
    assert NOT_FOUND in html.unescape((tmp_path / "with.html").read_text(encoding="utf-8"))
    assert "system: You help. You help." in (tmp_path / "with.html").read_text(encoding="utf-8")
    assert "You help. " * 7 not in (tmp_path / "with.html").read_text(encoding="utf-8")
    whole, bare = ((tmp_path / name).read_text(encoding="utf-8") for name in ("with.html", "without.html"))
    rows = summary_table(report, [group for group in report.groups["message"] if group.level == 1]).to_pylist()
    examples = [html.escape(row["example"]) for row in rows if row["kind"] in ("request", "message")]
    assert any(example in whole for example in examples) and not any(f">{text}<" in bare for text in examples)
    assert "Team: Orders 100%" in bare  # what most of a request's conversations have in common,
    assert "Team: Claims" not in bare and "Channel:" not in bare  # but not most of all
    assert whole.count("<blockquote>") > 2 * whole.count("<article>")  # three examples of nearly all
    for page in (whole, bare):
        assert "What do people ask?" in page and "none of these" in page
        assert "<script" not in page and "src=" not in page and "http" not in page
