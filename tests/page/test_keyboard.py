"""The page by keyboard alone, in a real browser: what applies when, and where the focus is afterwards."""

from typing import Any

import pytest

from tests.page.conftest import Show, Watch, wait_until

pytestmark = pytest.mark.slow  # in a browser


def wait_for_focus(page: Any, selector: str) -> None:
    """Wait until what the selector names has the focus in the view of the address."""
    wait_until(
        page,
        "(selector) => !document.querySelector('main[aria-busy]') && document.activeElement.matches(selector)",
        selector,
    )


def test_the_skip_link_stays_in_the_view(show: Show) -> None:
    page = show("conversations?role=user")
    page.keyboard.press("Tab")
    wait_for_focus(page, ".skip")
    page.keyboard.press("Enter")
    wait_for_focus(page, "main")
    assert page.url.endswith("#/conversations?role=user")


def test_opening_a_view_focuses_its_content(show: Show) -> None:
    page = show("overview")
    page.locator("nav a", has_text="Conversations").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('60 conversations')")
    wait_for_focus(page, "main")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("3")
    page.wait_for_selector("h1:has-text('Groups of messages')")
    wait_for_focus(page, "main")
    page.locator("#theme").focus()
    page.keyboard.press("Enter")
    wait_for_focus(page, "#theme")


def test_typed_days_apply_when_complete(show: Show) -> None:
    page = show("conversations", locale="en-US")
    page.keyboard.press("f")
    page.locator("#filter-from").focus()
    page.keyboard.type("01152024")
    assert page.url.endswith("#/conversations")  # years of the Romans were applied, one for each digit
    page.keyboard.press("Enter")
    page.wait_for_url("**from=2024-01-15")
    page.wait_for_selector(".chip")
    wait_for_focus(page, "#filter-from")
    page.locator("#filter-to").focus()
    page.keyboard.type("03152024")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.wait_for_url("**to=2024-03-15")
    wait_for_focus(page, "#filter-from")
    page.locator("#filter-to").fill("2024-04-01")  # as picked from a calendar: at once
    page.wait_for_url("**to=2024-04-01")


def test_filters_keep_the_focus_and_wait_for_enter(show: Show) -> None:
    page = show("conversations")
    page.keyboard.press("f")
    wait_for_focus(page, "#filter-text")
    page.keyboard.type("orders")
    page.keyboard.press("Enter")
    page.wait_for_selector(".chip:has-text('text: orders')")
    wait_for_focus(page, "#filter-text")
    page.locator("#filter-role").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.locator(".chip").count() == 1
    page.keyboard.press("Enter")
    page.wait_for_selector(".chip:has-text('role: assistant')")
    wait_for_focus(page, "#filter-role")
    page.get_by_role("button", name="Remove the filter text: orders").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".chip:has-text('text: orders')", state="detached")
    wait_for_focus(page, "#filter-toggle")


@pytest.mark.parametrize("view", ["overview", "map", "groups", "flows", "conversations"])
def test_drop_down_lists_keep_the_focus(watch: Watch, view: str) -> None:
    watched = watch()
    page = watched.open(view)
    ids = page.locator("main select").evaluate_all("(lists) => lists.map((each) => each.id)")
    assert ids and all(ids)
    for each in ids:
        watched.open(view)
        address = page.url
        page.locator(f"#{each}").focus()
        page.keyboard.press("ArrowDown")
        if page.evaluate("location.href") == address:
            page.keyboard.press("ArrowUp")  # the last one was chosen
        wait_until(page, "(address) => location.href !== address", address)
        wait_for_focus(page, f"#{each}")


def test_more_rows_and_going_back_keep_the_place(show: Show) -> None:
    page = show("conversations")
    page.get_by_role("button", name="Show more").focus()
    page.keyboard.press("Enter")
    wait_for_focus(page, "main ol:nth-of-type(2)")
    page.reload()
    row = page.locator("main a.said").nth(25)
    row.focus()
    address, scroll = row.get_attribute("href"), page.evaluate("window.scrollY")
    assert scroll > 0
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('Conversation conversation-25')")
    assert page.evaluate("window.scrollY") == 0
    page.go_back()
    wait_for_focus(page, f'a[href="{address}"]')
    assert page.evaluate("window.scrollY") == pytest.approx(scroll, abs=2)


def test_the_focus_is_not_under_the_header(show: Show) -> None:
    page = show("conversations")
    page.locator("main a.said").nth(29).focus()
    for _ in range(60):
        page.keyboard.press("Shift+Tab")
        hidden = page.evaluate(
            """() => {
              const focused = document.querySelector("main :focus")?.getBoundingClientRect();
              return focused ? document.querySelector("#header").getBoundingClientRect().bottom - focused.top : 0;
            }"""
        )
        assert hidden <= 1  # pixels


def test_search_announces_its_results(show: Show) -> None:
    page = show("search")
    page.keyboard.press("/")
    wait_for_focus(page, "#search")
    for query, said in (("message 2 conversation 17", "1 message with all"), ("nowhere", "Nothing was found")):
        page.locator("#search").fill(query)
        page.keyboard.press("Enter")
        page.wait_for_selector(f"#announcer:has-text('{said}')", state="attached")


def test_enter_lists_the_visible_part_of_the_map(show: Show) -> None:
    page = show("map?by=all")
    page.locator("canvas").focus()
    for key in ("ArrowLeft", "+", "+", "+", "+", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector("h2:has-text('Drawn around')")
    wait_for_focus(page, "canvas")
    assert 0 < int(page.locator("#passing").inner_text().split()[0]) < 480
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("l")
    page.wait_for_selector("[aria-pressed=true]")
    page.keyboard.press("Escape")
    page.wait_for_selector("[aria-pressed=true]", state="detached")
