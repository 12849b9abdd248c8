"""All that a training knows between two of its steps, and how it is kept on disk."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from datasets import Dataset
from safetensors.torch import load_file, save_file
from sentence_transformers.base.evaluation import BaseEvaluator
from torch import Tensor

from turnlens._utils.files import atomic_path
from turnlens._utils.vectors import FloatArray
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.identity import encoder_source, set_encoder_source
from turnlens.encoders.loading import load_encoder

_LEARNED = ".learned.safetensors"


@dataclass
class TrainingState:
    """A training between two of its steps. Steps change it, and the encoder that learns, in place.

    Attributes:
        given: The encoder that the training starts from, which stays as it is.
        encoder: The encoder that learns.
        conversations: The conversations to learn from.
        source: What they are, for the record; a run is continued only if this is the same.
        record: Entries of ``training.json``, ready for JSON.
        evaluator: Chooses the best checkpoint; without it, the last step is taken.
        held_out: Conversations that judge what was learned.
        embedded: The messages to learn from with their vectors, if these were given.
        vectors: Vectors of messages that later steps need, by name (messages, dim) each.
        learned: Differences of weights from those of the given encoder, by step and weight.
    """

    given: ConversationEncoder
    encoder: ConversationEncoder
    conversations: Dataset
    source: str
    record: dict[str, Any] = field(default_factory=dict)
    evaluator: BaseEvaluator | None = None
    held_out: Dataset | None = None
    embedded: pa.Table | None = None
    vectors: dict[str, FloatArray] = field(default_factory=dict)
    learned: dict[str, dict[str, Tensor]] = field(default_factory=dict)

    def keep(self, folder: Path, done: list[str]) -> None:
        """Write what steps change, and the names of those that are done, in the place of what was kept before."""
        with atomic_path(folder) as temporary:
            self.encoder.save_pretrained(str(temporary), create_model_card=False)
            np.savez(temporary / "vectors.npz", **self.vectors)  # type: ignore[arg-type]
            for step, weights in self.learned.items():
                save_file(weights, temporary / f"{step}{_LEARNED}")
            kept = {"done": done, "record": self.record}
            (temporary / "state.json").write_text(json.dumps(kept), encoding="utf-8")

    def restore(self, folder: Path) -> None:
        """Take up what was kept."""
        self.encoder = load_encoder(folder, device=str(self.encoder.device))
        set_encoder_source(self.encoder, encoder_source(self.given))
        with np.load(folder / "vectors.npz") as vectors:
            self.vectors = dict(vectors)
        for path in folder.glob(f"*{_LEARNED}"):
            self.learned[path.name.removesuffix(_LEARNED)] = load_file(path, device=str(self.encoder.device))
        self.record = json.loads((folder / "state.json").read_text(encoding="utf-8"))["record"]


def done_steps(folder: Path) -> list[str]:
    """The names of the steps whose result is kept in a folder."""
    path = folder / "state.json"
    done: list[str] = json.loads(path.read_text(encoding="utf-8"))["done"] if path.is_file() else []
    return done
