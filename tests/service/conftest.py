from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from httpx2 import Client
from sentence_transformers import SentenceTransformer

from turnlens.encoders import loading

if TYPE_CHECKING:
    from .server import Running


@pytest.fixture(scope="module")
def running(tiny_encoder_path: Path) -> Iterator[Running]:
    from .server import run_server

    with run_server(model=str(tiny_encoder_path), model_name="tiny") as server:
        yield server


@pytest.fixture
def client(running: Running) -> Iterator[Client]:
    with running.client() as client:
        yield client


class Gate:
    """Stands in front of an encoder's forward pass."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.passes: list[int] = []  # rows of each
        self._open = threading.Event()
        self._open.set()

    def shut(self) -> None:
        self.reached.clear()
        self.passes.clear()
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def __call__(self, encoder: SentenceTransformer, inputs: tuple) -> None:
        self.passes.append(len(inputs[0]["input_ids"]))
        self.reached.set()
        self._open.wait()

    def __deepcopy__(self, memo: dict) -> Gate:
        return self


@pytest.fixture
def gate(tiny_encoder: SentenceTransformer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Makes the service load a tiny encoder whose passes wait while the gate is shut."""
    gate = Gate()
    tiny_encoder.register_forward_pre_hook(gate)
    monkeypatch.setattr(loading, "load_encoder", lambda model: tiny_encoder)
    yield gate
    gate.open()
