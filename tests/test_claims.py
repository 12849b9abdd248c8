"""Every promise of the pages has a test."""

import os
import re
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnlens._utils.files import load_or_create_key

TESTS = Path(__file__).parent
CLAIMS: dict[str, dict[str, str]] = tomllib.loads((TESTS / "claims.toml").read_text(encoding="utf-8"))
PROMISE = re.compile(
    r"\b(never|always|nothing|nobody|none|every|exactly|the same|(is|are) refused|no part|no byte)\b", re.IGNORECASE
)
CODE = re.compile(r"^```.*?^```|<!--.*?-->", re.DOTALL | re.MULTILINE)


def text_of(page: str) -> str:
    return CODE.sub("", (TESTS.parent / page).read_text(encoding="utf-8"))


def sentences(page: str) -> Iterator[str]:
    """The sentences outside of code and tables."""
    for paragraph in re.split(r"\n\s*\n|\n(?=[|#-])", text_of(page)):
        if not paragraph.lstrip().startswith("|"):
            yield from re.split(r"(?<=\.) (?=[A-Z*`\[])", " ".join(paragraph.split()))


def test_every_promise_of_the_pages_names_a_test() -> None:
    for page, claims in CLAIMS.items():
        promises = [sentence for sentence in sentences(page) if PROMISE.search(sentence)]
        unproved = [promise for promise in promises if not any(claim in promise for claim in claims)]
        assert unproved == [], page


def test_the_claims_stand_in_the_pages_and_their_tests_exist() -> None:
    for page, claims in CLAIMS.items():
        text = " ".join(text_of(page).split())
        assert [claim for claim in claims if claim not in text] == [], page
        for claim, test in claims.items():
            path, _, name = test.partition("::")
            file = TESTS / path
            assert file.is_file(), f"{page}: {claim}: no {path}"
            assert f"def test_{name}(" in file.read_text(encoding="utf-8") or not name, f"{page}: {claim}: no {test}"


@pytest.mark.skipif(os.name == "nt", reason="rights of POSIX")
def test_only_its_owner_reads_the_key_of_ids(tmp_path: Path) -> None:
    key = load_or_create_key(tmp_path / "ids.key")
    assert len(key) >= 32 and stat.S_IMODE((tmp_path / "ids.key").stat().st_mode) == 0o600


def test_the_image_needs_neither_root_nor_network() -> None:
    last = (TESTS.parent / "Dockerfile").read_text(encoding="utf-8").rpartition("\nFROM ")[2]
    assert re.search(r"^USER (?!root\b|0\b)\w+", last, re.MULTILINE) and "HF_HUB_OFFLINE=1" in last
