"""The explorer shows what conversations are about, how they continue and what is unusual; extra ``explorer``."""

from turnlens.explorer.clustering import Groups, cluster
from turnlens.explorer.export import export_report
from turnlens.explorer.groups.settings import GroupSettings
from turnlens.explorer.labelling import label
from turnlens.explorer.report.build import build_report
from turnlens.explorer.report.report import Group, Report
from turnlens.explorer.report.write import write_report
from turnlens.explorer.serving import Explorer, explore

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
