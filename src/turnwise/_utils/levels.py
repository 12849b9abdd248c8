"""What an encoder, a recipe, a task or a baseline is about: utterances, whole dialogues, or the order of turns."""

from __future__ import annotations

from typing import Literal

LevelName = Literal["utterance", "dialogue", "turn-order"]
