"""The pictures of the documentation: `python -m tests.explorer.screenshots REPORT docs/images/explorer`.

REPORT is a folder that `turnwise explore --export` wrote of sample conversations, with surprise and times.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.explorer.conftest import ARGUMENTS, BROWSERS

VIEWS = {
    "overview": "overview",
    "map": "map",
    "topics": "map?level=conversation",
    "groups": "groups?level=conversation",
    "group": "groups",  # then one of its groups
    "flows": "flows",
    "surprise": "surprise",
    "conversation": "conversations?order=long",  # then the first of them
    "search": "search?q=card%20stolen",
}
FIRST = {"group": ".panel:nth-of-type(2) .sizes a", "conversation": ".said"}
SIZES = {1280: 800, 390: 844}


def main(report: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = next(found for found in map(shutil.which, BROWSERS) if found)
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=ARGUMENTS)
        for width, height in SIZES.items():
            for theme in ("light", "dark"):
                page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
                for name, view in VIEWS.items():
                    page.goto(f"{(report / 'index.html').resolve().as_uri()}#/{view}")
                    page.wait_for_selector("main:not([aria-busy]) h1")
                    if name in FIRST:
                        page.locator(f"main {FIRST[name]}").first.click()
                    page.wait_for_timeout(1500)
                    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
                    # The method keeps rare colours, which signs of groups have.
                    small = picture.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
                    small.save(folder / f"{name}-{width}-{theme}.png", optimize=True)
                page.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
