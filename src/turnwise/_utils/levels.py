"""The level that an encoder, a recipe, a task or a baseline works on: utterances, dialogues, or the order of turns."""

from __future__ import annotations

from typing import Literal

LevelName = Literal["utterance", "dialogue", "turn-order"]
