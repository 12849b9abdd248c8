from __future__ import annotations

from turnlens.papers.experiments.method import Stage
from turnlens.papers.experiments.models import resolve_stage, settings_it_has


def test_of_the_settings_of_every_training_a_head_gets_those_it_has() -> None:
    everywhere = {"bf16": "forced", "max_steps": 3}
    head, encoder = Stage("reply-head"), Stage("dialogue-cse")
    assert settings_it_has(head, everywhere) == {"max_steps": 3}
    assert settings_it_has(encoder, everywhere) == settings_it_has(Stage("adapt"), everywhere) == everywhere
    assert resolve_stage(head, **settings_it_has(head, everywhere)).settings.max_steps == 3
