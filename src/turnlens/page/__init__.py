"""The explorer: a page that shows a report in the browser, and its server."""

from turnlens.page.explorer import Explorer, explore
from turnlens.page.report_files import export_report, write_report

__all__ = ["Explorer", "explore", "export_report", "write_report"]
