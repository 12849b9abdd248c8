"""The pictures of the documentation: `python -m tests.page.screenshots docs/images/explorer`."""

import io
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

import turnlens
from tests.page.conftest import ARGUMENTS, BROWSERS
from turnlens.page import export_report
from turnlens.report import Report, build_report
from turnlens.report.html_report import write_html_file
from turnlens.store import ConversationStore

PICTURES = {  # name: view, width, height, theme, what is pressed
    "overview-1280-light": ("overview", 1280, 900, "light", None),
    "overview-1280-dark": ("overview", 1280, 900, "dark", ".toggle"),
    "overview-390-light": ("overview", 390, 844, "light", None),
    "map-1280-light": ("map", 1280, 800, "light", None),
    "conversation-1280-light": ("conversations?order=long", 1280, 800, "light", ".said"),
}
PRINT = ("report-print", 760, 900)  # the report to mail, as wide as paper
TEAMS = ("Accounts", "Billing", "Technical")
GROWS, UNHAPPY, SLOW = "internet", ("internet", "cards"), "cards"
SIGNATURE = "\n\nSent from my phone"


def conversations(count: int) -> Iterator[dict[str, Any]]:
    """Conversations of twelve weeks with times, teams and ratings; those of one domain grow."""
    dice = random.Random(0)
    for row in turnlens.sample_conversations(count, seed=0):
        domain = row["domain"]
        start = datetime(2026, 1, 5, 9, tzinfo=UTC) + timedelta(
            days=84 * dice.random() ** (0.2 if domain == GROWS else 1)
        )
        team = TEAMS[sum(map(ord, domain)) % len(TEAMS)] if dice.random() < 0.9 else dice.choice(TEAMS)
        rating = min(5, max(1, round(dice.gauss(2.4 if domain in UNHAPPY else 4.2, 0.8))))
        pause = dice.uniform(1, 40 if domain == SLOW else 6)  # minutes
        messages = [
            {
                "role": message["role"],
                "content": message["content"],
                "timestamp": start + timedelta(minutes=pause * turn),
            }
            for turn, message in enumerate(row["messages"])
        ]
        if dice.random() < 0.06:
            messages[0]["content"] += SIGNATURE
        for message in messages:
            message["timestamp"] = message["timestamp"].isoformat()
        yield {"id": row["id"], "team": team, "rating": rating, "messages": messages}


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as passing:
        store = ConversationStore.open(Path(passing) / "help-desk.store")
        store.add(list(conversations(400)))
        take_pictures(build_report(store), folder)


def take_pictures(report: Report, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = next(found for found in map(shutil.which, BROWSERS) if found)
    with tempfile.TemporaryDirectory() as passing, sync_playwright() as running:
        index = export_report(report, Path(passing) / "report")
        browser = running.chromium.launch(executable_path=path, args=ARGUMENTS)
        for name, (view, width, height, theme, pressed) in PICTURES.items():
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
            page.goto(f"{index.resolve().as_uri()}#/{view}")
            page.wait_for_selector("main:not([aria-busy]) h1")
            if pressed:
                page.locator(f"main {pressed}").first.click()
            page.wait_for_timeout(1500)
            save(page.screenshot(), folder / f"{name}.png")
            page.close()
        name, width, height = PRINT
        write_html_file(report, Path(passing) / "report.html")
        page = browser.new_page(viewport={"width": width, "height": height})
        page.emulate_media(media="print")
        page.goto((Path(passing) / "report.html").resolve().as_uri())
        save(page.screenshot(), folder / f"{name}.png")
        browser.close()


def save(picture: bytes, path: Path) -> None:
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    # The method keeps rare colours, which signs of groups have.
    small = image.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
