"""Generated candidates, kept in a folder so that none is generated twice and an interrupted run can continue."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from turnlens._compat import datasets_cache
from turnlens._utils.files import atomic_path
from turnlens.data.messages import Message
from turnlens.papers.generation import generate_candidates, generator_digest


@dataclass(frozen=True)
class GeneratedCandidates:
    """Candidates that a causal language model generates after contexts, as in Table 3 of the triple-encoders.

    Call it with a context and the next speaker: ``candidates(context, speaker="assistant")``.

    Attributes:
        model: A folder, or a name of the Hugging Face Hub.
        n: Candidates for each context.
        top_p: As for `turnlens.papers.generate_candidates`.
        temperature: As for `turnlens.papers.generate_candidates`.
        top_k: As for `turnlens.papers.generate_candidates`.
        max_tokens: As for `turnlens.papers.generate_candidates`.
        seed: As for `turnlens.papers.generate_candidates`.
    """

    model: str
    n: int = 100
    top_p: float = 0.8
    temperature: float = 0.8
    top_k: int | None = None
    max_tokens: int | None = None
    seed: int = 0

    def __call__(self, context: Sequence[Message], speaker: str | None = None) -> list[str]:
        """The candidates, generated unless they are in the cache."""
        path = _folder() / f"{self._key(context, speaker)}.json"
        if path.is_file():
            return list(json.loads(path.read_text(encoding="utf-8"))["candidates"])
        settings = {name: value for name, value in asdict(self).items() if name != "model"}
        candidates = generate_candidates(self.model, context, speaker=speaker, show_progress=False, **settings)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as temporary:
            temporary.write_text(json.dumps({"candidates": candidates}, ensure_ascii=False), encoding="utf-8")
        return candidates

    def describe(self) -> dict[str, object]:
        """Everything that determines the candidates of any context, ready for JSON: weights, tokenizer and settings."""
        return {**asdict(self), "model": generator_digest(self.model)}

    def _key(self, context: Sequence[Message], speaker: str | None) -> str:
        turns = [[message["role"], message["content"]] for message in context]
        text = json.dumps([self.describe(), turns, speaker], sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _folder() -> Path:
    """A folder in the cache directory of ``datasets``, where prepared conversations are kept, too."""
    return datasets_cache() / "turnlens-generated"
