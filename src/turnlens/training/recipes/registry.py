"""The settings of each method as frozen dataclasses, by name and from TOML files."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from typing import Any

from turnlens._utils.files import existing_file
from turnlens._utils.registries import METHODS, PUBLISHED, check_method
from turnlens.training.recipes.base import Recipe
from turnlens.training.recipes.settings import replace_settings

_PAPER = "paper"


def get_recipe(method: str, *, settings: Mapping[str, Any] | None = None, preset: str | None = None) -> Recipe:
    """The recipe of a method, with some settings changed.

    Args:
        method: A name in ``METHODS``.
        settings: Settings to change; those of a step, such as ``adaptation``, may themselves be a mapping.
        preset: ``"paper"`` for the settings of the method's paper; by default our own.

    Raises:
        ValueError: An unknown method, preset or setting, a value out of range, or the recipe of an extension that is
            no dataclass.
    """
    method = check_method(method)
    if preset is not None and (preset != _PAPER or method not in PUBLISHED):
        raise ValueError(f"{method} has no preset {preset!r}: there is {_PAPER!r}, of {', '.join(PUBLISHED)}")
    kind: type[Recipe] = (METHODS if preset is None else PUBLISHED)[method]
    if "__dataclass_params__" not in vars(kind):  # silently, its defaults would be those of the class it extends
        raise ValueError(
            f"the recipe of {method} is no dataclass: put @dataclass(frozen=True) before {kind.__qualname__}"
        )
    recipe = kind()
    return replace_settings(recipe, recipe.parsed(settings or {}), method)


def read_recipe(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any], str | None]:
    """Read a recipe file: TOML with ``method = "…"``, settings of that method, and perhaps a table ``[adaptation]``.

    A line ``preset = "paper"`` starts from the settings of the paper.

    Returns:
        The method, the settings and the preset, for `get_recipe`.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is not TOML, or names no method.
    """
    path = existing_file(path, "a recipe, a TOML file with a line method = …")
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a TOML recipe: {error}") from error
    method = settings.pop("method", None)
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"{path}: expected a line method = one of {', '.join(map(repr, METHODS))}, got {method!r}")
    return method, settings, settings.pop("preset", None)
