"""`--quick`, which every script here has: a run of seconds that shows that it still runs; its figures mean nothing.

Sizes are tiny, data sets are generated, a tiny encoder stands for the default one, and what is otherwise measured in a
process of its own runs in this one.
"""

from __future__ import annotations

import argparse
import atexit
import io
import os
import runpy
import shutil
import string
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

import turnlens
from turnlens.data.conversation_files import write_chats
from turnlens.encoders import folders, loading

# Names of data sets, by the labels that their conversations have.
_LABELS = {"sgd": "domains", "self_dialogue": "topic", "taskmaster4": None, "dailydialog": None}
_DOMAINS = ("Banks", "Hotels", "Restaurants", "Flights", "Movies")


class _Quick(argparse.Action):
    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option: Any = None) -> None:
        import datasets  # here, as PyTorch below, since it takes memory that benchmarks measure

        # before values are made
        datasets.config.HF_DATASETS_CACHE = scratch()  # nothing of the tiny encoder is kept for the user, or read
        place_of, tiny = loading._place_of, tiny_encoder()
        published = (None, folders.DEFAULT_ENCODER, folders.BASE_ENCODER)
        loading._place_of = lambda name: str(tiny) if name in published else place_of(name)
        found = {name: value() if callable(value) else value for name, value in self.const.items()}
        parser.set_defaults(**found)  # positional arguments take their default afterwards
        for name, value in {**found, "quick": True}.items():
            setattr(namespace, name, value)


def add_quick(parser: argparse.ArgumentParser, **sizes: Any) -> None:
    """Add the option, which gives others these values, or what these functions return, but for those given after it."""
    about = "a run of seconds, to see that it runs"
    parser.add_argument("--quick", action=_Quick, nargs=0, const=sizes, default=False, help=about)


def is_quick() -> bool:
    """Say whether the option is given, for what is decided before options are read."""
    return "--quick" in sys.argv


def data_folder() -> Path:
    """$TURNLENS_DATA; with ``--quick``, generated conversations in its place."""
    return _generated() if is_quick() else Path(os.environ.get("TURNLENS_DATA", "../shared/data"))


@cache
def tiny_encoder() -> Path:
    """The folder of a random encoder with as many layers as the default one."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from tiny_encoder import save_random_encoder

    sizes = {"hidden_size": 32, "num_hidden_layers": 6, "intermediate_size": 64}
    words = [*string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase)]
    return save_random_encoder(scratch(), words, positions=512, **sizes)


def scratch() -> Path:
    """A new folder, removed when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="turnlens-quick-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def results_file() -> Path:
    """A file for results that nobody wants."""
    return scratch() / "results.json"


def skip(reason: str) -> NoReturn:
    """End a quick run that cannot be made here."""
    print(f"skipped: {reason}")
    sys.exit(0)


def output_of(script: str, *arguments: str, quick: bool, environment: Mapping[str, str] | None = None) -> str:
    """Return the output of a script, run in a process of its own, so that memory is its; with ``quick`` in this one."""
    if not quick:
        command = [sys.executable, script, *arguments]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    printed = io.StringIO()
    with (
        redirect_stdout(printed),
        mock.patch.object(sys, "argv", [script, "--quick", *arguments]),
        # what the option changes is put back
        mock.patch.object(loading, "_place_of", loading._place_of),
        mock.patch("datasets.config.HF_DATASETS_CACHE", scratch()),
    ):
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise
    return printed.getvalue()


@cache
def _generated() -> Path:
    folder = scratch()
    for place, (name, label) in enumerate(_LABELS.items()):
        (folder / name).mkdir()
        for part in ("train", "dev", "test"):
            rows = turnlens.sample_conversations(40, seed=3 * place + len(part)).to_list()
            domains = sorted({row["domain"] for row in rows})
            numbers = [domains.index(row.pop("domain")) % len(_DOMAINS) for row in rows]
            for row, number in zip(rows, numbers):
                if label is not None:
                    row[label] = [f"{_DOMAINS[number]}_1"] if label == "domains" else _DOMAINS[number]
                for message in row["messages"]:
                    intent = message.pop("intent", None)
                    if label == "domains" and intent is not None:
                        message["intent"] = f"{_DOMAINS[number]}_{intent.partition(':')[2]}"
            write_chats(rows, folder / name / f"{part}.jsonl.gz")
    return folder
