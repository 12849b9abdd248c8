"""Folders that are read as one source: the channels of a Slack export, whose threads go on from file to file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from turnlens.formats.archives import shown

_DAILY_FILE = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
# Beside the folders of the channels; https://slack.com/help/articles/220556107
_MEMBERS = ("users.json", "org_users.json")
_CHANNELS = ("channels.json", "groups.json", "dms.json", "mpims.json")
_OTHERS = ("integration_logs.json", "canvases.json", "content_flags.json", "lists.json", "file_conversations.json")


def with_channels(files: Iterable[Path]) -> list[Path]:
    """The files, with the folder of a channel in place of its daily files, and without what lies beside the folders."""
    is_export = cache(_is_slack_export)
    merged = []
    for file in files:
        if _DAILY_FILE.fullmatch(file.name) and is_export(file.parent.parent):
            merged.append(file.parent)
        elif not (file.name in (*_MEMBERS, *_CHANNELS, *_OTHERS) and is_export(file.parent)):
            merged.append(file)
    return list(dict.fromkeys(merged))


def _is_slack_export(folder: Path) -> bool:
    return any((folder / name).exists() for name in _MEMBERS) and any((folder / name).exists() for name in _CHANNELS)


def files_of(path: Path) -> list[Path]:
    """The file itself, or the daily files of a channel in order."""
    return sorted(file for file in path.iterdir() if _DAILY_FILE.fullmatch(file.name)) if path.is_dir() else [path]


def members_files(path: Path) -> list[Path]:
    """The files with the members' names, for a channel or one of its daily files."""
    export = path.parent if path.is_dir() else path.parent.parent
    return [export / name for name in _MEMBERS if (export / name).is_file()]


def size_of(path: Path) -> int:
    """The bytes of the file, or of a channel."""
    return sum(file.stat().st_size for file in files_of(path))


def states_of(path: Path) -> list[tuple[str, int, int]]:
    """The states of the file, or of all files that are read for a channel, which show whether any has changed."""
    files = [*files_of(path), *(members_files(path) if path.is_dir() else ())]
    return [(shown(str(file.resolve())), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
