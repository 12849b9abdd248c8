"""How long the explorer's page takes: opening a large report and its views, in Chromium without a graphics card.

Opens an exported report of random points from its folder and prints wall seconds until it can be used, for each view,
and for a filter.

Run: python benchmarks/bench_page.py [--messages 100000]
Needs Chromium and the extra dev.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from quick import add_quick, skip

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.page.conftest import ARGUMENTS, BROWSERS, PAGE
from tests.page.reports import write_synthetic

TURNS = 16
VIEWS = ("map", "groups", "flows", "surprise", "conversations", "search", "overview")


def timed(what: str, work: Callable[[], object]) -> None:
    start = time.perf_counter()
    work()
    print(f"{what:24} {time.perf_counter() - start:6.2f} s", flush=True)


def show(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("main:not([aria-busy]) h1")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=100_000)
    add_quick(parser, messages=320)
    options = parser.parse_args()
    conversations = options.messages // TURNS
    chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
    if chromium is None:
        skip("no Chromium on this machine") if options.quick else sys.exit("no Chromium on this machine: install it")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name) / "report"
        shutil.copytree(PAGE, folder)
        write_synthetic(folder, conversations=conversations, turns=TURNS, texts_per_file=20_000)
        size = sum(file.stat().st_size for file in (folder / "data").iterdir())
        print(f"{conversations * TURNS:,} messages, {size / 1e6:.0f} MB of data")
        page = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS).new_page()
        page.set_default_timeout(60_000)
        address = (folder / "index.html").as_uri()
        timed("opened", lambda: show(page, f"{address}#/overview"))
        for view in VIEWS:
            timed(view, lambda view=view: show(page, f"{address}#/{view}"))
        timed("groups of one role", lambda: show(page, f"{address}#/groups?role=user"))


if __name__ == "__main__":
    main()
