"""Labels that measure something: how their numbers are written."""

from typing import Any

import numpy as np
import pytest

from turnlens.report.label_columns import Labels


def numbers(*values: Any) -> list[float] | None:
    """The numbers of a label with these values, ``None`` if it measures nothing."""
    labels = Labels(len(values))
    for row, value in enumerate(values):
        labels.set(row, {"label": value})
    found = labels.numbers()
    return found["label"].tolist() if found else None


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("4,5", 4.5),
        ("-4,0", -4),
        ("1.234,50", 1234.5),
        ("1.234,567", 1234.567),
        ("1,234.50", 1234.5),
        ("12,3456", 12.3456),
        ("4.5", 4.5),
        (4.5, 4.5),
    ],
)
def test_numbers_may_have_a_decimal_comma(written: Any, number: float) -> None:
    assert numbers(written, "2") == [number, 2]


@pytest.mark.parametrize("written", ["1,234", "4,5,6", "4,", "12.34,5", "1,23.5", "4,5 %"])
def test_what_is_unclear_is_no_number(written: str) -> None:
    assert numbers(written, "2") is None


@pytest.mark.parametrize("word", ["n/a", "N/A", "NaN", " - ", "null"])
def test_a_word_for_none_leaves_the_others_numbers(word: str) -> None:
    found = Labels(3)
    for row, value in enumerate((word, "4", "2")):
        found.set(row, {"rating": value, "team": word})
    np.testing.assert_array_equal(found.numbers()["rating"], [np.nan, 4, 2])
    assert word in found.finished()["team"].values and set(found.numbers()) == {"rating"}


def test_versions_measure_nothing() -> None:
    found = Labels(2)
    for row, value in enumerate(("1.8", "1.9")):
        found.set(row, {"bot_version": value, "appVersion": value, "Version": value, "conversion": value})
    assert set(found.numbers()) == {"conversion"} and len(found.finished()) == 4


def test_durations_are_in_minutes() -> None:
    assert numbers("10:48", "31:30") == [10.8, 31.5]
    assert numbers("00:10:48", "1:10:48", "0:00:30") == [10.8, 70.8, 0.5]
    label = Labels(3)
    label.set(0, {"handled": "10:48"})
    label.set(2, {"handled": "31:30"})
    np.testing.assert_array_equal(label.numbers()["handled"], [10.8, np.nan, 31.5])


def test_a_name_tells_durations_from_times_of_day() -> None:
    label = Labels(2)
    for row, value in enumerate(("10:48", "08:30")):
        label.set(row, {"Talk time": value, "Bearb.-Zeit (mm:ss)": value, "Zeit": value})
    assert {name: values.tolist() for name, values in label.numbers().items()} == {
        "Bearb.-Zeit (mm:ss)": [10.8, 8.5],
        "Talk time": [10.8, 8.5],
    }


@pytest.mark.parametrize(
    "values",
    [
        ["10:48", "23:59"],
        ["08:48:49", "00:10:00", "17:00:01"],
        ["10:48", "31:30", "later"],
        ["10:48", "31:30", "7"],
        ["10:48", "31:30", "00:10:48"],
        ["10:48", "31:75"],
    ],
)
def test_times_of_day_and_mixtures_are_no_durations(values: list[str]) -> None:
    assert numbers(*values) is None


def test_measures_of_assistant_logs_are_numbers() -> None:
    labels = Labels(60)
    for row in range(60):
        labels.set(row, {"input_tokens": 1000 + row, "ticket": 1000 + row, "errors": 0, "calls": 1})
    assert list(labels.numbers()) == ["errors", "input_tokens"]  # nothing failed; tickets are numbered one by one
