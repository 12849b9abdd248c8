"""Options that several commands share, declared once as the fields of a dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any, get_type_hints

Command = Callable[..., None]


def takes(group: type, name: str) -> Callable[[Command], Command]:
    """A decorator that gives a command an option for each field of ``group``; the command takes one as ``name``."""
    return lambda command: with_options(group, command, lambda chosen, given: command(**given, **{name: chosen}), name)


def with_options(
    group: type, command: Command, call: Callable[[Any, dict[str, Any]], None], instead_of: str | None = None
) -> Command:
    """A command that has the options of another, and one for each field of ``group``.

    Args:
        group: A dataclass whose fields are annotated as options.
        command: The other command.
        call: Called with an instance of the group and the other options.
        instead_of: The parameter of the other command that the group replaces.
    """
    hints = get_type_hints(group, include_extras=True)
    added = [_parameter(field.name, hints[field.name], field.default) for field in fields(group)]
    own = inspect.signature(command, eval_str=True).parameters.values()
    kept = [
        _parameter(parameter.name, parameter.annotation, parameter.default)
        for parameter in own
        if parameter.name != instead_of
    ]

    @wraps(command)
    def with_more(**given: Any) -> None:
        chosen = {option.name: given.pop(option.name) for option in added}
        call(group(**chosen), given)

    # typer reads this signature
    signature = inspect.Signature([*kept, *added])
    with_more.__signature__ = signature  # type: ignore[attr-defined]
    with_more.__annotations__ = {parameter.name: parameter.annotation for parameter in signature.parameters.values()}
    return with_more


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
