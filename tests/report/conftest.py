"""A store with its report, made once; each test has a copy that it may change."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.report.talks import SETTINGS, talks

if TYPE_CHECKING:
    from turnlens.report import Report
    from turnlens.store import ConversationStore


@pytest.fixture(scope="session")
def made(tiny_encoder_path: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """The folder of a store of 36 conversations that keeps its groups, and its report."""
    from turnlens.report import build_report
    from turnlens.store import ConversationStore

    path = tmp_path_factory.mktemp("made") / "talks"
    store = ConversationStore.create(path, talks(36), encoder=tiny_encoder_path)
    return path, build_report(store, settings=SETTINGS)


@pytest.fixture
def store(made: tuple[Path, Report], tmp_path: Path) -> ConversationStore:
    """A copy of the store with its groups."""
    from turnlens.store import ConversationStore

    return ConversationStore.open(shutil.copytree(made[0], tmp_path / "talks"))


@pytest.fixture
def report(made: tuple[Path, Report]) -> Report:
    """The report of the store."""
    return made[1]


@pytest.fixture
def build(store: ConversationStore) -> Callable[..., Report]:
    """Makes a report about the copy."""
    from turnlens.report import build_report

    return lambda **further: build_report(store, settings=SETTINGS, **further)
