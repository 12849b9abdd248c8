"""Counts the values and the depth of a body before anything parses it, in time that is linear in its length."""

from __future__ import annotations

import numpy as np

from turnlens.service.refusals import Refusal

DEEPEST = 100  # lists and objects within each other; parsers give up at about 200
_PIECE = 65_536  # bytes; other threads run between pieces
_MARKS = b",[{]}"
_OTHERS = bytes(set(range(256)) - set(_MARKS))
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1


def check_json(body: bytes, most: int) -> None:
    """Refuse a body with too many values in its lists and objects, or with too many of them within each other.

    What is no JSON is counted in the same way, as far as a parser would read it.

    Args:
        body: The body, in UTF-8.
        most: The most values.

    Raises:
        Refusal: It has more values, or is deeper than `DEEPEST` (413).
    """
    count, depth, in_text, start = 0, 0, False, 0
    while start < len(body):
        piece = body[start : start + _PIECE]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:  # what follows is escaped
            piece = body[start : start + _PIECE + 1]
        start += len(piece)
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        marks = b"".join(parts[in_text::2]).translate(None, _OTHERS)
        in_text ^= len(parts) % 2 == 0
        count += len(marks) - marks.count(b"]") - marks.count(b"}")
        if count > most:
            raise Refusal(413, f"a request may have {most:,} values in its lists and objects: send less at a time")
        if marks:
            depths = depth + np.cumsum(_STEPS[np.frombuffer(marks, np.uint8)])
            if depths.max() > DEEPEST:
                raise Refusal(413, f"a request may have lists and objects {DEEPEST} deep within each other")
            depth = int(depths[-1])
