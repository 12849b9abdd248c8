"""The page in a real browser, opened as files."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
from openpyxl import load_workbook

from tests.page.conftest import Watched, wait_until
from tests.page.reports import HOSTILE
from turnlens.report.seed_groups import ASIDE, examples_of

VIEWS = {
    "overview": "Overview",
    "map": "Map",
    "map?level=conversation&colour=label:domain": "Map",
    "map?colour=surprise": "Map",
    "map?colour=time": "Map",
    "groups": "Groups of messages",
    "groups?level=conversation": "Topics of conversations",
    "group/message/0": "orders",
    "group/message/7": "confirms orders",
    "group/conversation/1": "about cards",
    "flows": "Flows",
    "flows?level=coarse": "Flows",
    "surprise": "Surprise",
    "surprise?what=conversations": "Surprise",
    "conversations": "60 conversations",
    "conversation/3": "Conversation conversation-3",
    "search": "Search",
}


@pytest.mark.parametrize("width", [1280, 390])
def test_every_view_opens_without_an_error_and_fits_the_width(
    make_report: Callable[..., str], open_page: Callable[..., Watched], width: int
) -> None:
    watched = open_page(make_report(), viewport={"width": width, "height": 800}, offline=True)
    for view, title in VIEWS.items():
        page = watched.open(view)
        assert title in page.locator("h1").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view


@pytest.mark.parametrize("width, theme", [(1280, "light"), (390, "dark")])
def test_views_are_accessible(
    make_report: Callable[..., str], open_page: Callable[..., Watched], width: int, theme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    size = {"width": width, "height": 800}
    watched = open_page(make_report(), viewport=size, color_scheme=theme, bypass_csp=True)  # axe is a script
    for view in VIEWS:
        result = axe.run(watched.open(view), options={"preload": False})
        assert not result.response["violations"], f"{view}: {result.generate_report()}"


def test_the_map_says_what_its_colours_mean_on_the_way_back(
    make_report: Callable[..., str], open_page: Callable[..., Watched]
) -> None:
    watched = open_page(make_report())
    page = watched.open("map")
    page.locator("#colour").select_option("time")
    page.go_back()
    wait_until(page, "document.querySelector('#colour').value === 'group'")


@pytest.mark.parametrize(
    "options", [{"times": False, "surprise": False}, {"topics": 1}, {"conversations": 1, "turns": 1}]
)
def test_reports_that_lack_something_are_shown(
    make_report: Callable[..., str], open_page: Callable[..., Watched], options: dict[str, Any]
) -> None:
    watched = open_page(make_report(**options))
    for view in (
        "overview",
        "map",
        "groups",
        "group/message/0",
        "flows",
        "surprise",
        "conversations",
        "conversation/0",
    ):
        watched.open(view)


def test_filters_apply_to_every_view_and_stand_in_the_address(
    make_report: Callable[..., str], open_page: Callable[..., Watched]
) -> None:
    watched = open_page(make_report())
    page = watched.open("overview")
    page.get_by_role("button", name="Filter").click()
    page.get_by_label("Role").select_option("user")
    page.get_by_label("domain (conversation)").select_option("shop")
    page.wait_for_selector(".chip:nth-of-type(2)")
    passing = page.locator("#passing").inner_text()
    assert "role=user" in page.url and "c.domain=shop" in page.url
    assert "of 480 messages" in passing and not passing.startswith("480")
    for tab in ("Map", "Groups", "Flows", "Surprise", "Conversations", "Search"):
        page.get_by_role("navigation").get_by_text(tab, exact=True).click()
        page.wait_for_selector("main:not([aria-busy]) h1")
        assert page.locator("#passing").inner_text() == passing
    page.get_by_role("button", name="Clear all").click()
    page.wait_for_selector("text=everything is shown")


def test_filters_open_and_close_from_the_keyboard(
    make_report: Callable[..., str], open_page: Callable[..., Watched]
) -> None:
    page = open_page(make_report()).open("overview")
    page.keyboard.press("f")
    page.wait_for_selector("#filter-text:focus")
    assert page.locator("#filter-text").input_value() == ""  # the key that opened it was not typed
    page.keyboard.press("Escape")
    page.wait_for_selector("#filter-panel", state="hidden")
    page.wait_for_selector("#filter-toggle:focus")


def test_what_filters_offer_follows_the_filter(
    make_report: Callable[..., str], open_page: Callable[..., Watched]
) -> None:
    page = open_page(make_report()).open("overview?role=user")
    page.keyboard.press("f")
    groups = page.locator("#filter-group option")
    names = groups.all_inner_texts()
    coarse = [int(name.rsplit("(", 1)[1][:-1]) for name in names if not name.startswith(("–", "add"))]
    assert sum(coarse) == 240  # half of all messages, with those in no group
    page.locator("#filter-role").select_option("assistant")
    page.wait_for_selector(".chip:nth-of-type(2)")
    assert page.locator("#filter-role").count() == 0  # nothing is left to add


def test_a_filter_that_nothing_passes_says_so(
    make_report: Callable[..., str], open_page: Callable[..., Watched]
) -> None:
    watched = open_page(make_report())
    for view in ("overview", "map", "groups", "group/message/0", "flows", "surprise", "conversations", "search"):
        page = watched.open(f"{view}?role=user&text=nowhere")
        assert page.locator("h1").inner_text() == "Nothing passes these filters"
    page.get_by_role("button", name="Without text: nowhere: 240 messages").click()
    page.wait_for_selector("h1:has-text('Search')")


def test_a_group_tells_who_says_it(make_report: Callable[..., str], open_page: Callable[..., Watched]) -> None:
    page = open_page(make_report()).open("group/message/0")
    assert sorted(page.locator(".about .role").all_inner_texts()[:2]) == ["assistant", "user"]


def test_a_group_tells_its_share_of_what_and_does_not_repeat_its_name(
    make_report: Callable[..., str], open_page: Callable[..., Watched]
) -> None:
    page = open_page(make_report()).open("group/message/7")  # of the assistant, whose messages are half of all
    size, conversations, share = page.evaluate(
        """() => {
          const {group, conversation} = turnlens.report.messages;
          const rows = [...group.keys()].filter((m) => group[m] === 7);
          const percent = turnlens.numbers.percent(rows.length / (group.length / 2));
          return [rows.length, new Set(rows.map((m) => conversation[m])).size, percent];
        }"""
    )
    said = f"{size} messages, {share} of the messages by assistant (in {conversations} of 60 conversations)"
    assert said in page.locator("main").inner_text()
    page.locator(".message .said").first.wait_for()
    assert page.locator(".message .group").count() == 0
    page.goto(page.url.replace("/7", "/0"))  # a coarse group, whose messages are of several
    page.locator(".message .group").first.wait_for()


def test_nothing_is_cut_off_at_390_pixels(make_report: Callable[..., str], open_page: Callable[..., Watched]) -> None:
    watched = open_page(make_report(), viewport={"width": 390, "height": 844})
    for view in ("overview", "groups", "group/message/7"):
        page = watched.open(view)
        cut = page.locator("nav, nav a, fieldset, .table").evaluate_all(
            "(all) => all.filter((e) => e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > 390)"
            ".map((e) => e.outerHTML.slice(0, 80))"
        )
        assert not cut, view


def test_text_and_time_filters(make_report: Callable[..., str], open_page: Callable[..., Watched]) -> None:
    watched = open_page(make_report())
    page = watched.open("conversations?text=MESSAGE%203&from=2024-01-01")
    shown = page.locator("#passing").inner_text()
    assert shown.split()[0] not in ("0", "60", "480")
    assert page.locator("h1").inner_text().split()[0] == shown.split(", ")[1].split()[0]


def test_flows_follow_the_filter_and_are_a_table_too(
    make_report: Callable[..., str], open_page: Callable[..., Watched]
) -> None:
    watched = open_page(make_report())
    page = watched.open("flows?after=6")
    lanes = page.locator(".lane-name")
    assert lanes.all_text_contents() == ["user", "assistant"]
    ribbons = page.locator(".ribbon").count()
    assert 0 < ribbons <= 30  # ten between two steps
    page.get_by_text("The same as a table").click()
    assert page.locator(".same tbody tr").count() >= ribbons
    page.locator(".flow-graph a.node").last.click()  # to what follows that
    page.wait_for_selector("main:not([aria-busy]) h1")
    assert "after=6" not in page.url
    page = watched.open("flows?after=6&role=user")
    assert lanes.all_text_contents() == ["user", "the conversation ends"]


def test_drawing_around_points_filters(make_report: Callable[..., str], open_page: Callable[..., Watched]) -> None:
    watched = open_page(make_report())
    page = watched.open("map")
    page.get_by_role("button", name="Draw around points").click()
    box = page.locator("canvas").bounding_box()
    x, y, width, height = box["x"], box["y"], box["width"], box["height"]
    page.mouse.move(x + 2, y + 2)
    page.mouse.down()
    for corner in ((width / 2, 2), (width / 2, height - 2), (2, height - 2), (2, 10)):
        page.mouse.move(x + corner[0], y + corner[1], steps=8)
    page.mouse.up()
    page.wait_for_selector(".chip")
    assert "lasso=message" in page.url
    inside = int(page.locator("#passing").inner_text().split()[0])
    assert 0 < inside < 480
    x_values = page.evaluate(
        "turnlens.filters.select(turnlens.route.current().filter).then((s) =>"
        " [...turnlens.report.messages.x].filter((x, m) => s.message[m]))"
    )
    assert len(x_values) == inside and max(x_values) < 0.1
    page.locator(f"h2:has-text('Drawn around: {inside} messages')").wait_for()
    page.locator(".beside .said").first.wait_for()  # what was drawn around is listed beside the map
    page.get_by_role("button", name="Remove", exact=True).click()
    page.wait_for_selector("text=everything is shown")


def test_far_islands_do_not_set_the_scale_of_the_map(
    make_report: Callable[..., str], open_page: Callable[..., Watched]
) -> None:
    page = open_page(make_report()).open("map")
    main, whole = page.evaluate(
        """() => {
          const middle = Array.from({length: 300}, (_, i) => Math.sin(i)), x = new Float32Array([...middle, 50, -40]);
          return [turnlens.geometry.mainExtentOf(x, x).width, turnlens.geometry.extentOf(x, x).width];
        }"""
    )
    assert 1.9 < main < 2.5 and whole == 90


def test_names_stand_beside_the_points_and_are_finer_close_by(
    make_report: Callable[..., str], open_page: Callable[..., Watched]
) -> None:
    page = open_page(make_report()).open("map")
    names = page.locator(".map-labels span")
    names.first.wait_for()
    assert set(names.all_text_contents()) <= {"orders", "cards", "travel", "health", "energy", "phones"}
    boxes = names.evaluate_all("(all) => all.map((e) => [e.offsetLeft, e.offsetTop, e.offsetWidth, e.offsetHeight])")
    for i, (x, y, width, height) in enumerate(boxes):
        for left, top, wide, high in boxes[:i]:
            assert x >= left + wide or left >= x + width or y >= top + high or top >= y + height
    page.locator("canvas").focus()
    for _ in range(4):
        page.keyboard.press("+")
    page.locator(".map .legend:visible bdi:has-text('confirms')").first.wait_for()


def test_pointing_shows_and_pressing_opens(make_report: Callable[..., str], open_page: Callable[..., Watched]) -> None:
    page = open_page(make_report()).open("map")
    box = page.locator("canvas").bounding_box()
    for step in range(60):  # from the middle outwards, until the ring of points
        place = box["x"] + box["width"] * (0.5 + step / 120), box["y"] + box["height"] / 2
        page.mouse.move(*place)
        if page.locator(".map-tip").is_visible():
            break
    page.locator(".map-tip").filter(has_text="message").wait_for()  # the text comes a moment after the rest
    page.mouse.click(*place)
    page.wait_for_selector(".turn:focus")
    assert "#/conversation/" in page.url


def test_without_webgl_the_map_says_so(make_report: Callable[..., str], open_page: Callable[..., Watched]) -> None:
    watched = open_page(make_report())
    watched.page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null;")
    assert "WebGL 2" in watched.open("map").get_by_role("alert").inner_text()
    watched.open("groups")


def test_search_finds_words(make_report: Callable[..., str], open_page: Callable[..., Watched]) -> None:
    page = open_page(make_report()).open("search")
    page.get_by_role("searchbox", name="Search").fill("Méssage 2 conversation 17")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=1 message with all of these words")
    page.locator("#hits .said").click()
    page.wait_for_selector("text=Conversation conversation-17")


def test_boilerplate_is_struck_out_where_it_is_read_and_left_out_where_it_is_told(
    make_report: Callable[..., str], open_page: Callable[..., Watched]
) -> None:
    texts = ["Is 😀 my card blocked? Sent from my phone", "We have received your request."]
    struck = {0: [[22, 41]], 1: [[0, 30]]}  # as JavaScript counts
    page = open_page(make_report(texts=texts, struck=struck)).open("conversation/0")
    assert page.locator(".turn s").all_inner_texts() == [" Sent from my phone", texts[1]]
    assert page.locator("#turn-1 .quote").inner_text() == texts[0]  # nothing is lost
    assert page.locator(".turn .badge").all_inner_texts() == ["automatic"]
    assert "boilerplate in 2 messages" in page.locator("p.about").first.inner_text()
    page = open_page(page.url.split("#")[0]).open("conversations")
    page.locator(".message .said", has_text="Is 😀 my card blocked?").wait_for()
    assert page.locator("text=Sent from my phone").count() == 0
    page = open_page(page.url.split("#")[0]).open("overview")
    assert "2\nmessages with boilerplate\n1 of them automatic" in page.locator(".tiles").inner_text()


def test_the_map_shows_those_who_ask_and_others_at_a_choice(
    make_report: Callable[..., str], open_page: Callable[..., Watched]
) -> None:
    page = open_page(make_report()).open("map")
    total = ".legend .number"

    def counted() -> int:
        page.locator(total).first.wait_for()
        return sum(map(int, page.locator(total).all_inner_texts()))

    assert counted() == 240  # of the 480 messages, those of the role that asks
    page.get_by_label("Said by").select_option("all")
    wait_until(page, "turnlens.route.current().options.by === 'all' && !document.querySelector('[aria-busy]')")
    assert counted() == 480
    page = open_page(page.url.split("#")[0]).open("map?role=assistant")  # a filter says whose messages are shown
    assert counted() == 240 and page.get_by_label("Said by").count() == 0


def test_rows_of_conversations_say_what_they_are(
    make_report: Callable[..., str], open_page: Callable[..., Watched]
) -> None:
    texts = ["hi", "hello, how can I help you today?", "my card was stolen on holiday", "I am sorry to hear that"]
    page = open_page(make_report(texts=texts)).open("conversations")
    row = page.locator(".message").first
    row.locator("text=my card was stolen on holiday").wait_for()  # the first request that is no greeting
    shown = row.inner_text()
    for part in ("conversation-0", "2023-11-", "8 messages", "domain: ", "surprise"):
        assert part in shown


def test_a_search_without_hits_counts_each_word(
    make_report: Callable[..., str], open_page: Callable[..., Watched]
) -> None:
    watched = open_page(make_report())
    page = watched.open("search?q=conversation%20nowhere&c.domain=shop")
    page.get_by_role("button", name="conversation (").click()
    page.wait_for_selector("#hits .said")
    page = watched.open("search?q=nowhere&c.domain=shop")
    page.wait_for_selector("text=No message has all of these words and passes the filter.")
    page.get_by_role("button", name="Search everything").click()
    page.wait_for_selector("text=everything is shown")


def test_what_is_shown_can_be_saved(
    make_report: Callable[..., str], open_page: Callable[..., Watched], tmp_path: Any
) -> None:
    page = open_page(make_report()).open("overview?c.domain=shop&role=user")
    page.get_by_text("Save", exact=True).click()
    for name in ("conversations", "messages"):
        with page.expect_download() as download:
            page.locator(f"#save-{name}-jsonl").click()
        download.value.save_as(tmp_path / name)
    conversations = [json.loads(line) for line in (tmp_path / "conversations").read_text().splitlines()]
    messages = [json.loads(line) for line in (tmp_path / "messages").read_text().splitlines()]
    assert {row["domain"] for row in conversations} == {"shop"}
    assert all(len(row["messages"]) == 8 and row["messages"][0]["intent"] for row in conversations)
    assert {row["role"] for row in messages} == {"user"} and len(messages) == 4 * len(conversations)


def test_what_is_shown_can_be_saved_for_spreadsheets(
    make_report: Callable[..., str], open_page: Callable[..., Watched], tmp_path: Any
) -> None:
    texts = ['=HYPERLINK("https://example.org")', "two\nlines", "+1", "@here", "-", "a, b", "é 😀"]
    page = open_page(make_report(texts=texts)).open("overview?role=user")
    page.get_by_text("Save", exact=True).click()
    tables = {}
    for name in ("conversations", "messages"):
        with page.expect_download() as download:
            page.locator(f"#save-{name}-csv").click()
        download.value.save_as(tmp_path / name)
        text = (tmp_path / name).read_bytes().decode("utf-8")
        assert text.startswith("\ufeff")  # so that spreadsheets read it as Unicode
        tables[name] = list(csv.DictReader(io.StringIO(text[1:], newline="")))
    messages, conversations = tables["messages"], tables["conversations"]
    assert [row["text"] for row in messages[:4]] == ["'" + texts[0], "'+1", "'-", "é 😀"]  # no text is a formula
    assert [row["turn"] for row in messages[:4]] == ["0", "2", "4", "6"] and {row["role"] for row in messages} == {
        "user"
    }
    assert all(row["coarse_group_name"] in row["group_name"] for row in messages)
    assert len(messages) == 4 * 60 and len(conversations) == 60
    assert messages[0]["domain"] in ("shop", "desk") and messages[0]["intent"]  # of its conversation, and its own
    assert conversations[1]["id"] == "conversation-1" and conversations[1]["domain"] in ("shop", "desk")
    assert conversations[1]["group_name"] == conversations[1]["coarse_group_name"]
    with page.expect_download() as download:
        page.locator("#save-messages-xlsx").click()
    download.value.save_as(tmp_path / "messages.xlsx")
    sheet = [list(row) for row in load_workbook(tmp_path / "messages.xlsx").active.values]
    assert sheet[0] == list(messages[0]) and len(sheet) == 1 + len(messages)
    assert [row[3] for row in sheet[1:4]] == [texts[0], "+1", "-"] and sheet[2][1] == 2


def test_hostile_texts_are_shown_as_text(make_report: Callable[..., str], open_page: Callable[..., Watched]) -> None:
    watched = open_page(make_report(texts=HOSTILE))
    views = [
        "conversation/0",
        "conversation/1",
        "surprise",
        "search?q=hacked",
        "conversations",
        "group/message/8",
        "flows",
    ]
    for view in views:
        page = watched.open(view)
        page.wait_for_selector(".messages .said, .turn, .graph")
        assert page.evaluate("window.hacked") is None
        assert page.locator("main img, main script, main b").count() == 0
    shown = watched.open("conversation/0").locator(".turns").inner_text()
    for text in HOSTILE[:4]:
        assert text in shown
    assert "NUL \\u0000 bell \\u0007 escape \\u001b[31m red" in shown
    page = watched.open("conversation/1")
    page.get_by_role("button", name="Show all 200,010 characters").click()
    assert len(page.locator("#turn-1 .quote").inner_text()) > 200_000 - 10


def test_the_policy_forbids_what_the_page_does_not_need(
    make_report: Callable[..., str], open_page: Callable[..., Watched]
) -> None:
    watched = open_page(make_report())
    page = watched.open("overview")
    refused = page.evaluate(
        """async () => {
          const tries = {
            html: () => { document.body.innerHTML = "<b>x</b>"; },
            code: () => { new Function("return 1")(); },
            script: () => { document.createElement("script").src = "https://example.org/a.js"; },
          };
          const failed = [];
          await new Promise((done) => setTimeout(done)); // what is run from outside may do more, until it returns
          for (const [name, attempt] of Object.entries(tries)) try { attempt(); } catch { failed.push(name); }
          await fetch("https://example.org/").catch(() => failed.push("fetch"));
          return failed;
        }"""
    )
    assert refused == ["html", "code", "script", "fetch"]
    watched.problems.clear()  # the browser has written down each of these


def test_themes(make_report: Callable[..., str], open_page: Callable[..., Watched]) -> None:
    page = open_page(make_report(), color_scheme="dark").open("overview")
    theme = "document.documentElement.dataset.theme"
    assert page.evaluate(theme) == "dark"
    page.get_by_role("button", name="Light colours").click()
    assert page.evaluate(theme) == "light"
    page.reload()
    page.wait_for_selector("main:not([aria-busy]) h1")
    assert page.evaluate(theme) == "light"


def test_the_keyboard_suffices(make_report: Callable[..., str], open_page: Callable[..., Watched]) -> None:
    page = open_page(make_report()).open("overview")
    page.keyboard.press("6")
    page.wait_for_selector("h1:has-text('60 conversations')")
    page.keyboard.press("/")
    page.wait_for_selector("#search:focus")
    watched = page.goto(page.url.split("#")[0] + "#/conversation/4")
    assert watched is None or watched.ok
    page.wait_for_selector("text=Conversation conversation-4")
    page.keyboard.press("j")
    page.wait_for_selector("text=Conversation conversation-5")
    page.keyboard.press("7")
    page.wait_for_selector("h1:has-text('Search')")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    assert page.locator("#search").input_value() == ""  # it was not typed
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")


def test_the_overview_opens_on_requests_of_the_role_that_asks(
    make_report: Callable[..., str], open_page: Callable[..., Watched]
) -> None:
    page = open_page(make_report()).open("overview")
    asked = page.locator(".requests")
    names = asked.locator("tbody a.group").all_inner_texts()
    assert names and not any("confirms" in name for name in names)  # what the assistant does
    asked.locator("summary").first.click()
    asked.locator(".answer .quote").wait_for()
    assert asked.locator(".example").count() == 3
    assert asked.locator(".trend").count() == len(names)
    page.get_by_label("Who asks").select_option("assistant")
    page.wait_for_selector("text=in which assistant says something")
    names = asked.locator("tbody a.group").all_inner_texts()
    assert names and all("confirms" in name for name in names)
    asked.locator("a.group").first.click()
    page.wait_for_selector("h2:has-text('Typical')")


def test_requests_are_sorted_by_any_column_and_split_by_any_category(
    make_report: Callable[..., str], open_page: Callable[..., Watched]
) -> None:
    page = open_page(make_report(conversations=120)).open("overview")
    page.locator("thead button", has_text="rating").click()  # which requests have bad ratings?
    page.wait_for_selector("th[aria-sort=ascending]")
    column = "td[data-label='{}']"
    means = [
        float(cell.strip("▲▼ ").split(" ")[0])
        for cell in page.locator(f"tbody {column.format('rating')}").all_inner_texts()
    ]
    assert means == sorted(means) and means[0] < 2 < means[-1]
    page.evaluate(
        """() => {
          const {conversations, summary} = turnlens.report;
          conversations["number:errors"] = conversations["number:rating"];
          summary.numbers.push("errors");
          return turnlens.app.render(true);
        }"""
    )
    page.locator("thead button", has_text="errors").click()  # which requests fail most?
    page.wait_for_selector("th[aria-sort=descending]:has-text('errors')")
    page.get_by_label("Split by").select_option("domain")
    page.wait_for_selector(column.format("shop"))
    for row in page.locator(".requests tbody tr").all():
        whole = int(row.locator(column.format("conversations")).inner_text().split()[-1])
        parts = [int(row.locator(column.format(value)).inner_text().split()[-1]) for value in ("shop", "desk")]
        assert sum(parts) == whole
    rest, everything = page.locator(f"tfoot {column.format('conversations')}").all_inner_texts()
    assert everything.split()[-1] == "120" and 0 <= int(rest.split()[-1]) < 120


def test_fewer_requests_are_those_that_are_joined(
    make_report: Callable[..., str], open_page: Callable[..., Watched], tmp_path: Any
) -> None:
    page = open_page(make_report()).open("overview")
    rows = page.locator(".requests tbody tr")
    found = rows.count()
    slider = page.get_by_role("slider", name="Coarse to fine")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(f"text={found - 1} of {found}")
    assert rows.count() == found - 1 and slider.evaluate("(e) => e === document.activeElement")
    page.keyboard.press("Home")
    page.wait_for_selector(f"text=2 of {found}")
    assert rows.count() == 2 and page.locator(".joined li").count() == found - 2
    shown = page.locator("td[data-label='conversations']").all_inner_texts()[:2]
    page.get_by_text("Save", exact=True).click()
    with page.expect_download() as download:
        page.locator("#save-groups-csv").click()
    download.value.save_as(tmp_path / "groups.csv")
    text = (tmp_path / "groups.csv").read_text(encoding="utf-8-sig")
    saved = [row for row in csv.DictReader(io.StringIO(text, newline="")) if row["kind"] == "request"]
    assert [row["conversations"] for row in saved] == [cell.split()[-1] for cell in shown]
    assert sum(len(row["group_name"].split(" + ")) for row in saved) == found
    page.keyboard.press("Escape")
    slider.focus()
    page.keyboard.press("End")
    page.wait_for_selector("text=as found")
    assert "fine=" not in page.url and rows.count() == found


def test_the_requests_are_saved_for_the_next_export(
    make_report: Callable[..., str], open_page: Callable[..., Watched], tmp_path: Any
) -> None:
    texts = ['says "no" \\ twice\x7f', "two\nlines", "a lone surrogate \ud83d"]
    page = open_page(make_report(texts=texts)).open("overview")
    rows = page.locator(".requests tbody tr")
    names = [name.lstrip("●■▲◆✚ ") for name in rows.locator("a.group").all_inner_texts()]
    moved = names[-1]
    page.get_by_role("button", name=f"↓ along the way: {moved}").click()
    page.get_by_role("button", name="Put back").wait_for()
    page.get_by_text("Save", exact=True).click()
    with page.expect_download() as download:
        page.locator("#save-requests-toml").click()
    download.value.save_as(tmp_path / "requests.toml")
    seeds = tomllib.loads((tmp_path / "requests.toml").read_text(encoding="utf-8"))
    assert set(seeds) == {*names[:-1], ASIDE} and set(seeds[ASIDE]) == {moved}
    examples = examples_of(seeds)  # as `--seeds` reads them
    assert set(examples) == set(names) and all(1 <= len(own) <= 5 for own in examples.values())


def test_a_group_that_mixes_shows_its_parts(make_report: Callable[..., str], open_page: Callable[..., Watched]) -> None:
    page = open_page(make_report()).open("overview")
    row = page.locator(".requests tbody tr").filter(has=page.locator(".badge", has_text="mixed"))
    row.get_by_text("examples of 2 parts that differ").click()
    row.locator(".part .quote").nth(4).wait_for()
    assert row.locator(".part h3").all_inner_texts() == ["75 % of it", "25 % of it"]
    row.locator("a.group").first.click()
    panel = page.locator(".panel", has=page.get_by_role("heading", name="Parts that differ"))
    panel.locator(".said").nth(4).wait_for()


def test_a_time_that_is_shown_is_compared_with_that_before(
    make_report: Callable[..., str], open_page: Callable[..., Watched]
) -> None:
    page = open_page(make_report()).open("overview?from=2024-05-01")
    page.wait_for_selector("text=the trend compares the time shown and as long before")
    page.get_by_label("Trend against").select_option("month")
    page.wait_for_selector("text=the trend compares the last 30 days and those before")
    assert page.locator(".trend").count() > 0


def test_a_group_can_be_moved_between_requests_and_what_is_said_along_the_way(
    make_report: Callable[..., str], open_page: Callable[..., Watched], tmp_path: Any
) -> None:
    page = open_page(make_report()).open("overview")

    def listed(title: str) -> list[str]:
        panel = page.locator(".panel").filter(has=page.get_by_role("heading", name=title))
        return [name.lstrip("●■▲◆ ") for name in panel.locator("a.group").all_inner_texts()]

    name = listed("What do people ask?")[0]
    page.get_by_role("button", name=f"↓ along the way: {name}").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Put back").wait_for()
    assert name in listed("Said along the way") and name not in listed("What do people ask?")
    following = page.evaluate("document.activeElement.ariaLabel")  # of the next request
    assert following.startswith("↓ along the way: ") and not following.endswith(name)
    assert "moved=" in page.url
    page.get_by_role("navigation").get_by_text("Map", exact=True).click()
    page.wait_for_selector("h1:has-text('Map')")
    page.get_by_role("navigation").get_by_text("Overview", exact=True).click()
    page.get_by_role("button", name="Put back").wait_for()  # it went along
    page.get_by_text("Save", exact=True).click()
    with page.expect_download() as download:
        page.locator("#save-groups-csv").click()
    download.value.save_as(tmp_path / "groups.csv")
    text = (tmp_path / "groups.csv").read_text(encoding="utf-8-sig")
    rows = {row["group_name"]: row for row in csv.DictReader(io.StringIO(text, newline=""))}
    rest = rows.pop("")
    assert rest["kind"] == "no request" and rest["rating_known"] <= rest["conversations"]
    assert rows[name]["kind"] == "along the way"
    assert {row["kind"] for row in rows.values()} == {"request", "answer", "along the way"}
    assert {row["kind"] for row in rows.values() if row["role"] == "assistant"} == {"answer"}
    assert all(0 < float(row["share"]) <= 1 and row["example"] and row["growth"] for row in rows.values())
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Put back").click()
    page.get_by_role("button", name="Put back").wait_for(state="detached")
    assert name in listed("What do people ask?")
