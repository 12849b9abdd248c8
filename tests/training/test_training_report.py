from turnlens.training import TrainingReport

FIGURE = {
    **{"before": 40.0, "before_interval": [38.0, 42.0], "after": 44.04, "after_interval": [42.0, 46.0]},
    **{"difference": 4.04, "difference_interval": [2.0, 6.0]},
}
REPORT = TrainingReport({"held_out": {"conversations": 1100, "figures": {"stability": FIGURE}}})


def test_reports_show_before_and_after_as_tables() -> None:
    assert REPORT.before_after == {"stability": FIGURE}
    for shown, end in ((repr(REPORT), " |"), (REPORT._repr_html_(), "</td></tr></table>")):
        assert "On 1,100 conversations held out" in shown and "44.0 (42.0 – 46.0)" in shown
        assert shown.endswith(f"4.0 (2.0 – 6.0){end}")


def test_reports_without_figures_say_so() -> None:
    report = TrainingReport({"steps": 3})
    assert (
        report.before_after == {} and "Nothing was held out" in repr(report) and "<table>" not in report._repr_html_()
    )
