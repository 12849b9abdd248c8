"""Groups of messages by who says them."""

from typing import Any

import pytest
from sentence_transformers import SentenceTransformer

import turnlens
from tests.report.talks import chats, fine

THINGS = ("flight to the city", "pizza with more cheese")


@pytest.fixture
def report(tiny_encoder: SentenceTransformer) -> Any:
    """Each conversation asks for one thing, gets an answer, and ends with thanks."""
    said = [
        [f"please {thing} {thing} now {number}", f"here: {thing} {number}", f"thanks {number}", "bye"]
        for number, thing in enumerate(THINGS * 20)
    ]
    return turnlens.cluster(chats(said), encoder=tiny_encoder, granularity=3).report


def test_requests_are_answered_and_thanks_are_moves(report: Any) -> None:
    groups = [group for group in fine(report) if group.role == "user"]
    requests = [group for group in groups if not group.move]
    assert requests and len(requests) < len(groups)
    for group in groups:
        assert group.move == group.name.lower().startswith("thanks")
    for group in requests:
        assert report.texts[group.answer].startswith("here: ")
    assert report.speakers.asker == "user"


def test_details_that_are_asked_for_are_no_requests(tiny_encoder: SentenceTransformer) -> None:
    said = []
    for number, thing in enumerate(THINGS * 20):
        detail = f"the number of it is {number} and the day is {number % 7}, {['sunday', 'monday'][number % 2]}"
        asked = f"please {thing} {thing} now {number}"
        said.append(["hello", "hi", asked, "which number and day", detail, "right", f"thanks {number}"])
    report = turnlens.cluster(chats(said), encoder=tiny_encoder, granularity=4).report
    groups = [group for group in fine(report) if group.role == "user"]
    requests = {group.name.split()[0].lower() for group in groups if not group.move}
    assert requests == {"please"}
    assert any("number" in report.texts[group.central[0]] for group in groups if group.move)
    topics = [group.name for group in fine(report, "conversation")]
    assert topics and all(name.startswith("Please") for name in topics)


def test_each_macro_is_a_group_whatever_its_numbers(tiny_encoder: SentenceTransformer) -> None:
    macros = ["let me look into that", "it takes two days", "which browser is it", "your case has the number {}"]
    things = [f"{what} {where}" for what in ("flight", "pizza", "browser") for where in ("to you", "at home", "now")]
    said = []
    for number in range(60):
        texts = [f"please {things[number % 9]} {number}", macros[number % 4].format(number), "so", macros[number % 3]]
        said.append(texts + ([f"freely said {things[number // 7]} {number}"] if number < 20 else []))
    rows = chats(said, ("user", "agent", "user", "agent", "agent"))
    report = turnlens.cluster(rows, encoder=tiny_encoder).report
    group, texts = report.messages["group"].tolist(), [text.split(" number")[0] for text in report.texts]
    of_macros = {text: {id for id, said in zip(group, texts) if said == text} for text in texts if "please" not in text}
    groups = [of_macros[text.split(" number")[0]] for text in macros]
    assert all(len(ids) == 1 for ids in groups) and -1 not in set.union(*groups) and len(set.union(*groups)) == 4
