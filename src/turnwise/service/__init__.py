"""Embeddings, search and next replies over HTTP, with the schemas that OpenAI's, Cohere's and Jina's clients expect."""

from turnwise._utils.optional import require

for _module in ("fastapi", "uvicorn", "pydantic_settings", "prometheus_client"):
    require(_module, "service")

from turnwise.service.app import create_app  # noqa: E402  # after what it needs was found
from turnwise.service.settings import ServiceSettings  # noqa: E402

__all__ = ["ServiceSettings", "create_app"]
