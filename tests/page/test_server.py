"""The page with its server: what it can do more, and whom it refuses."""

import json
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import numpy as np
import pytest

import turnlens
from tests.page import counting
from tests.page.conftest import Watch, wait_until
from turnlens.page import Explorer
from turnlens.page.explorer import open_browser
from turnlens.page.live_report import LiveReport
from turnlens.report import Report, build_report
from turnlens.report.summary import read_summary
from turnlens.store import ConversationStore

_ = anyio.open_file  # imported on first use, which must not be in a thread while pytest rewrites it in another

GROUPS = '{"action": "rename", "level": "message", "ids": [%d], "name": "wants money back"}'


@pytest.fixture(scope="module")
def explorer(store: ConversationStore, report: Report) -> Iterator[Explorer]:
    """The explorer of a store that is not changed."""
    with Explorer(store, report, in_notebook=True) as running:
        yield running


@pytest.fixture
def copied(store: ConversationStore, tiny_encoder_path: Path, tmp_path: Path) -> ConversationStore:
    """A store that a test may change."""
    folder = shutil.copytree(store.path, tmp_path / "talks")
    return ConversationStore.open(folder, encoder=str(tiny_encoder_path))


@pytest.fixture
def editable(copied: ConversationStore, report: Report) -> Iterator[Explorer]:
    with Explorer(copied, report, in_notebook=True) as running:
        yield running


def ask(
    explorer: Explorer, path: str, method: str = "GET", body: str | None = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    parts = urlsplit(explorer.url)
    connection = HTTPConnection(str(parts.hostname), int(parts.port or 0), timeout=30)
    sent = {"Host": parts.netloc} | {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path if path.startswith("/") else parts.path + path, body, sent)
    response = connection.getresponse()
    content = response.read()
    return response.status, {name.lower(): value for name, value in response.getheaders()}, content


def change(explorer: Explorer, action: str, ids: list[int], name: str | None = None) -> list[int]:
    """Change groups of messages as the page does, and return the ids that the server answers."""
    body = json.dumps({"action": action, "level": "message", "ids": ids, "name": name})
    origin = explorer.url.rsplit("/", 2)[0]
    status, _, content = ask(explorer, "api/groups", "POST", body, Content_Type="application/json", Origin=origin)
    assert status == 200, content
    changed: list[int] = json.loads(content)
    return changed


def names(explorer: Explorer) -> dict[int, str]:
    return {group.id: group.name for group in explorer.report.groups["message"]}


def test_everything_is_served_below_the_secret_path(explorer: Explorer) -> None:
    assert ask(explorer, "")[0] == 200
    assert ask(explorer, "data/summary.js")[0] == 200
    for path in (
        "/",
        "/index.html",
        "/api/session",
        "/data/summary.js",
        "/docs",
        "/openapi.json",
        "/x/data/summary.js",
    ):
        assert ask(explorer, path)[0] == 404, path
    for path in ("../../pyproject.toml", "data/../../server.py", "%2e%2e/server.py", "data/%2e%2e%2fserver.py"):
        assert ask(explorer, path)[0] == 404, path


def test_requests_for_other_hosts_are_refused(explorer: Explorer) -> None:
    assert ask(explorer, "", Host="attacker.example")[0] == 400  # a name that was pointed at this machine


def test_only_the_page_itself_can_change_groups(explorer: Explorer) -> None:
    origin = explorer.url.rsplit("/", 2)[0]
    body = GROUPS % 10**9
    sent = {"Content_Type": "application/json", "Origin": origin}
    assert ask(explorer, "api/groups", "POST", body, **sent)[0] == 400  # there is no such group
    assert ask(explorer, "api/groups", "POST", body, **{**sent, "Origin": "http://localhost:8888"})[0] == 403
    assert ask(explorer, "api/groups", "POST", body, Content_Type="application/json")[0] == 403
    assert ask(explorer, "api/groups", "POST", body, **{**sent, "Content_Type": "text/plain"})[0] == 415
    assert ask(explorer, "api/groups", "POST", " " * 200_000, **sent)[0] == 413
    assert ask(explorer, "api/groups", "POST", "{}", **sent)[0] == 422


def test_malformed_texts_are_refused(explorer: Explorer) -> None:
    sent = {"Content_Type": "application/json", "Origin": explorer.url.rsplit("/", 2)[0]}
    for text in ("\\ud800", "a\\udc00b"):
        body = (GROUPS % 0).replace("wants money back", text)
        assert ask(explorer, "api/groups", "POST", body, **sent)[0] == 422
    for action in ('"\\ud800"', "[" * 5000):
        body = GROUPS.replace('"rename"', action) % 0
        assert ask(explorer, "api/groups", "POST", body, **sent)[0] in (400, 422), action
    for query in ("%ED%A0%80", "%00", "%FF"):
        assert ask(explorer, f"api/search?q={query}&mode=text")[0] == 200, query


def test_headers_keep_other_pages_away(store: ConversationStore, explorer: Explorer) -> None:
    for path in ("", "data/messages.js", "api/session", "/nothing"):
        headers = ask(explorer, path)[1]
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'; script-src 'self';" in headers["content-security-policy"]
        assert "access-control-allow-origin" not in headers
    with Explorer(store, explorer.report) as plain:
        assert ask(plain, "")[1]["content-security-policy"].endswith("frame-ancestors 'none'")


def test_wrong_arguments_are_explained(explorer: Explorer) -> None:
    for path in ("api/next?conversation=999&turn=0", "api/next?conversation=0&turn=-1"):
        assert ask(explorer, path)[0] == 400, path
    for path in ("api/search?q=&mode=vector", "api/search?q=a&mode=none", "api/search?q=a&limit=0", "api/next?turn=a"):
        assert ask(explorer, path)[0] == 422, path


@pytest.fixture
def serve_notebook() -> Iterator[Callable[[str], str]]:
    """Serves a page that is not the explorer's, from this machine as notebooks are, and gives its address."""
    servers: list[ThreadingHTTPServer] = []

    def serve(body: str) -> str:
        class Notebook(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *told: object) -> None:
                pass

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Notebook))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}/"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.slow
def test_notebooks_show_the_explorer_in_a_frame(
    store: ConversationStore, explorer: Explorer, open_page: Watch, serve_notebook: Callable[[str], str]
) -> None:
    with Explorer(store, explorer.report) as plain:
        for shown, is_allowed in ((explorer, True), (plain, False)):
            watched = open_page(serve_notebook(f"<!doctype html><body>{shown._repr_html_()}</body>"))
            watched.page.goto(watched.address)
            if is_allowed:
                watched.page.frame_locator("iframe").locator("h1:has-text('Overview')").wait_for()
            else:
                assert watched.page.frame_locator("iframe").locator("#main").count() == 0
                assert any("frame-ancestors" in problem for problem in watched.problems)
            watched.problems.clear()  # the frame is of another address than the notebook


def test_explore_serves_and_starts_only_once(copied: ConversationStore) -> None:
    with turnlens.explore(copied) as running:
        assert ask(running, "")[0] == 200
        threads = [thread for thread in threading.enumerate() if thread.name == "turnlens-explorer"]
        assert running.start() is running
        assert [thread for thread in threading.enumerate() if thread.name == "turnlens-explorer"] == threads


def test_a_port_in_use_is_an_error(store: ConversationStore, explorer: Explorer) -> None:
    port = int(urlsplit(explorer.url).port or 0)
    with pytest.raises(OSError, match=f"port {port} .*--port"):
        Explorer(store, explorer.report, port)


def test_a_browser_is_opened_only_on_a_desktop(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not open_browser("http://here", opened.append) and not opened
    monkeypatch.setenv("DISPLAY", ":0")
    open_browser("http://here", opened.append)
    assert opened == ["http://here"]


@pytest.mark.slow
def test_the_page_renames_a_group(editable: Explorer, open_page: Watch) -> None:
    watched = open_page(editable.url)
    page = watched.open("groups")
    page.locator(".panel h2 a").first.click()
    page.get_by_label("Name").fill("wants <b>money</b> back")
    page.get_by_role("button", name="Rename").click()
    page.wait_for_selector("h1:has-text('wants <b>money</b> back')")
    assert page.locator("h1 .badge").inner_text() == "renamed"
    assert "wants <b>money</b> back" in [group.name for group in editable.report.groups["message"]]


@pytest.mark.slow
def test_the_page_moves_merges_and_undoes(editable: Explorer, open_page: Watch) -> None:
    watched = open_page(editable.url)
    page = watched.open("overview")
    name = page.locator(".requests tbody a.group").first
    id = int(str(name.get_attribute("href")).split("/")[-1].split("?")[0])
    page.locator(f"#open-{id}").click()
    page.locator(f"#move-{id}").click()
    page.locator(f".short #move-{id}").wait_for()  # now said along the way
    kept = next(group for group in editable.report.groups["message"] if group.id == id)
    assert kept.aside and kept.move
    before = len([group for group in editable.report.groups["message"] if group.level == 1])
    page = watched.open(f"group/message/{id}")
    page.get_by_role("button", name="Merge with it").click()
    wait_until(
        page, "(count) => turnlens.report.groups.message.list.filter((g) => g.level === 1).length < count", before
    )
    for _ in range(2):
        page.wait_for_selector("#edit:not([aria-busy]) .status:empty", state="attached")
        page.get_by_role("button", name="Undo").click()
        page.wait_for_selector("#edit:not([aria-busy]) .status:empty", state="attached")
    wait_until(page, "(id) => turnlens.report.groups.message.byId.get(id).aside === null", id)
    assert len([group for group in editable.report.groups["message"] if group.level == 1]) == before


def test_groups_are_edited_kept_and_undone(editable: Explorer, copied: ConversationStore) -> None:
    before = names(editable)
    fine = next(group for group in editable.report.groups["message"] if group.parent is not None)
    assert change(editable, "rename", [fine.id], "wants money back") == [fine.id]
    assert names(editable) == before | {fine.id: "wants money back"}
    assert b"wants money back" in ask(editable, "data/summary.js")[2]
    parts = change(editable, "split", [fine.parent])
    assert len(parts) > 1 and set(parts) <= set(names(editable))
    change(editable, "undo", [fine.id])
    assert names(editable) == before | {fine.id: "wants money back"}
    other = next(
        group
        for group in editable.report.groups["message"]
        if (group.level, group.role) == (1, fine.role) and group.id != fine.id
    )
    change(editable, "merge", [fine.id, other.id], "both")
    assert names(editable)[fine.id] == "both" and other.id not in names(editable)
    for _ in range(2):
        change(editable, "undo", [fine.id])
    assert names(editable) == before
    change(editable, "aside", [fine.id])
    kept = next(group for group in build_report(copied).groups["message"] if group.id == fine.id)
    assert kept.aside and kept.name == before[fine.id]


def test_the_server_searches_and_suggests_replies(explorer: Explorer) -> None:
    hits = json.loads(ask(explorer, "api/search?q=refund&mode=hybrid&limit=5")[2])
    assert 0 < len(hits) <= 5 and all(0 <= hit["message"] < len(explorer.report.texts) for hit in hits)
    replies = json.loads(ask(explorer, "api/next?conversation=0&turn=0")[2])
    assert replies and all(explorer.report.texts[reply["message"]] == reply["text"] for reply in replies)


def test_the_overview_is_written_when_the_explorer_closes(copied: ConversationStore, report: Report) -> None:
    live = LiveReport(copied, report)
    group = next(group.id for group in live.report.groups["message"] if group.level == 1)

    def remembered() -> set[str]:
        return {each["group_name"] for each in read_summary(Path(copied.path))["groups"]}

    live.edit("rename", "message", [group], "A new name")
    assert "A new name" not in remembered()
    live.close()
    assert "A new name" in remembered()


@pytest.mark.slow
def test_the_page_shows_the_parts_of_a_split(editable: Explorer, open_page: Watch) -> None:
    within = Counter(group.parent for group in editable.report.groups["message"] if group.parent is not None)
    coarse, parts = within.most_common(1)[0]
    assert parts > 1
    page = open_page(editable.url).open(f"group/message/{coarse}")
    page.get_by_role("button", name="Split").click()
    page.wait_for_selector(f"h1:has-text('Split into {parts} groups')")
    assert page.locator(".tree section").count() == parts
    page.wait_for_selector(".tree section .said")


@pytest.mark.slow
def test_the_page_explains_refused_edits(editable: Explorer, open_page: Watch) -> None:
    watched = open_page(editable.url)
    groups = editable.report.groups["message"]
    alone = next(group for group in groups if group.parent is not None)
    page = watched.open(f"group/message/{alone.id}")
    page.get_by_label("Name").fill("x" * 200)
    page.evaluate("document.querySelector('[aria-label=Name]').value = 'x'.repeat(300)")
    page.get_by_role("button", name="Rename").click()
    page.wait_for_selector(".status:has-text('200 characters')")
    assert page.evaluate("document.activeElement.id") == "edit-rename"
    page.get_by_label("Name").fill("parcels that are late")
    page.get_by_label("Name").press("Enter")
    page.wait_for_selector("h1:has-text('parcels that are late')")
    assert page.evaluate("document.activeElement.id") == "edit-name"
    assert page.title().startswith("parcels that are late – ")
    watched.problems.clear()  # the browser writes down each refusal


@pytest.mark.slow
def test_the_page_searches_and_suggests_replies(explorer: Explorer, open_page: Watch) -> None:
    watched = open_page(explorer.url)
    page = watched.open("search?q=refund")  # words and meaning
    page.wait_for_selector("#hits .message")
    page.get_by_label("Find by").select_option("words")
    page.wait_for_selector("text=with all of these words")
    page = watched.open("search?mode=words&q=nowhere")
    page.get_by_role("button", name="Search by words and meaning").click()
    page.wait_for_selector("#hits .message")
    page = watched.open("conversation/0")
    page.get_by_role("button", name="What could follow?").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".replies a")
    assert page.evaluate("document.activeElement.textContent") == "What could follow?"


@pytest.mark.slow
def test_flows_and_intervals_follow_their_formulas(explorer: Explorer, open_page: Watch) -> None:
    report = explorer.report
    page = open_page(explorer.url).open("flows")
    counted: dict[str, Any] = page.evaluate(
        """async () => {
          const all = await turnlens.filters.select({}), codes = turnlens.flows.codes(false);
          const rows = turnlens.flows.rows(turnlens.flows.transitions(codes, all));
          const role = await turnlens.filters.select({role: ["user"]});
          const {total, steps} = turnlens.flows.following(codes, role, rows[0].before, 2);
          const {rows: told} = turnlens.flows.differences(codes, all, "domain", 0);
          return {
            flows: rows.map((r) => [r.before, r.after, r.count, r.share, ...r.interval]),
            following: [rows[0].before, total, ...steps.map((s) => s.map((e) => [e.from.id, e.to.id, e.count]).sort())],
            paths: turnlens.flows.paths(codes, all).map((p) => [p.groups.join(" "), p.count, p.share, ...p.interval]),
            told: told.map((d) => [d.group, d.difference, ...d.interval]),
            wilson: turnlens.numbers.wilson(41, 100),
            newcombe: turnlens.numbers.newcombe(56, 70, 48, 80),
          };
        }"""
    )
    groups = np.split(report.messages["group"], report.conversations["first"][1:])
    conversations = [[int(group) for group in some] for some in groups]
    flows = {(row[0], row[1]): tuple(row[2:]) for row in counted["flows"]}
    assert flows == {key: pytest.approx(row) for key, row in counting.transitions(conversations).items()}
    is_user = np.asarray(report.roles)[report.messages["role"]] == "user"
    asked = [some[own].tolist() for some, own in zip(groups, np.split(is_user, report.conversations["first"][1:]))]
    start, total, *steps = counted["following"]
    for step, rows in enumerate(steps):
        assert {(row[0], row[1]): row[2] for row in rows} == counting.following(asked, start, step)
    assert total == sum(some.count(start) for some in asked)
    taken = {row[0]: tuple(row[1:]) for row in counted["paths"]}
    assert taken == {key: pytest.approx(row) for key, row in counting.paths(conversations).items()}
    labelled = (report.conversation_labels["domain"].codes == 0).tolist()
    told = {row[0]: tuple(row[1:]) for row in counted["told"]}
    assert told == {key: pytest.approx(row) for key, row in counting.differences(conversations, labelled).items()}
    # The examples of the papers: Wilson's 41 of 100, Newcombe's 56 of 70 against 48 of 80.
    assert counted["wilson"] == pytest.approx([0.319, 0.508], abs=5e-4)
    assert counted["newcombe"][-2:] == pytest.approx([0.052, 0.334], abs=5e-4)
