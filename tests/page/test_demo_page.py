"""The result of `make demo` in this checkout: its files, and its page in a browser."""

from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer

DEMO = Path(__file__).parents[2] / "demo-output"
pytestmark = pytest.mark.skipif(not (DEMO / "report").is_dir(), reason="`make demo` has not been run in this checkout")


def test_the_demo_has_written_conversations_and_a_model() -> None:
    rows = [line for line in (DEMO / "conversations.jsonl").read_text(encoding="utf-8").splitlines() if line]
    assert len(rows) == 300
    assert SentenceTransformer(str(DEMO / "model"), device="cpu").encode(["My card is gone."]).shape == (1, 384)


@pytest.mark.slow
def test_the_page_of_the_demo_shows_what_people_ask(open_page) -> None:
    page = open_page((DEMO / "report" / "index.html").as_uri()).open("overview")
    page.wait_for_selector(".requests tbody tr")
    assert page.locator(".requests tbody tr").count() >= 5
