"""Showing a store in a browser until the server is stopped, or in a notebook."""

from __future__ import annotations

import html
import os
import secrets
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from turnlens._utils.registries import require
from turnlens.data.conversation_source import Given
from turnlens.groups.group_settings import Granularity, GroupSettings
from turnlens.page.live_report import LiveReport
from turnlens.report.building import build_report, open_store
from turnlens.report.report import Report
from turnlens.report.seed_groups import Seeds
from turnlens.store import ConversationStore

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_SECONDS_TO_STOP = 5


class Explorer:
    """The explorer of a store. It serves only this machine, until `stop`; a notebook shows it in a frame.

    Args:
        store: The store.
        report: Its report.
        port: The port; 0 chooses a free one.
        in_notebook: Whether pages of this machine, such as notebooks, may show it in a frame.

    Attributes:
        url: Its address. While it is served, anyone who knows this address can read everything and rename groups.
        passing: The temporary folder of a store that was made only for this explorer.
    """

    def __init__(self, store: ConversationStore, report: Report, port: int = 0, in_notebook: bool = False) -> None:
        uvicorn = require("uvicorn", "explorer")
        require("fastapi", "explorer")
        from turnlens.page.server import HOST, create_app

        self._socket = _listen(HOST, port)
        token = secrets.token_urlsafe(24)
        self.url = f"http://{HOST}:{self._socket.getsockname()[1]}/{token}/"
        self._live = LiveReport(store, report)
        config = uvicorn.Config(
            create_app(self._live, token, in_notebook),
            log_config=None,
            lifespan="off",  # nothing to start or end
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_SECONDS_TO_STOP,
        )
        self._server = uvicorn.Server(config)
        self._thread: threading.Thread | None = None
        self.passing: tempfile.TemporaryDirectory[str] | None = None

    @property
    def report(self) -> Report:
        """The report that is shown, with all changes that were made to it."""
        return self._live.report

    def run(self) -> None:
        """Serve until Ctrl-C."""
        try:
            with suppress(KeyboardInterrupt):
                self._server.run([self._socket])
        finally:
            self._close()

    def start(self) -> Self:
        """Serve in a separate thread, unless it is being served already."""
        if self._thread is None:
            self._thread = threading.Thread(target=self.run, daemon=True, name="turnlens-explorer")
            self._thread.start()
        return self

    def stop(self) -> None:
        """Stop serving."""
        self._server.should_exit = True
        if self._thread is None:
            self._close()
        else:
            self._thread.join(2 * _SECONDS_TO_STOP)

    def _close(self) -> None:
        self._live.close()
        self._socket.close()

    def __enter__(self) -> Self:
        """Serve in a separate thread while the block runs."""
        return self.start()

    def __exit__(self, *error: object) -> None:
        """Stop serving at the end of the block."""
        self.stop()

    def _repr_html_(self) -> str:
        address = html.escape(self.url)
        style = "width:100%;height:820px;border:0"
        frame = f'<iframe src="{address}" style="{style}" title="turnlens explorer"></iframe>'
        return f'{frame}<a href="{address}">{address}</a>'


def explore(
    data: ConversationStore | Given,
    *,
    encoder: SentenceTransformer | str | os.PathLike[str] | None = None,
    role: str | None = None,
    seeds: Seeds | None = None,
    history: bool = False,
    granularity: Granularity | int = "medium",
    seed: int = 0,
    port: int = 0,
) -> Explorer:
    """Show what conversations are about. As the last line of a notebook's cell, the explorer appears there.

    Args:
        data: A store or its folder; or conversations, as `turnlens.read_conversations` reads or gives them: a file, a
            DataFrame, a list, …. Conversations are embedded each time, and nothing about them is kept.
        encoder: The encoder, its folder or its Hub name; by default that of the store, or the default encoder.
        role: Who asks, such as ``"user"``; by default the role that opens most conversations. The page starts with
            what it says.
        seeds: Groups that you know, see `turnlens.cluster`.
        history: Group messages together with what was said before them, see `add_history`.
        granularity: How fine the groups are: ``"coarse"``, ``"medium"`` or ``"fine"``, or about how many to find of
            each role.
        seed: Seed of the groups and the map.
        port: The port; 0 chooses a free one.

    Returns:
        The running `Explorer`, which has a ``url`` for a browser and a method ``stop()``.
    """
    settings = GroupSettings(granularity=granularity, history=history, role=role)
    store, passing = open_store(data, encoder)
    report = build_report(store, seed=seed, settings=settings, seeds=seeds)
    explorer = Explorer(store, report, port, in_notebook=True)
    explorer.passing = passing  # removed together with the explorer
    return explorer.start()


def open_browser(url: str, opener: Callable[[str], Any] = webbrowser.open) -> bool:
    """Open an address in a browser, if there is a desktop: text browsers would take over this terminal."""
    has_desktop = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(has_desktop and opener(url))


def _listen(host: str, port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise OSError(f"port {port} of {host} cannot be used ({error.strerror}): choose another with --port") from error
    return listening
