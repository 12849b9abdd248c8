"""Settings that a method refuses, each with the text of its error."""

from dataclasses import fields
from functools import partial
from typing import Any

import pytest

from turnlens._utils.registries import SETTINGS
from turnlens.training.losses import ComposedSettings
from turnlens.training.recipes import get_recipe

# Method -> settings, and a part of the message.
REFUSED: dict[str, list[tuple[dict[str, Any], str]]] = {
    "complete": [({"held_out": 0.0}, "held_out"), ({"held_out": 0.6}, "held_out"), ({"adaptation": {}}, "adaptation")],
    "reply-head": [
        ({"batch_size": 1}, "batch_size"),
        ({"held_out": 1.0}, "held_out"),
        ({"weight_decay": -0.1}, "weight_decay"),
        ({"recency_learning_rate": 0.0}, "recency_learning_rate"),
        ({"interpolation": 0.0}, "interpolation"),
    ],
    "in-context": [
        ({"sample": 1}, "sample"),
        ({"batch_size": 1}, "batch_size"),
        ({"temperature": 0.0}, "temperature"),
        ({"context": "after"}, "context"),
    ],
    "dialogue-cse": [
        ({"temprature": 0.1}, "no setting 'temprature' (did you mean 'temperature'?): leave it out"),
        ({"adaptation": {"epoch": 1}}, "adaptation has no setting 'epoch'"),
        ({"learning_rate": 0}, "learning_rate must be a positive number"),
        ({"learning_rate": "fast"}, "learning_rate must be a number, got 'fast'"),
        ({"learning_rate": float("inf")}, "learning_rate must be a positive number"),
        ({"learning_rate": True}, "learning_rate must be a number"),
        ({"bf16": "False"}, "bf16 must be true or false or 'forced', got 'False'"),
        ({"frozen_layers": 1.5}, "frozen_layers must be a whole number"),
        ({"aggregation": "sum"}, "aggregation must be 'mean' or 'attention', got 'sum'"),
        ({"adaptation": True}, "adaptation must be"),
        ({"seed": -1}, "seed must be"),
        ({"max_steps": 1.5}, "max_steps must be a whole number"),
        ({"batch_size": 1}, "batch_size must be at least 2"),
        ({"min_turns": 1}, "min_turns must be at least 2"),
        ({"frozen_layers": -1}, "frozen_layers"),
        ({"negatives": "some"}, "negatives must be 'batch'"),
        ({"negatives": 0}, "negatives"),
        ({"context_turns": 0}, "context_turns"),
        ({"temperature": 0.0}, "temperature"),
        ({"adaptation": {"mask_probability": 1.0}}, "mask_probability"),
        ({"adaptation": {"max_predictions": 0}}, "max_predictions"),
    ],
    "ccl": [
        ({"window": 1}, "window must be at least 2 utterances, got 1"),
        ({"negatives": "some"}, "negatives must be"),
        ({"negatives": 0}, "negatives must be"),
        ({"token_learning_rate": 0}, "token_learning_rate must be a positive number"),
        ({"weight_decay": -1}, "weight_decay must be"),
    ],
    "c3l": [
        ({"window": 2}, "window must be at least 3 utterances"),
        ({"positives": "both"}, "'triple' or 'bi', got 'both'"),
        ({"negatives": "all"}, "negatives must be"),
        ({"nli_pairs": 0}, "nli_pairs must be a positive number"),
    ],
    "adaptation": [({"steps": 2}, "adaptation has no setting 'steps'")],
    "dial2vec": [({"window": -1}, "window"), ({"temperature": 0.0}, "temperature")],
    "siamese": [({"context": "both"}, "'single' or 'multi'")],
    "single-vector": [
        ({"context": "multi"}, "'joined' or 'averaged', got 'multi'"),
        ({"temperature": 0}, "temperature must be a positive number"),
        ({"negatives": 0}, "negatives must be 'batch'"),
        ({"context_turns": 0}, "context_turns must be a positive number"),
    ],
}


def refusal(make: Any, settings: dict[str, Any]) -> str:
    with pytest.raises(ValueError) as raised:
        make(settings)
    return str(raised.value)


def _recipe(method: str, settings: dict[str, Any]) -> Any:
    return get_recipe(method, settings=settings)


def test_settings_out_of_range_are_refused() -> None:
    refused = {
        (method, repr(settings)): (message, refusal(partial(_recipe, method), settings))
        for method, cases in REFUSED.items()
        for settings, message in cases
    }
    assert {case: texts for case, texts in refused.items() if texts[0] not in texts[1]} == {}


def test_names_that_are_told_early_are_those_of_recipes() -> None:
    for method, names in SETTINGS.items():
        assert set(names) == {field.name for field in fields(get_recipe(method))}, method


def test_settings_of_the_reply_heads_loss() -> None:
    for settings in ({"context_turns": 0}, {"temperature": 0.0}, {"negatives": 0}):
        assert next(iter(settings)) in refusal(lambda some: ComposedSettings(**some), settings)
