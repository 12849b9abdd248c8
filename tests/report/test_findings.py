"""The sentences that a report begins with."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.report.talks import fine
from turnlens.encoders.folders import DEFAULT_ENCODER
from turnlens.page.report_files import summary
from turnlens.report import Report
from turnlens.report.findings import LIKE, findings, language_notice, number_mark, widening
from turnlens.report.html_report import write_html_file
from turnlens.report.label_columns import Label
from turnlens.report.measures import typical
from turnlens.report.summary import summary_table


def requests(report: Report) -> list[dict[str, Any]]:
    return [row for row in summary_table(report, fine(report)).to_pylist() if row["kind"] == "request"]


@pytest.fixture
def telling(report: Report) -> Report:
    """Three requests, one after the other in time; the last has bad ratings and takes long."""
    ids = [row["group"] for row in requests(report)][:3]
    conversation, turn = report.messages["conversation"], report.messages["turn"]
    third = np.arange(36) // 12
    messages = {
        **report.messages,
        "group": np.where(turn == 0, np.array(ids)[third[conversation]], -1),
        "time": 43_200.0 * conversation,
    }
    noise = np.random.default_rng(0).normal(size=36)
    numbers = {
        "rating": np.clip(np.round(np.where(third == 2, 1.5, 4.5) + 0.4 * noise), 1, 5),
        "minutes": np.where(third == 2, 300, 20) + noise,
        "age": np.where(third == 2, 70, 20) + noise,
    }
    conversations = {**report.conversations, "time": 43_200.0 * np.arange(36)}
    return replace(report, messages=messages, conversations=conversations, numbers=numbers)


def test_findings_tell_growth_bad_ratings_and_durations(telling: Report) -> None:
    rows = requests(telling)
    last = int(telling.messages["group"][telling.conversations["first"][-1]])
    first = int(telling.messages["group"][0])
    grew, rated, long, fell = findings(telling, rows)
    assert grew == (LIKE, last, " grew most, by 79 points of all conversations in the last seven days.")
    assert rated[1] == last and " have the lowest rating: 1." in rated[2]
    assert long[1] == last and " take longest: a median of 5 hours, " in long[2]
    assert fell[1] == first and " fell most, by 55 points" in fell[2]
    assert summary(telling)["findings"] == [grew, rated, long, fell]  # the page has the same


def test_short_durations_are_told_in_seconds_without_exponents(telling: Report) -> None:
    short = replace(telling, numbers={"minutes": telling.numbers["minutes"] / 200})
    assert any(" take longest: a median of 90 s, 6" in told for *_, told in findings(short, requests(short))[1:2])


def test_the_share_above_is_that_of_the_highest_where_most_have_it(telling: Report) -> None:
    for lower, highest in ((0, 1), (3, 5)):
        scores = np.where(np.arange(36) % 9, highest, lower)
        rows = requests(replace(telling, numbers={"CSAT": scores.astype(float)}))
        assert sum(row["CSAT_above"] * row["CSAT_known"] for row in rows) == pytest.approx((scores == highest).sum())


def test_a_number_known_of_fewer_than_five_is_not_shown(telling: Report, tmp_path: Path) -> None:
    for known in (4, 5):
        values = np.where(np.arange(36) % 12 < known, 0.25, np.nan)
        write_html_file(replace(telling, numbers={"cost": values}), tmp_path / "page.html")
        assert ('cost">0.25</td>' in (tmp_path / "page.html").read_text(encoding="utf-8")) == (known == 5)
        (tmp_path / "page.html").unlink()


def test_chance_is_no_finding(telling: Report) -> None:
    alike = np.arange(36) % 12  # each request has the same times and numbers
    messages = {**telling.messages, "time": 86_400.0 * alike[telling.messages["conversation"]]}
    numbers = {name: values[alike] for name, values in telling.numbers.items()}
    changed = replace(telling, messages=messages, numbers=numbers)
    assert findings(changed, requests(changed)) == []


def test_marks_and_sentences_tell_the_same_growth(telling: Report, tmp_path: Path) -> None:
    """An interval of 95 % is too narrow where three requests are compared."""
    grows, *others = sorted(set(telling.messages["group"][telling.messages["turn"] == 0].tolist()))
    first, told, beyond = telling.conversations["first"], [], []
    for recent in range(4, 15):  # of 14 in the last week, beside 4 of 22
        is_own = np.concatenate([np.arange(22) < 4, np.arange(14) < recent])
        group = telling.messages["group"].copy()
        group[first] = np.where(is_own, grows, np.array(others)[np.arange(36) % 2])
        changed = replace(telling, messages={**telling.messages, "group": group}, numbers={})
        (row,) = [row for row in requests(changed) if row["group"] == grows]
        write_html_file(changed, tmp_path / "report.html", texts=False)
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        has_sentence = any(
            sentence[1] == grows and "grew most" in sentence[2] for sentence in findings(changed, requests(changed))
        )
        assert has_sentence == ("▲ +" in page)
        told.append(has_sentence)
        beyond.append(row["growth_low"] > 0)
    assert told == sorted(told) and 0 < sum(told) < sum(beyond)


def test_a_mailed_table_has_each_marked_request(telling: Report, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("turnlens.report.html_report._REQUESTS", 0)
    times = {"time": np.full(len(telling.texts), np.nan)}, {"time": np.full(36, np.nan)}
    messages, conversations = ({**had, **own} for had, own in zip((telling.messages, telling.conversations), times))
    still = replace(telling, messages=messages, conversations=conversations)
    for report, any_marked in ((telling, True), (still, True), (replace(still, numbers={}), False)):
        write_html_file(report, tmp_path / "mail.html", texts=False)
        table = (tmp_path / "mail.html").read_text(encoding="utf-8").split("<tbody>")[1].split("</tbody>")[0]
        *marked, none_of_these = table.split("<tr>")[1:]
        assert bool(marked) == any_marked and "none of these" in none_of_these
        assert all("▲" in row or "▼" in row for row in marked)
        (tmp_path / "mail.html").unlink()


def test_mixed_requests_come_last_in_the_mail_and_no_sentence_is_about_them(telling: Report, tmp_path: Path) -> None:
    grew = int(telling.messages["group"][telling.conversations["first"][-1]])
    groups = [replace(group, mixed=group.id == grew) for group in telling.groups["message"]]
    changed = replace(telling, groups={**telling.groups, "message": groups})
    assert not any(grew in sentence for sentence in findings(changed, requests(changed)))
    write_html_file(changed, tmp_path / "mail.html")
    page = (tmp_path / "mail.html").read_text(encoding="utf-8")
    *_, last, _ = page.split("<tbody>")[1].split("</tbody>")[0].split("<tr>")
    assert last.startswith("<td>mixed: ") and page.split("<tbody>")[1].count("mixed: ") == 2  # and its examples
    assert "Mixed are those whose messages are mostly more like those of others." in page
    write_html_file(telling, tmp_path / "other.html")
    assert "ixed" not in (tmp_path / "other.html").read_text(encoding="utf-8")


def test_a_value_beneath_a_request_is_more_than_chance(telling: Report, tmp_path: Path) -> None:
    own = np.arange(36) < 12
    by_chance = np.arange(36) % 12 < np.where(own, 7, 5)  # 58 % of its conversations, 47 % of all
    labels = {
        "Via": Label(("web", "mail"), np.where(by_chance, 0, 1).astype(np.int32)),
        "Team": Label(("Cards", "Trips"), np.where(own, 0, 1).astype(np.int32)),
    }
    write_html_file(replace(telling, conversation_labels=labels), tmp_path / "mail.html", texts=False)
    page = (tmp_path / "mail.html").read_text(encoding="utf-8")
    assert "Team: Cards 100%" in page and "Via: " not in page


def test_new_requests_are_told(telling: Report) -> None:
    new = requests(telling)[0]["group"]
    groups = [replace(group, new=group.id == new) for group in telling.groups["message"]]
    changed = replace(telling, groups={**telling.groups, "message": groups})
    assert ("New since last time: ", new, ".") in findings(changed, requests(changed))


def test_unhappiness_tells_what_it_is_a_share_of(telling: Report, tmp_path: Path) -> None:
    unhappy = np.where(np.arange(36) < 24, 0.0, 1.0)
    unhappy[[0, 24]] = 1 - unhappy[[0, 24]]
    unhappy[5:10] = np.nan  # nobody wrote again after an answer
    changed = replace(telling, numbers={"unhappy": unhappy})
    sentence = next(each for each in findings(changed, requests(changed)) if "unhappiest" in str(each[0]))
    assert sentence[2] == ": 92% of those who wrote again after an answer, 39% overall."
    write_html_file(changed, tmp_path / "report.html")
    assert "conversations in which somebody wrote again" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("answers", (("no", "yes"), ("False", "True")))
def test_answers_of_yes_and_no_are_told_as_shares(telling: Report, answers: tuple[str, str], tmp_path: Path) -> None:
    codes = (np.arange(36) // 12 == 2).astype(np.int32)
    codes[0] = -1
    labels = {"Escalated": Label(answers, codes), "Team": Label(("A", "B"), codes)}
    flagged = replace(telling, numbers={}, conversation_labels=labels)
    last = int(telling.messages["group"][telling.conversations["first"][-1]])
    told = (LIKE, last, " have the most “Escalated”: 100%, 34% overall.")
    assert told in findings(flagged, requests(flagged)) and list(flagged.measures) == ["Escalated"]
    write_html_file(flagged, tmp_path / "mail.html")
    assert "▲ 100%" in (tmp_path / "mail.html").read_text()
    assert {"Escalated", "Team"} <= set(flagged.categories(5))  # they still split the page and the table


def test_notices_of_an_app_are_no_categories(telling: Report) -> None:
    values = Label(("assignment", "close"), (np.arange(len(telling.texts)) % 2).astype(np.int32))
    labels = {"notice": values, "team": values}
    for most in (20, 1):
        changed = replace(telling, message_labels=labels)
        assert "team" in {**changed.categories(most), **changed.long_categories(most)}
        assert "notice" not in {**changed.categories(most), **changed.long_categories(most)}
    assert "team" in summary(changed)["categories"] and "notice" not in summary(changed)["categories"]


def test_a_mailed_report_begins_with_findings(telling: Report, tmp_path: Path) -> None:
    write_html_file(telling, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.index("grew most, by 79 points") < page.index("What do people ask?")
    linked = page.split('<li>Conversations like “<a href="#')[1].split('"')[0]
    assert f'<article id="{linked}">' in page
    assert "median duration, min" in page and "±" not in page
    assert page.index("named by a typical sentence") < page.index("grew most")
    assert "one with several requests counts in the row of each" in page
    longer = replace(telling, numbers={name: 60 * values for name, values in telling.numbers.items()})
    write_html_file(longer, tmp_path / "report.html")
    assert "median duration, hours" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_language_unknown_to_the_encoder_is_told(telling: Report, tmp_path: Path) -> None:
    german = replace(telling, texts=["Meine Bestellung ist leider noch nicht angekommen."] * len(telling.texts))
    assert language_notice(german) is None  # its encoder is not the default one
    german = replace(german, encoder=DEFAULT_ENCODER)
    notice = language_notice(german)
    assert notice is not None and "not in English (de 100 %)" in notice and "--model intfloat/multilingual" in notice
    shown = summary(german)
    assert shown["notice"] == notice and shown["findings"] == []
    write_html_file(german, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "not in English" in page.split("<h2>")[0] and "▲" not in page and "▼" not in page


def test_marks_need_more_than_chance_among_the_requests() -> None:
    wider = widening(13)
    hours = np.exp(np.linspace(4, 7, 26))  # heavy tails: between 55 and 1097, of a usual 36
    assert number_mark(typical(hours, "amount", wider), 36) == 1
    ratings = np.array([3.0, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5])  # a mean of 4.5, by chance as often as one row in 13
    assert number_mark(typical(ratings, "rating", wider, 1.1), 3.8) == 0
    assert number_mark(typical(np.tile(ratings, 4), "rating", wider, 1.1), 3.8) == 1
    assert number_mark(typical(np.full(13, 5.0), "rating", wider, 1.1), 4.2) == 0  # their own deviation is none
    low = np.repeat([1.0, 5.0], 9)  # 3 on average, far below 4.2, but far from one another
    assert number_mark(typical(low, "rating", wider, 1.1), 4.2) == -1
    assert number_mark(typical(hours[:9], "amount"), 36) == 0  # too few
