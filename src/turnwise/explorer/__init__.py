"""The explorer: what conversations are about, how they move on, where they surprise; needs the extra ``explorer``."""

from turnwise.explorer.groups.fitting import GroupSettings
from turnwise.explorer.report.build import build_report
from turnwise.explorer.report.report import Group, Report
from turnwise.explorer.report.write import write_report

__all__ = ["Group", "GroupSettings", "Report", "build_report", "write_report"]
