from __future__ import annotations

import math

from turnlens._utils.strict_json import strict_json


def test_numbers_that_json_does_not_know_become_null_and_are_counted() -> None:
    assert strict_json({"a": [1.5, "é"]}) == ('{"a": [1.5, "é"]}', 0)
    value = {"a": math.nan, "b": [{"c": math.inf}, -math.inf, 2], "d": ("NaN", True)}
    assert strict_json(value) == ('{"a": null, "b": [{"c": null}, null, 2], "d": ["NaN", true]}', 3)
