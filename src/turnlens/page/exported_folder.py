"""The report as a folder that any browser can open from disk, without a server."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from turnlens._utils.files import atomic_path, check_folder
from turnlens.page.report_files import write_report
from turnlens.report.report import Report

PAGE = Path(__file__).parent / "static"
INDEX = "index.html"


def export_report(report: Report, folder: str | os.PathLike[str], force: bool = False) -> Path:
    """Write the page and the report's data into a new folder, which appears only when it is complete.

    Args:
        report: The report.
        folder: The folder.
        force: Replace an earlier report there; nothing else is ever replaced.

    Returns:
        The file to open.

    Raises:
        FileExistsError: The folder holds a report and ``force`` is false, or it holds something else.
        NotADirectoryError: The path is a file.
    """
    target = check_export(folder, force)
    with atomic_path(target) as temporary:
        shutil.copytree(PAGE, temporary)
        write_report(report, temporary)
    return target / INDEX


def check_export(folder: str | os.PathLike[str], force: bool = False) -> Path:
    """Return ``folder``, or refuse it if `export_report` must not overwrite it."""
    return check_folder(folder, force, "report", (INDEX, "data/summary.js"))
