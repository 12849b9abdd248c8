"""Files that the page saves, in a real browser."""

import csv
import io
import json
import tomllib
from typing import Any

import pytest

from tests.page.conftest import Show, save
from turnlens.report.seed_groups import ASIDE, examples_of

pytestmark = pytest.mark.slow  # in a browser


def save_csv(page: Any, rows: str) -> list[dict[str, str]]:
    text = save(page, f"{rows}-csv")
    assert text.startswith("\ufeff")  # so that spreadsheets read it as Unicode
    return list(csv.DictReader(io.StringIO(text[1:], newline="")))


def test_conversations_and_messages_are_saved_as_jsonl(show: Show) -> None:
    page = show("overview?c.domain=shop&role=user")
    page.get_by_text("Save", exact=True).click()
    conversations, messages = (
        [json.loads(line) for line in save(page, f"{kind}-jsonl").splitlines()]
        for kind in ("conversations", "messages")
    )
    assert {row["domain"] for row in conversations} == {"shop"}
    assert all(len(row["messages"]) == 8 and row["messages"][0]["intent"] for row in conversations)
    assert {row["role"] for row in messages} == {"user"} and len(messages) == 4 * len(conversations)


def test_tables_are_saved_as_safe_csv(show: Show) -> None:
    texts = ['=HYPERLINK("https://example.org")', "two\nlines", "+1", "@here", "-", "a, b", "é 😀"]
    page = show("overview?role=user", texts=texts)
    page.get_by_text("Save", exact=True).click()
    messages, conversations = save_csv(page, "messages"), save_csv(page, "conversations")
    assert [row["text"] for row in messages[:4]] == ["'" + texts[0], "'+1", "'-", "é 😀"]  # no text is a formula
    assert [row["turn"] for row in messages[:4]] == ["0", "2", "4", "6"]
    assert {row["role"] for row in messages} == {"user"}
    assert all(row["coarse_group_name"] in row["group_name"] for row in messages)
    assert len(messages) == 4 * 60 and len(conversations) == 60
    assert messages[0]["domain"] in ("shop", "desk") and messages[0]["intent"]  # of its conversation, and its own
    assert conversations[1]["id"] == "conversation-1" and conversations[1]["domain"] in ("shop", "desk")
    assert conversations[1]["group_name"] == conversations[1]["coarse_group_name"]


def test_the_slider_joins_similar_requests(show: Show) -> None:
    page = show("overview")
    rows = page.locator(".requests tbody tr")
    found = rows.count()
    slider = page.get_by_role("slider", name="Coarse to fine")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(f"text={found - 1} of {found}")
    assert rows.count() == found - 1 and slider.evaluate("(e) => e === document.activeElement")
    page.keyboard.press("Home")
    page.wait_for_selector(f"text=2 of {found}")
    assert rows.count() == 2
    for place in (0, 1):
        page.locator(".requests .toggle").nth(place).click()
    assert page.locator(".joined li").count() == found - 2
    for place in (0, 1):
        page.locator(".requests .toggle").nth(place).click()
    page.locator(".joined").first.wait_for(state="detached")
    shown = page.locator("td[data-label='conversations']").all_inner_texts()[:2]
    page.get_by_text("Save", exact=True).click()
    saved = [row for row in save_csv(page, "groups") if row["kind"] == "request"]
    assert [row["conversations"] for row in saved] == [cell.split()[-1] for cell in shown]
    assert sum(len(row["group_name"].split(" + ")) for row in saved) == found
    page.keyboard.press("Escape")
    slider.focus()
    page.keyboard.press("End")
    page.wait_for_selector("text=as found")
    assert "fine=" not in page.url and rows.count() == found


def test_requests_are_saved_as_seeds(show: Show) -> None:
    texts = ['says "no" \\ twice\x7f', "two\nlines", "a lone surrogate \ud83d"]
    page = show("overview", texts=texts)
    rows = page.locator(".requests tbody tr")
    names = [name.lstrip("●■▲◆✚ ") for name in rows.locator("a.group").all_inner_texts()]
    moved = names[-1]
    rows.locator(".toggle").last.click()
    page.get_by_role("button", name=f"↓ along the way: {moved}").click()
    page.get_by_role("button", name="Put back").wait_for()
    page.get_by_text("Save", exact=True).click()
    seeds = tomllib.loads(save(page, "requests-toml"))
    assert set(seeds) == {*names[:-1], ASIDE} and set(seeds[ASIDE]) == {moved}
    examples = examples_of(seeds)  # as `--seeds` reads them
    assert set(examples) == set(names) and all(1 <= len(own) <= 5 for own in examples.values())


def test_groups_move_between_requests_and_asides(show: Show) -> None:
    page = show("overview", conversations=240)

    def listed(title: str) -> list[str]:
        panel = page.locator(".panel").filter(has=page.get_by_role("heading", name=title))
        return [name.lstrip("●■▲◆ ") for name in panel.locator("a.group").all_inner_texts()]

    name = listed("What do people ask?")[0]
    for toggle in (0, 1):
        page.locator(".requests .toggle").nth(toggle).click()
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
    rows = {row["group_name"]: row for row in save_csv(page, "groups")}
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
