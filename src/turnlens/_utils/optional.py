"""Optional dependencies: imported where they are needed, with one clear error where they are missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def require(module: str, extra: str) -> ModuleType:
    """Import an optional dependency.

    Args:
        module: Name of the module, e.g. ``"gensim"``.
        extra: The extra of turnlens that installs it, e.g. ``"baselines"``.

    Raises:
        ImportError: It is not installed; the message names the extra and the pip command. Or it does not work, such as
            for lack of memory; the message is its own.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ImportError(f"{module} is needed for this: pip install 'turnlens[{extra}]'") from error
