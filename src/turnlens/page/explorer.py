"""The explorer of a store, in a browser or a notebook, until it is stopped."""

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
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from turnlens._utils.progress import progress_of
from turnlens.data.conversation_source import ConversationSource
from turnlens.data.conversations import read_conversations
from turnlens.groups.group_settings import Granularity, GroupSettings
from turnlens.page.live_report import LiveReport
from turnlens.report.building import build_report, open_store
from turnlens.report.report import Report
from turnlens.report.seed_groups import Seeds
from turnlens.store import ConversationStore

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from turnlens.encoders.encoder import Encoder as ConversationalEncoder
    from turnlens.store.open_arguments import Encoder

_SECONDS_TO_STOP = 5


class Explorer:
    """The explorer of a store. It serves this machine only, until `stop`; a notebook shows it in a frame.

    Examples:
        >>> import turnlens
        >>> from turnlens.report import build_report
        >>> from turnlens.store import ConversationStore
        >>> store = ConversationStore.open("talks")
        >>> added = store.add(turnlens.sample_conversations(10))
        >>> with Explorer(store, build_report(store)) as explorer:
        ...     print(explorer.url.partition(":")[0])
        http

    Args:
        store: The store.
        report: Its report.
        port: The port; 0 chooses a free one.
        in_notebook: Let pages of this machine, such as notebooks, show it in a frame.

    Attributes:
        url: Its address. While it is served, anyone who knows this address can read everything and rename groups.
        temporary: The folder of a store that was made only for this explorer, removed with it.
    """

    def __init__(self, store: ConversationStore, report: Report, port: int = 0, in_notebook: bool = False) -> None:
        import uvicorn

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
        self.temporary: tempfile.TemporaryDirectory[str] | None = None

    @property
    def report(self) -> Report:
        """The report, with all changes made to it."""
        return self._live.report

    def run(self) -> None:
        """Serve until Ctrl-C."""
        try:
            with suppress(KeyboardInterrupt):
                self._server.run([self._socket])
        finally:
            self._close()

    def start(self) -> Self:
        """Serve in a thread of its own, if it is not yet served."""
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
        """Serve while the block runs."""
        return self.start()

    def __exit__(self, *error: object) -> None:
        """Stop serving."""
        self.stop()

    def _repr_html_(self) -> str:
        address = html.escape(self.url)
        style = "width:100%;height:820px;border:0"
        frame = f'<iframe src="{address}" style="{style}" title="turnlens explorer"></iframe>'
        return f'{frame}<a href="{address}">{address}</a>'


def explore(
    data: ConversationStore | ConversationSource,
    *,
    encoder: ConversationalEncoder | SentenceTransformer | str | os.PathLike[str] | None = None,
    role: str | None = None,
    seeds: Seeds | None = None,
    history: bool = False,
    granularity: Granularity | int = "medium",
    seed: int = 0,
    port: int = 0,
) -> Explorer:
    """Show in a browser what conversations are about; at the end of a notebook's cell, the explorer appears there.

    Examples:
        >>> import turnlens
        >>> explorer = turnlens.explore(turnlens.sample_conversations(10))
        >>> explorer.url.startswith("http://127.0.0.1:")
        True
        >>> explorer.stop()

    Args:
        data: A store or its folder; or conversations as `turnlens.read_conversations` takes them: a file, a
            DataFrame, a list, …. These are embedded each time, and nothing about them is kept.
        encoder: The encoder, its folder or its Hub name; by default that of the store, or the default encoder.
        role: The role that asks, such as ``"user"``; by default the one that opens most conversations.
        seeds: Groups that you know, see `turnlens.cluster`.
        history: Group messages together with the messages before them, see `add_history`.
        granularity: ``"coarse"``, ``"medium"`` or ``"fine"`` groups, or about how many to find of each role.
        seed: Seed of the groups and the map.
        port: The port; 0 chooses a free one.

    Returns:
        The running `Explorer`, with a ``url`` for a browser and a method ``stop()``.
    """
    settings = GroupSettings(granularity=granularity, history=history, role=role)
    store, temporary = open_store(data, encoder), None
    if store is None:
        store, temporary = _temporary_store(cast("ConversationSource", data), encoder)
    report = build_report(store, seed=seed, settings=settings, seeds=seeds)
    explorer = Explorer(store, report, port, in_notebook=True)
    explorer.temporary = temporary
    return explorer.start()


def _temporary_store(
    data: ConversationSource, encoder: Encoder
) -> tuple[ConversationStore, tempfile.TemporaryDirectory[str]]:
    """Put conversations into a temporary store, whose folder must be kept as long as the store is used."""
    conversations = read_conversations(data)
    folder = tempfile.TemporaryDirectory(prefix="turnlens-")
    store = ConversationStore.open(Path(folder.name) / "store", encoder=encoder)
    with progress_of("embedding conversations", len(conversations)) as advance:
        store.add(conversations, progress=advance)
    return store, folder


def open_browser(url: str, opener: Callable[[str], Any] = webbrowser.open) -> bool:
    """Open an address in a browser if there is a desktop: a text browser would take over the terminal."""
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
