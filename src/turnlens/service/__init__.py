"""Embeddings, search and next replies over HTTP, with the schemas that OpenAI's, Cohere's and Jina's clients expect."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnlens.service.app import create_app
    from turnlens.service.settings import ServiceSettings

__all__ = ["ServiceSettings", "create_app"]
_MODULES = {"create_app": "turnlens.service.app", "ServiceSettings": "turnlens.service.settings"}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
