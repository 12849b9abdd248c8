"""`turnlens groups ask`: answers about groups of requests bind, are remembered, and choose the number of groups."""

from pathlib import Path

import pytest

from tests.cli.command_line import fail, run
from tests.report.talks import talks
from turnlens.report import cluster
from turnlens.report import group_edits as edits
from turnlens.store import ConversationStore


def asked(store: ConversationStore, answers: str) -> str:
    result = run("groups", "ask", store.path, given="\n".join(answers) + "\n")
    assert result.exit_code == 0, result.output
    return result.output


def requests(store: ConversationStore, granularity: str | int = "medium") -> dict[str, set[str]]:
    """The groups of the requests about each subject, as a later command finds them."""
    found = cluster(store.path, granularity=granularity).to_pandas()
    return found[found["turn"] == 0].dropna(subset=["group"]).groupby("subject")["group_name"].agg(set).to_dict()


def test_answers_bind_and_the_number_follows(store: ConversationStore) -> None:
    before = requests(store)
    assert len(set().union(*before.values())) == 3
    shown = asked(store, "n" * 10)
    assert "1 of 10: are these two the same request?" in shown and "A: " in shown and "card card card" in shown
    apart = requests(store)
    assert all(not apart[one] & apart[other] for one in apart for other in apart if one != other)
    assert requests(store, 1) == apart


@pytest.mark.slow
def test_groups_said_to_be_the_same_are_one(store: ConversationStore) -> None:
    assert "3 groups of requests before, 1 now" in asked(store, "y" * 10)
    one = requests(store)
    assert len(set().union(*one.values())) == 1 and requests(store, 8) == one


def test_answers_stay_when_data_grow(store: ConversationStore) -> None:
    asked(store, "yyyyyyyyyy")
    store.add(talks(24, start=36))
    assert len(set().union(*requests(store).values())) == 1


@pytest.mark.parametrize("last", ["q", ""])
def test_quitting_keeps_the_answers(store: ConversationStore, last: str) -> None:
    first = asked(store, f"y{last}")
    assert len(set().union(*requests(store).values())) < 3
    again = asked(store, "q")  # something else is asked
    assert again.startswith("1 of 10") and again.splitlines()[1:8] != first.splitlines()[1:8]


def test_what_is_no_answer_is_one_error(store: ConversationStore) -> None:
    result = run("groups", "ask", store.path, given="y\nmaybe\n")
    assert result.exit_code == 1
    assert "error: answer 2 of the standard input: expected y, n, s or q, got 'maybe'" in result.output
    assert len(set().union(*requests(store).values())) < 3


@pytest.mark.slow
def test_what_a_user_named_is_asked_about_before_it_changes(store: ConversationStore) -> None:
    groups = {group.name: group for group in cluster(store.path).groups if group.opening}
    for number, group in enumerate(groups.values()):
        edits.rename(store.path, "message", group.id, f"mine {number}")
    asked(store, "s" * 10)
    assert {"mine 0", "mine 1", "mine 2"} == set().union(*requests(store).values())


@pytest.mark.slow
def test_a_store_without_requests_is_one_error(tmp_path: Path, tiny_encoder_path: Path) -> None:
    ConversationStore.create(tmp_path / "few", talks(2), encoder=tiny_encoder_path)
    assert "has no groups of requests to ask about" in fail("groups", "ask", tmp_path / "few")
