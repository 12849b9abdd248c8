"""The files of a report: data for the explorer's page, alone or as a folder with the page, which opens from disk.

The data are scripts, because a page that is opened from disk may not fetch anything.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import turnlens
from turnlens._utils.files import atomic_path, check_folder
from turnlens.groups.group_model import KINDS
from turnlens.report.boilerplate import Spans
from turnlens.report.findings import findings, language_notice, widening
from turnlens.report.label_columns import Label
from turnlens.report.measures import number_kind
from turnlens.report.report import Report
from turnlens.report.summary import MOST_VALUES, summary_table

PAGE = Path(__file__).parent / "static"
INDEX = "index.html"
FORMAT = 1
TEXTS_PER_FILE = 20_000
_TYPES = {"role": "<u1", "turn": "<u2", "conversation": "<u4", "first": "<u4", "turns": "<u2", "time": "<f8"}
_DEFAULT_TYPES = {"f": "<f4", "i": "<i4", "u": "<u4", "b": "<u1"}
_DANGEROUS = re.compile("[<>&\u2028\u2029]")  # inside a script in a page


def export_report(report: Report, folder: str | os.PathLike[str], force: bool = False) -> Path:
    """Write a report as a folder that any browser opens from disk. It appears only when it is complete.

    Examples:
        >>> import turnlens
        >>> from turnlens.report import build_report
        >>> from turnlens.store import ConversationStore
        >>> store = ConversationStore.open("talks")
        >>> added = store.add(turnlens.sample_conversations(10))
        >>> export_report(build_report(store), "report").as_posix()
        'report/index.html'

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


def write_report(report: Report, folder: str | os.PathLike[str]) -> None:
    """Write the data of a report as ``data/*.js`` into a folder; ``data`` appears when it is complete.

    Examples:
        >>> import turnlens
        >>> from turnlens.report import build_report
        >>> from turnlens.store import ConversationStore
        >>> store = ConversationStore.open("talks")
        >>> added = store.add(turnlens.sample_conversations(10))
        >>> write_report(build_report(store), "site")
        >>> sorted(path.name for path in Path("site/data").iterdir())[:2]
        ['conversations.js', 'ids.js']

    Args:
        report: The report.
        folder: The folder, made if it is missing.
    """
    with atomic_path(Path(folder) / "data") as data:
        data.mkdir()
        _put(data, "summary", summary(report))
        _put(data, "messages", _columns(report.messages, report.message_labels))
        numbers = {f"number:{name}": values for name, values in report.measures.items()}
        _put(data, "conversations", _columns({**report.conversations, **numbers}, report.conversation_labels))
        _put(data, "ids", list(report.ids))
        for number, start in enumerate(range(0, len(report.texts), TEXTS_PER_FILE)):
            _put(data, f"texts-{number:05}", list(report.texts[start : start + TEXTS_PER_FILE]))
        struck = ((row, spans) for row, spans in enumerate(report.boilerplate) if spans)
        _put(data, "struck", {row: _places(report.texts[row], spans) for row, spans in struck})


def summary(report: Report) -> dict[str, Any]:
    """Return the content of ``summary.js``."""
    times = report.messages["time"]
    known = times[~np.isnan(times)]
    notice = language_notice(report)
    fine = [group for group in report.groups["message"] if group.level == 1]
    rows = summary_table(report, fine).to_pylist()
    requests = [row for row in rows if row["kind"] in ("request", "message")]
    return {
        "format": FORMAT,
        "title": report.title,
        "made": report.made,
        "turnlens": turnlens.__version__,
        "encoder": report.encoder,
        "counts": {"messages": len(report.texts), "conversations": len(report.ids), "speakers": len(report.roles)},
        "roles": list(report.roles),
        "asker": report.speakers.asker,
        "texts_per_file": TEXTS_PER_FILE,
        "labels": {
            "conversation": {name: list(label.values) for name, label in report.conversation_labels.items()},
            "message": {name: list(label.values) for name, label in report.message_labels.items()},
        },
        "categories": list(report.categories(MOST_VALUES)),
        "numbers": {name: number_kind(name, values) for name, values in report.measures.items()},
        "deviations": {name: float(np.nanstd(values)) for name, values in report.measures.items()},
        "notice": notice,
        "findings": [] if notice else findings(report, requests),
        "wider": widening(len(requests)),
        "times": {
            "first": float(known.min()) if len(known) else None,
            "last": float(known.max()) if len(known) else None,
        },
        "groups": {kind: [asdict(group) for group in report.groups[kind]] for kind in KINDS},
        "surprise": bool(np.isfinite(report.messages["surprise"]).any()),
        "search": {"meaning": False},
    }


def _places(text: str, spans: Spans) -> list[list[int]]:
    """Return spans in units of UTF-16, as JavaScript counts."""
    return [[len(text[:place].encode("utf-16-le", "surrogatepass")) // 2 for place in span] for span in spans]


def _columns(columns: Mapping[str, np.ndarray], labels: Mapping[str, Label]) -> dict[str, Any]:
    encoded = {name: _column(name, values) for name, values in columns.items()}
    return encoded | {f"label:{name}": _column(name, label.codes) for name, label in labels.items()}


def _column(name: str, values: np.ndarray) -> dict[str, str]:
    kind = _TYPES.get(name, _DEFAULT_TYPES[values.dtype.kind])
    if name == "role" and values.max(initial=0) > 255:
        kind = "<u2"
    array = np.ascontiguousarray(values, dtype=kind)
    return {"type": array.dtype.name, "data": base64.b64encode(array.tobytes()).decode("ascii")}


def _put(folder: Path, name: str, value: Any) -> None:
    # Escaped so that the text is safe inside a page too, and the same JSON.
    text = _DANGEROUS.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))
    path = folder / f"{name}.js"
    path.write_text(f'turnlens.put("{name}", {text});\n', encoding="utf-8", errors="surrogatepass")
