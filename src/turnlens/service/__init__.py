"""Embeddings, search and next replies over HTTP, with the schemas that OpenAI's, Cohere's and Jina's clients expect."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from turnlens._utils.registries import require

if TYPE_CHECKING:
    from turnlens.service.app import create_app
    from turnlens.service.settings import ServiceSettings

__all__ = ["ServiceSettings", "create_app"]
_MODULES = {"create_app": "turnlens.service.app", "ServiceSettings": "turnlens.service.settings"}
_NEEDED = ("fastapi", "uvicorn", "pydantic_settings", "prometheus_client", "fastapi_swagger")


def __getattr__(name: str) -> Any:
    """Import a public name on first use, after checking that the packages it needs are installed."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for module in _NEEDED:
        require(module, "service")
    return getattr(import_module(_MODULES[name]), name)
