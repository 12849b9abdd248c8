"""Conversations and encoders made for the tasks on sequences."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from typing_extensions import override

from turnlens.encoders.encoder import Encoder
from turnlens.papers.next_message.sequences import EmbeddedSequences, build_sequences

WORDS = ("card", "order", "pizza", "flight", "cancel", "thanks", "my", "the")


def talks(count: int = 14, speakers: int = 3, seed: int = 0) -> list[dict[str, Any]]:
    """Conversations of 2 to 13 turns by up to three speakers, none of whom speaks twice in a row; texts recur."""
    generator = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        texts = [" ".join(generator.choice(WORDS, size=2)) for _ in range(generator.integers(2, 14))]
        steps = generator.integers(1, speakers, size=len(texts)) if speakers > 1 else np.zeros(len(texts), dtype=int)
        roles = np.cumsum(steps) % speakers
        messages = [{"role": f"s{role}", "content": text} for role, text in zip(roles, texts)]
        rows.append({"id": f"talk {number}", "messages": messages})
    return rows


def numbered(count: int, turns: int) -> list[dict[str, Any]]:
    """Conversations whose texts say which one they are from, and which turn."""
    return [
        {
            "id": f"talk {number}",
            "messages": [{"role": "ab"[turn % 2], "content": f"{number} {turn}"} for turn in range(turns)],
        }
        for number in range(count)
    ]


class FakeEncoder(Encoder):
    """Embeds by a function of the text and the prompt's name, which is the prompt too."""

    default_prompt_name = None
    text_tokenizer: Any = SimpleNamespace(sep_token="|")

    def __init__(self, vector: Callable[[str, str | None], Any], views: str = "c3l") -> None:
        before = {"plain": (), "ccl": ("before",), "c3l": ("before1", "before2")}[views]
        names = [f"{view}_{relation}" for view in before for relation in ("same", "other")]
        self.prompts = {name: name for name in [*names, "after"]} if names else {}
        self.vector = vector
        self.asked: list[tuple[str, str | None]] = []

    @override
    def encode_texts(self, texts: Sequence[str], prompt: str | None = None, *rest: Any, **further: Any) -> np.ndarray:
        self.asked += [(text, prompt) for text in texts]
        return np.stack([np.asarray(self.vector(text, prompt), dtype=np.float32) for text in texts])


def embedded(encoder: Any, rows: list[dict[str, Any]], **settings: Any) -> EmbeddedSequences:
    return EmbeddedSequences(encoder, build_sequences(rows, **settings))


def by_conversation(text: str, prompt: str | None) -> np.ndarray:
    """Knows which of the ``numbered`` conversations a text is from; the first one for a joined context."""
    return np.eye(64)[int(text.split()[0])]


class Literal:
    """Cosines in float64 from single calls of the stock encode."""

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder
        self.known: dict[tuple[str, str | None], np.ndarray] = {}

    def vector(self, text: str, prompt: str | None) -> np.ndarray:
        if (text, prompt) not in self.known:
            self.known[text, prompt] = self.encoder.encode([text], prompt_name=prompt)[0].astype(np.float64)
        return self.known[text, prompt]

    def before(self, message: dict[str, str], speaker: str, view: str) -> np.ndarray:
        return self.vector(message["content"], f"{view}_{'same' if message['role'] == speaker else 'other'}")

    def after(self, text: str) -> np.ndarray:
        return self.vector(text, "after")


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def expected_rank(scores: list[float], true: int) -> float:
    better = sum(score > scores[true] + 1e-6 for score in scores)
    equal = sum(abs(score - scores[true]) <= 1e-6 for score in scores)
    return better + (equal + 1) / 2
