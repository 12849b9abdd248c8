"""Reports about a corpus: its requests and topics, with names, numbers over time and tables."""

from turnlens.groups.group_settings import GroupSettings
from turnlens.report.building import build_report
from turnlens.report.clustering import Groups, cluster
from turnlens.report.labelling import label
from turnlens.report.report import Group, Report

__all__ = ["Group", "GroupSettings", "Groups", "Report", "build_report", "cluster", "label"]
