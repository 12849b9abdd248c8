"""Reports made up from random numbers, in the format of `write_report`, for tests of the page alone."""

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np

HOSTILE = [
    "<script>window.hacked = true</script>",
    '<img src="x" onerror="window.hacked = true">',
    "</script><b>bold</b> &amp; <!-- gone -->",
    'javascript:alert(1) " onmouseover="window.hacked = true',
    "نص عربي من اليمين إلى اليسار \u202e reversed",
    "👩‍👩‍👧‍👦 🏳️‍🌈 emoji and a lone surrogate \ud83d",
    "NUL \x00 bell \x07 escape \x1b[31m red",
    "line separator \u2028 and paragraph \u2029",
    "very long " + "word " * 40_000,
    "an_unbroken_word_" * 400,
    "${7*7} {{7*7}} `backtick` \\ backslash",
    "",
]
_TOPICS = ["orders", "cards", "travel", "health", "energy", "phones", "hotels", "parcels", "software", "taxes"]
_ACTS = ["asks for", "confirms", "cancels"]
_DAY = 86400.0


def write_synthetic(
    folder: Path,
    conversations: int = 60,
    turns: int = 8,
    topics: int = 6,
    texts: list[str] | None = None,
    times: bool = True,
    surprise: bool = True,
    unhappy: bool = False,
    struck: dict[int, list[list[int]]] | None = None,
    findings: list[list[str | int]] | None = None,
    notice: str | None = None,
    texts_per_file: int = 200,
    seed: int = 0,
) -> Path:
    """Writes `data/` of a report: each topic is a coarse group of messages with three fine ones."""
    rng = np.random.default_rng(seed)
    n = conversations * turns
    topic = rng.integers(topics, size=conversations)
    first = np.arange(conversations, dtype=np.uint32) * turns
    turn = np.tile(np.arange(turns), conversations)
    conversation = np.repeat(np.arange(conversations), turns)
    fine = np.where(rng.random(n) < 0.08, -1, topics + 3 * topic[conversation] + np.minimum(2, turn * 3 // turns))
    angle = 2 * np.pi * (fine - topics) / (3 * topics)
    x, y = (0.7 * f(angle) + rng.normal(0, 0.05, n) for f in (np.cos, np.sin))
    said = [f"{_TOPICS[topic[c] % 10]} message {t} of conversation {c}" for c, t in zip(conversation, turn)]
    said[: len(texts or [])] = texts or []
    when = 1.7e9 + np.sort(rng.random(conversations)) * 300 * _DAY
    _write(folder, "ids", [f"conversation-{c}" for c in range(conversations)])
    for part in range(0, n, texts_per_file):
        _write(folder, f"texts-{part // texts_per_file:05}", said[part : part + texts_per_file])
    rank = rng.random(n) if surprise else np.full(n, np.nan)
    messages = {
        "x": column(x, "float32"),
        "y": column(y, "float32"),
        "group": column(fine, "int32"),
        "conversation": column(conversation, "uint32"),
        "turn": column(turn, "uint16"),
        "role": column(turn % 2, "uint8"),
        "time": column(when[conversation] + 60 * turn if times else np.full(n, np.nan), "float64"),
        "surprise": column(rank, "float32"),
        "label:intent": column(np.where(turn == 0, topic[conversation], -1), "int32"),
    }
    if unhappy:  # the third message of each conversation, ever more
        messages["unhappy"] = column(np.where(turn == 2, conversation, np.nan), "float32")
    similar = (np.arange(conversations)[:, None] + np.arange(1, 6)) % conversations
    rows = {
        "x": column(np.cos(topic) + rng.normal(0, 0.05, conversations), "float32"),
        "y": column(np.sin(topic) + rng.normal(0, 0.05, conversations), "float32"),
        "group": column(topic, "int32"),
        "first": column(first, "uint32"),
        "turns": column(np.full(conversations, turns), "uint16"),
        "time": column(when if times else np.full(conversations, np.nan), "float64"),
        "surprise": column(rank.reshape(conversations, turns).mean(1), "float32"),
        "similar": column(similar, "int32"),
        "label:domain": column(topic % 2, "int32"),
        "number:rating": column(np.where(rng.random(conversations) < 0.8, np.minimum(5, 1 + topic), np.nan), "float32"),
    }
    _write(folder, "messages", messages)
    _write(folder, "struck", struck or {})
    _write(folder, "conversations", rows)
    summary = _summary(fine, topic, topics, n, texts_per_file, surprise)
    summary |= {"findings": findings or [], "wider": 1.5, "deviations": {"rating": 0.5}, "notice": notice}
    summary["times"] = {"first": float(when[0]), "last": float(when[-1])} if times else {"first": None, "last": None}
    _write(folder, "summary", summary)
    return folder


def column(values: np.ndarray, kind: str) -> dict[str, str]:
    data = np.asarray(values).astype(np.dtype(kind).newbyteorder("<"))
    return {"type": kind, "data": base64.b64encode(data.tobytes()).decode()}


def _summary(
    fine: np.ndarray, topic: np.ndarray, topics: int, n: int, texts_per_file: int, surprise: bool
) -> dict[str, Any]:
    coarse = np.where(fine < 0, -1, (fine - topics) // 3)
    groups = [_group(g, _TOPICS[g % 10], None, coarse) for g in range(topics)]
    groups += [
        _group(g, f"{_ACTS[(g - topics) % 3]} {_TOPICS[(g - topics) // 3 % 10]}", (g - topics) // 3, fine)
        | {"role": ("user", "assistant", "user")[(g - topics) % 3], "answer": g % n, "move": g % 9 == 8}
        for g in range(topics, 4 * topics)
    ]
    requests = [group for group in groups if group["level"] == 1 and group["role"] == "user" and not group["move"]]
    for place, group in enumerate(requests[1:], 1):  # each is joined with the first, the last of them first
        group.update(joins=requests[0]["id"], joined_at=place)
    requests[0]["mixed"] = True
    return {
        "format": 1,
        "title": "synthetic conversations",
        "made": "2025-01-02T03:04:05+00:00",
        "turnlens": "0.2.0",
        "encoder": "an-encoder",
        "counts": {"messages": n, "conversations": len(topic), "speakers": 2},
        "roles": ["user", "assistant"],
        "asker": "user",
        "texts_per_file": texts_per_file,
        "labels": {
            "conversation": {"domain": ["shop", "desk"]},
            "message": {"intent": [f"intent-{g}" for g in range(topics)]},
        },
        "categories": ["domain", *(["intent"] if 2 <= topics <= 20 else [])],  # of at most 20 values
        "numbers": {"rating": "rating"},
        "groups": {
            "message": groups,
            "conversation": [_group(g, f"about {_TOPICS[g % 10]}", None, topic) for g in range(topics)],
        },
        "surprise": surprise,
        "search": {"meaning": False},
    }


def _group(number: int, name: str, parent: int | None, codes: np.ndarray) -> dict[str, Any]:
    members = np.flatnonzero(codes == number)
    return {
        "id": number,
        "name": name,
        "phrases": name.split(),
        "parent": parent,
        "level": 0 if parent is None else 1,
        "size": len(members),
        "share": len(members) / len(codes),
        "central": members[:10].tolist(),
        "edge": members[-10:].tolist(),
        "new": number == 1,
        "renamed": False,
        "role": None,
        "opening": False,
        "answer": None,
        "move": False,
        "aside": None,
        "joins": None,
        "joined_at": 0,
        "mixed": False,
    }


def _write(folder: Path, name: str, value: Any) -> None:
    (folder / "data").mkdir(parents=True, exist_ok=True)
    script = f"turnlens.put({json.dumps(name)}, {json.dumps(value)});\n"
    (folder / "data" / f"{name}.js").write_text(script, encoding="ascii")
