"""Growth over time."""

import numpy as np
import pytest

from turnlens.report.html_report import plain_number
from turnlens.report.trends import span_of, starts_of, trend_of, usual_period

DAY = 86_400.0


@pytest.mark.parametrize(("days", "period"), [(10, "day"), (60, "week"), (400, "month")])
def test_periods_follow_the_span_of_the_data(days: int, period: str) -> None:
    times = np.linspace(0, days * DAY, 300)
    assert usual_period(times) == period
    assert usual_period(np.append(times, [-800 * DAY, np.nan])) == period  # one that is two years older


def test_periods_start_on_days_mondays_and_months() -> None:
    sunday = 3 * DAY + 3600.0  # 4 January 1970
    starts = {period: str(starts_of(np.array([sunday]), period)[0]) for period in ("day", "week", "month")}
    assert starts == {"day": "1970-01-04", "week": "1969-12-29", "month": "1970-01"}


def test_stray_conversations_do_not_decide_growth() -> None:
    times = np.append(np.linspace(0, 60 * DAY, 600), [-800 * DAY, 900 * DAY])
    grows = times > 53 * DAY
    trend = trend_of(times)
    assert trend is not None and span_of(times) == pytest.approx((DAY / 2, 59.5 * DAY), abs=DAY)
    growth = trend.growth(grows)
    assert growth is not None and growth[1] > 0.5
    recent, earlier = trend.counts(grows)
    assert recent > 50 and earlier < 10
    steady = trend.growth(np.arange(602) % 2 == 0)
    assert steady is not None and steady[1] < 0 < steady[2]


def test_too_few_conversations_say_nothing_about_growth() -> None:
    trend = trend_of(np.linspace(0, 60 * DAY, 30))
    assert trend is not None and trend.growth(np.ones(30, bool)) is None
    assert trend_of(np.full(5, np.nan)) is None and trend_of(np.zeros(5)) is None


def test_numbers_are_written_as_people_write_them() -> None:
    shown = [plain_number(value) for value in (1060.0, 1234567.8, 35.25, 2.5, 0.0, 0.00042, -3.0)]
    assert shown == ["1,060", "1,234,568", "35.2", "2.5", "0", "0.00042", "-3"]
