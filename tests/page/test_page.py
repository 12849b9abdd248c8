"""The page in a real browser, opened as files."""

from typing import Any

import pytest

from tests.page.conftest import Show, Watch
from tests.page.reports import HOSTILE

pytestmark = pytest.mark.slow  # in a browser

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
    "conversations": "60 conversations",
    "conversations?order=surprise": "60 conversations",
    "conversation/3": "Conversation conversation-3",
    "search": "Search",
}


@pytest.mark.parametrize("width", [1280, 390])
def test_every_view_opens_and_fits_the_width(watch: Watch, width: int) -> None:
    watched = watch(viewport={"width": width, "height": 800}, offline=True)
    for view, title in VIEWS.items():
        page = watched.open(view)
        assert title in page.locator("h1").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view


@pytest.mark.parametrize("width, theme", [(1280, "light"), (390, "dark")])
def test_views_are_accessible(watch: Watch, width: int, theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    size = {"width": width, "height": 800}
    watched = watch(viewport=size, color_scheme=theme, bypass_csp=True)  # axe is a script
    for view in VIEWS:
        result = axe.run(watched.open(view), options={"preload": False})
        assert not result.response["violations"], f"{view}: {result.generate_report()}"


@pytest.mark.parametrize(
    "options", [{"times": False, "surprise": False}, {"topics": 1}, {"conversations": 1, "turns": 1}]
)
def test_reports_without_times_or_surprise_are_shown(watch: Watch, options: dict[str, Any]) -> None:
    watched = watch(**options)
    for view in (
        "overview",
        "map",
        "groups",
        "group/message/0",
        "flows",
        "conversations?order=surprise",
        "conversations",
        "conversation/0",
    ):
        watched.open(view)


def test_filters_apply_everywhere_and_stand_in_the_address(show: Show) -> None:
    page = show("overview")
    page.get_by_role("button", name="Filter").click()
    page.get_by_label("Role").select_option("user")
    page.get_by_label("domain (conversation)").select_option("shop")
    page.wait_for_selector(".chip:nth-of-type(2)")
    passing = page.locator("#passing").inner_text()
    assert "role=user" in page.url and "c.domain=shop" in page.url
    assert "of 480 messages" in passing and not passing.startswith("480")
    for tab in ("Map", "Groups", "Flows", "Conversations", "Search"):
        page.get_by_role("navigation").get_by_text(tab, exact=True).click()
        page.wait_for_selector("main:not([aria-busy]) h1")
        assert page.locator("#passing").inner_text() == passing
    page.get_by_role("button", name="Clear all").click()
    page.wait_for_selector("text=everything is shown")


def test_filters_open_and_close_from_the_keyboard(show: Show) -> None:
    page = show("overview")
    page.keyboard.press("f")
    page.wait_for_selector("#filter-text:focus")
    assert page.locator("#filter-text").input_value() == ""  # the key that opened it was not typed
    page.keyboard.press("Escape")
    page.wait_for_selector("#filter-panel", state="hidden")
    page.wait_for_selector("#filter-toggle:focus")


def test_filters_offer_only_values_that_pass(show: Show) -> None:
    page = show("overview?role=user")
    page.keyboard.press("f")
    groups = page.locator("#filter-group option")
    names = groups.all_inner_texts()
    coarse = [int(name.rsplit("(", 1)[1][:-1]) for name in names if not name.startswith(("–", "add"))]
    assert sum(coarse) == 240  # half of all messages, with those in no group
    page.locator("#filter-role").select_option("assistant")
    page.wait_for_selector(".chip:nth-of-type(2)")
    assert page.locator("#filter-role").count() == 0  # nothing is left to add


def test_an_empty_selection_offers_wider_filters(watch: Watch) -> None:
    watched = watch()
    for view in ("overview", "map", "groups", "group/message/0", "flows", "conversations", "search"):
        page = watched.open(f"{view}?role=user&text=nowhere")
        assert page.locator("h1").inner_text() == "Nothing passes these filters"
    page.get_by_role("button", name="Without text: nowhere: 240 messages").click()
    page.wait_for_selector("h1:has-text('Search')")


def test_a_group_lists_the_roles_of_its_messages(show: Show) -> None:
    page = show("group/message/0")
    assert sorted(page.locator(".about .role").all_inner_texts()[:2]) == ["assistant", "user"]


def test_a_group_states_its_share_of_messages(show: Show) -> None:
    page = show("group/message/7")  # of the assistant, whose messages are half of all
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


def test_nothing_is_cut_off_at_390_pixels(watch: Watch) -> None:
    watched = watch(viewport={"width": 390, "height": 844})
    for view in ("overview", "groups", "group/message/7"):
        page = watched.open(view)
        cut = page.locator("nav, nav a, fieldset, .table, .requests td").evaluate_all(
            "(all) => all.filter((e) => e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > 390)"
            ".map((e) => e.outerHTML.slice(0, 80))"
        )
        assert not cut, view


def test_texts_and_days_filter_conversations(show: Show) -> None:
    page = show("conversations?text=MESSAGE%203&from=2024-01-01")
    shown = page.locator("#passing").inner_text()
    assert shown.split()[0] not in ("0", "60", "480")
    assert page.locator("h1").inner_text().split()[0] == shown.split(", ")[1].split()[0]


def test_flows_follow_the_filter_and_have_a_table(watch: Watch) -> None:
    watched = watch()
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


def test_flows_show_whole_names_where_there_is_room(show: Show) -> None:
    page = show("overview", viewport={"width": 1600, "height": 900})
    name = "asks why the parcel that was sent on Monday is still at the depot on Friday"
    page.evaluate(
        "(name) => { turnlens.report.groups.message.byId.get(6).name = name; location.hash = '#/flows?after=6'; }", name
    )
    page.wait_for_selector(".flow-graph")
    lines = page.locator(".flow-graph g.node").first.locator("text:not(.sign)").all_text_contents()
    assert " ".join(line.strip() for line in lines) == name


def test_groups_leave_no_empty_column(watch: Watch) -> None:
    watched = watch(topics=10, conversations=120)
    page = watched.open("groups")
    heights = page.locator(".tree .sizes li").evaluate_all("(rows) => rows.map((row) => row.offsetHeight)")
    assert len(heights) == 30 and max(heights) <= 36
    page = watched.open("group/message/0")
    ends = page.locator(".columns > .panel").evaluate_all(
        "(all) => all.map((e) => [e.getBoundingClientRect().left, e.getBoundingClientRect().bottom])"
    )
    columns = {left: max(bottom for other, bottom in ends if other == left) for left, _ in ends}
    assert max(columns.values()) - min(columns.values()) < 1500  # what is long has the whole width


def test_search_finds_words(show: Show) -> None:
    page = show("search")
    page.get_by_role("searchbox", name="Search").fill("Méssage 2 conversation 17")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=1 message with all of these words")
    page.locator("#hits .said").click()
    page.wait_for_selector("text=Conversation conversation-17")


def test_boilerplate_is_struck_out_or_left_out(watch: Watch) -> None:
    texts = ["Is 😀 my card blocked? Sent from my phone", "We have received your request."]
    struck = {0: [[22, 41]], 1: [[0, 30]]}  # as JavaScript counts
    watched = watch(texts=texts, struck=struck)
    page = watched.open("conversation/0")
    assert page.locator(".turn s").all_inner_texts() == [" Sent from my phone", texts[1]]
    assert page.locator("#turn-1 .quote").inner_text() == texts[0]  # nothing is lost
    assert page.locator(".turn .badge").all_inner_texts() == ["automatic"]
    assert "boilerplate in 2 messages" in page.locator("p.about").first.inner_text()
    page = watched.open("conversations")
    page.locator(".message .said", has_text="Is 😀 my card blocked?").wait_for()
    assert page.locator("text=Sent from my phone").count() == 0


def test_conversations_list_request_day_labels_and_surprise(show: Show) -> None:
    texts = ["hi", "hello, how can I help you today?", "my card was stolen on holiday", "I am sorry to hear that"]
    page = show("conversations", texts=texts)
    row = page.locator(".message").first
    row.locator("text=my card was stolen on holiday").wait_for()  # the first request that is no greeting
    shown = row.inner_text()
    for part in ("conversation-0", "2023-11-", "8 messages", "domain: ", "surprise"):
        assert part in shown


def test_conversations_are_ordered_by_surprise(show: Show) -> None:
    page = show("conversations")
    page.get_by_label("Order").select_option("surprise")
    page.wait_for_selector(".note:has-text('of a thousand random messages of the same role would fit better')")
    shown = [float(text.split()[1]) for text in page.locator(".message .surprise").all_inner_texts()]
    assert len(shown) == 30 and shown == sorted(shown, reverse=True)
    page = show("conversations?order=surprise", surprise=False)
    assert "surprise" not in page.locator("main").inner_text()


def test_a_search_without_hits_counts_each_word(watch: Watch) -> None:
    watched = watch()
    page = watched.open("search?q=conversation%20nowhere&c.domain=shop")
    page.get_by_role("button", name="conversation (").click()
    page.wait_for_selector("#hits .said")
    page = watched.open("search?q=nowhere&c.domain=shop")
    page.wait_for_selector("text=No message has all of these words and passes the filter.")
    page.get_by_role("button", name="Search everything").click()
    page.wait_for_selector("text=everything is shown")


def test_hostile_texts_are_shown_as_text(watch: Watch) -> None:
    watched = watch(texts=HOSTILE)
    views = ["conversation/0", "conversation/1", "search?q=hacked", "conversations", "group/message/8", "flows"]
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


def test_the_policy_forbids_foreign_scripts_and_requests(watch: Watch) -> None:
    watched = watch()
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


def test_the_chosen_theme_is_kept(show: Show) -> None:
    page = show("overview", color_scheme="dark")
    theme = "document.documentElement.dataset.theme"
    assert page.evaluate(theme) == "dark"
    page.get_by_role("button", name="Light colours").click()
    assert page.evaluate(theme) == "light"
    page.reload()
    page.wait_for_selector("main:not([aria-busy]) h1")
    assert page.evaluate(theme) == "light"


def test_the_keyboard_suffices(show: Show) -> None:
    page = show("overview")
    page.keyboard.press("5")
    page.wait_for_selector("h1:has-text('60 conversations')")
    page.keyboard.press("/")
    page.wait_for_selector("#search:focus")
    watched = page.goto(page.url.split("#")[0] + "#/conversation/4")
    assert watched is None or watched.ok
    page.wait_for_selector("text=Conversation conversation-4")
    page.keyboard.press("j")
    page.wait_for_selector("text=Conversation conversation-5")
    page.keyboard.press("6")
    page.wait_for_selector("h1:has-text('Search')")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    assert page.locator("#search").input_value() == ""  # it was not typed
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")


def test_the_overview_lists_requests_of_the_asker(show: Show) -> None:
    page = show("overview", conversations=240)
    asked = page.locator(".requests")
    names = asked.locator("tbody a.group").all_inner_texts()
    assert names and not any("confirms" in name for name in names)  # what the assistant does
    heights = asked.locator("tbody tr").evaluate_all("(rows) => rows.map((row) => row.offsetHeight)")
    assert max(heights) <= 37  # a line each, with its border
    toggle = asked.locator(".toggle").first
    toggle.focus()
    page.keyboard.press("Enter")
    asked.locator(".answer .quote").wait_for()
    assert asked.locator(".example").count() == 3 and toggle.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Enter")
    asked.locator(".example").first.wait_for(state="detached")
    assert asked.locator(".trend").count() == len(names)
    page.get_by_label("Who asks").select_option("assistant")
    page.locator(".explanation summary").click()
    page.wait_for_selector("text=in which assistant says something")
    names = asked.locator("tbody a.group").all_inner_texts()
    assert names and all("confirms" in name for name in names)
    asked.locator("a.group").first.click()
    page.wait_for_selector("h2:has-text('Typical')")


def test_an_opened_request_shows_its_unhappiest_messages(show: Show) -> None:
    page = show("overview", unhappy=True)
    page.locator(".requests .toggle").first.click()
    opened = page.locator(".requests .opened")
    opened.get_by_text("Unhappy with an answer").wait_for()
    opened.locator(".example .quote").nth(5).wait_for()
    shown = [int(text.rsplit(" ", 1)[1]) for text in opened.locator(".example").all_inner_texts()[3:]]
    assert len(shown) == 3 and shown == sorted(shown, reverse=True)
    opened.locator(".example a").last.click()
    page.wait_for_selector(".turn .badge:has-text('unhappy')")


def test_requests_sort_by_columns_and_split_by_categories(show: Show) -> None:
    page = show("overview", conversations=120)
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
          summary.numbers.errors = "count";
          return turnlens.app.render(true);
        }"""
    )
    page.get_by_label("Number").select_option("errors")
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


def test_a_group_that_mixes_is_marked(show: Show) -> None:
    page = show("overview")
    row = page.locator(".requests tbody tr").filter(has=page.locator(".badge", has_text="mixed"))
    assert row.count() == 1
    row.locator("td").first.click()
    page.locator(".requests .opened .quote").first.wait_for()


def test_trends_compare_the_chosen_periods(show: Show) -> None:
    page = show("overview?from=2024-05-01", conversations=240)
    page.wait_for_selector("th[title='The trend compares the time shown and as long before']")
    page.locator("#period").select_option("month")
    page.wait_for_selector("th[title='The trend compares the last 30 days and all before']")
    assert page.locator(".trend").count() > 0


def test_stray_times_and_few_conversations_decide_nothing(show: Show) -> None:
    page = show("overview")
    compared = page.evaluate(
        """() => {
          const {periods, change, binsOf} = turnlens.timeline, day = 86400;
          const times = new Map(Array.from({length: 300}, (_, i) => [i, 1.7e9 + (i * day) / 10]));
          times.set(0, 1.7e9 - 700 * day); // years before the others
          const compared = periods(times);
          const late = new Set(Array.from({length: 20}, (_, i) => 299 - i));
          const two = new Map([[0, 1.7e9], [1, 1.7e9 + 5 * day]]);
          return [compared.period, compared.before[0] > 1.69e9, change(times, late, compared).after,
            binsOf(times).unit, change(two, new Set([1]), {before: [0, 1.7e9], after: [1.7e9, 1.8e9]})];
        }"""
    )
    assert compared[:2] == ["week", True] and 0.2 < compared[2] < 0.3
    assert compared[3:] == ["day", None]


def test_the_overview_begins_with_findings(watch: Watch) -> None:
    findings = [[6, " grew most, by 9 points of all conversations."], ["New since last time: ", 9, ", ", 12, "."]]
    watched = watch(findings=findings)
    page = watched.open("overview")
    shown = page.locator(".findings li")
    assert [text.replace("● ", "").strip() for text in shown.all_inner_texts()] == [
        "“asks for orders” grew most, by 9 points of all conversations.",
        "New since last time: “asks for cards”, “asks for travel”.",
    ]
    above = page.locator("main > *").evaluate_all(
        "(all) => all.slice(0, all.findIndex((e) => e.matches('.findings'))).map((e) => e.offsetHeight)"
    )
    assert max(above) <= 2  # the heading for screen readers
    assert "60 conversations · 480 messages · 2 speakers" in page.locator(".counts").inner_text()
    shown.first.get_by_role("link").click()
    page.wait_for_selector("h1:has-text('asks for orders')")
    page = watched.open("overview?role=user")
    assert "about all conversations" in page.locator("main").inner_text()


def test_a_foreign_language_is_told_and_nothing_marked(watch: Watch) -> None:
    notice = "Most conversations are not in English (de 99 %)"
    watched = watch()
    assert any(mark in watched.open("overview").locator(".requests").inner_text() for mark in "▲▼")
    watched = watch(notice=notice)
    page = watched.open("overview")
    assert page.locator(".notice").inner_text() == notice
    asked = page.locator(".requests").inner_text()
    assert "▲" not in asked and "▼" not in asked


def test_days_are_chosen_on_the_chart(show: Show) -> None:
    page = show("overview")
    chart = page.locator(".volume")
    label = str(chart.get_attribute("aria-label"))
    assert "Conversations by 30 days" in label or "Conversations by week" in label
    bars = page.evaluate("turnlens.volumeChart && document.querySelectorAll('.volume g').length")
    assert page.locator(".layers a").count() == 5 and bars >= 10  # empty periods have their place
    slider = page.locator("#brush-from")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**from=**")
    page.wait_for_selector(".volume .outside", state="attached")  # the slider of before has the focus, too
    page.wait_for_selector("#brush-from:focus")
    assert page.locator(".volume .outside").count() == 1
    page.keyboard.press("Home")
    page.wait_for_selector("text=everything is shown")
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 60, steps=4)
    page.mouse.up()
    page.wait_for_url("**from=**to=**")
    page.wait_for_selector(".chip")
    page.wait_for_selector(".volume .outside", state="attached")
    shown = int(page.locator("#passing").inner_text().split(", ")[1].split()[0])
    assert 0 < shown < 60
    assert page.evaluate("document.querySelectorAll('.volume g').length") == bars  # the rest of the time stays


def test_a_phone_shows_the_overview_on_three_screens(show: Show) -> None:
    findings = [[6, " grew most, by 9 points of all conversations from the earlier half of the time to the later."]] * 5
    page = show("overview", conversations=400, topics=10, findings=findings, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollHeight") <= 3 * 844
