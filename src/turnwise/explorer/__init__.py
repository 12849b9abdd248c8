"""The explorer shows what conversations are about, how they continue and what is unusual; extra ``explorer``."""

from turnwise.explorer.clustering import Groups, cluster
from turnwise.explorer.export import export_report
from turnwise.explorer.groups.settings import GroupSettings
from turnwise.explorer.labelling import label
from turnwise.explorer.report.build import build_report
from turnwise.explorer.report.report import Group, Report
from turnwise.explorer.report.write import write_report
from turnwise.explorer.serving import Explorer, explore

__all__ = [
    "Explorer",
    "Group",
    "GroupSettings",
    "Groups",
    "Report",
    "build_report",
    "cluster",
    "explore",
    "export_report",
    "label",
    "write_report",
]
