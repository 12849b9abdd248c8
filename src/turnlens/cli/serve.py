"""The commands of the service: `turnlens serve`, and `turnlens new-key` for those who may use it."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typing_extensions import override

from turnlens._compat import leave_out_pandas
from turnlens._utils.arguments import did_you_mean
from turnlens._utils.processes import keep_little_free_memory
from turnlens._utils.progress import console, error_console
from turnlens._utils.text_values import printable
from turnlens.cli.options import given, parse_settings
from turnlens.cli.terminal import TERMINATED, use_one_thread

if TYPE_CHECKING:
    from turnlens.service import ServiceSettings


def serve(
    store: list[str] | None = None,
    model: str | None = None,
    host: Annotated[str, typer.Option(envvar="TURNLENS_HOST")] = "127.0.0.1",
    port: Annotated[int, typer.Option(envvar="TURNLENS_PORT", min=0, max=65535)] = 8000,
    keys: Path | None = None,
    settings: Annotated[list[str] | None, typer.Option("--set")] = None,
) -> None:
    """Serve embeddings, ranking, search and next replies over HTTP, also to clients made for OpenAI.

    Every setting can also be given in the environment, as TURNLENS_MODEL, TURNLENS_KEYS, ….

    Example: `turnlens serve --store talks --keys keys.toml --host 0.0.0.0`

    Options:
        store: A conversation store: FOLDER or NAME=FOLDER; may be repeated.
        host: Address to listen on.
        port: Port to listen on.
        keys: File of API keys; without it, the service answers this machine only.
        settings: A setting of the service, as name=value; may be repeated.
    """
    keep_little_free_memory()
    leave_out_pandas()
    use_one_thread()
    from turnlens.service import create_app

    options = given({"model": model, "keys": keys, "stores": _named_stores(store) if store else None})
    chosen = _settings({**parse_settings(settings or []), **options})
    if chosen.keys is None and host not in ("localhost", "127.0.0.1", "::1"):
        raise ValueError(f"--host {host} serves other machines, which needs --keys FILE: turnlens new-key makes them")
    import uvicorn

    from turnlens.service.connections import uvicorn_config

    app = create_app(chosen)
    _log_to_stderr()
    # The thread that answers waits this long, each time, for threads that parse and count to let it run.
    sys.setswitchinterval(0.0005)
    server = uvicorn.Server(uvicorn_config(app, host, port))
    loaded = app.state.service.worker.loaded

    def stop_if_failed(_: Any) -> None:
        server.should_exit = server.should_exit or loaded.exception() is not None

    loaded.add_done_callback(stop_if_failed)
    try:
        server.run()
    except (KeyboardInterrupt, SystemExit) as stop:  # uvicorn raises the signals again after obeying them
        if isinstance(stop, SystemExit) and not server.started:
            raise OSError(f"port {port} of {host} cannot be used: choose another with --port") from None
        if isinstance(stop, SystemExit) and stop.code != TERMINATED:
            raise
    if loaded.done() and loaded.exception() is not None:
        raise loaded.exception()
    logging.shutdown()
    os._exit(0)  # a normal exit would wait for what threads are still at, and take libraries apart for two seconds


def new_key(
    name: str,
    keys: Path = Path("keys.toml"),
    scope: list[str] = ["read"],  # noqa: B006  # typer copies it
    store: str | None = None,
    requests_per_minute: int | None = None,
) -> None:
    """Make an API key for `turnlens serve`, print it, and add its hash to the file of keys.

    The scope `read` lets a client embed, rank and search, `write` lets it add and delete conversations, and `admin`
    lets it read the metrics. No scope includes another.

    Example: `turnlens new-key website --scope read --requests-per-minute 600`

    Options:
        name: Who gets the key; the name appears in logs and metrics.
        keys: File of API keys, to which the hash of the new key is added.
        scope: What the key allows: read, write or admin; may be repeated.
        store: Name of the only store that the key may use; by default it may use all.
        requests_per_minute: Highest number of requests per minute; by default unlimited.
    """
    from turnlens.service.keys import new_key as make

    secret = make(keys, name, scope, store, requests_per_minute)
    error_console.print(f"Added {name} to {keys}. This is the only time that the key is shown:")
    console.print(secret, soft_wrap=True)


def _named_stores(values: list[str]) -> dict[str, str]:
    """The folders of stores by their names, which are the folders' own where none is given."""
    stores: dict[str, str] = {}
    for value in values:
        name, equals, place = value.partition("=")
        if not equals:
            name, place = Path(value).resolve().name, value
        if name in stores:
            raise ValueError(
                f"{stores[name]} and {place} would both be the store {name!r}: give each a name of its own, as "
                "--store NAME=PATH"
            )
        stores[name] = place
    return stores


def _settings(values: dict[str, Any]) -> ServiceSettings:
    from pydantic import ValidationError

    from turnlens.service import ServiceSettings

    try:
        return ServiceSettings(**values)
    except ValidationError as error:
        raise ValueError(
            "; ".join(_told(problem, ServiceSettings.model_fields) for problem in error.errors())
        ) from None


def _told(problem: Mapping[str, Any], known: Iterable[str]) -> str:
    if problem["type"] == "extra_forbidden":
        name = str(problem["loc"][0])
        return f"the service has no setting {name!r}{did_you_mean(name, known)}: expected some of {', '.join(known)}"
    told = ": ".join([*map(str, problem["loc"]), problem["msg"]])
    return f"{told}, got {problem['input']!r}" if problem["loc"] else told


class _PrintableFormatter(logging.Formatter):
    @override
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def _log_to_stderr() -> None:
    """Log a line with the time for every request, regardless of what other commands show."""
    handler = logging.StreamHandler()
    handler.setFormatter(_PrintableFormatter("%(asctime)s %(levelname)s %(message)s"))
    for name in ("turnlens.service", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO)
        logger.handlers, logger.propagate = [handler], False
