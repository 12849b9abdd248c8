"""The settings of the service, given in code or by flags, or else read from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


class ServiceSettings(BaseSettings):
    """The settings of the service: models, keys and limits. Each setting is also read from ``TURNLENS_<NAME>``.

    Attributes:
        model: The encoder, a folder or a Hub name; by default that of the stores, or else the default encoder.
        model_name: What clients call it; by default its Hub name or the name of its folder.
        stores: Folders of conversation stores, by the names that clients and keys use.
        keys: The file of API keys, see `turnlens.service.keys`. Without it, only this machine is served.
        max_body_bytes: The greatest length of a request's body.
        max_values: The most values in the lists and objects of a body.
        max_texts: The most texts, documents or conversations in a request for embeddings, ranking or replies.
        max_tokens: The most tokens in such a request.
        max_requests: The most requests that are worked on or waiting at a time.
        max_connections: The most connections of one address at a time.
        max_seconds: The longest time that a search, or another call that changes nothing, may wait for a thread and
            hold it.
        queue_tokens: The most tokens that may wait for the model; further requests are refused.
        batch_tokens: How many tokens go through the model at a time; by default what suits the device.
        batch_wait_ms: How long an idle model waits for further requests to join the first, in milliseconds.
        log_paths: Also log the paths of requests, which contain ids of conversations.

    Examples:
        >>> from turnlens.service import ServiceSettings
        >>> ServiceSettings(stores={"talks": "talks"}, max_texts=100).max_texts
        100
    """

    model_config = SettingsConfigDict(env_prefix="TURNLENS_", extra="forbid", frozen=True, protected_namespaces=())

    model: str | None = None
    model_name: str | None = None
    stores: dict[str, str | Path] = Field(default_factory=dict)
    keys: Path | None = None
    max_body_bytes: PositiveInt = 8 * 2**20
    max_values: PositiveInt = 250_000
    max_texts: PositiveInt = 2048
    max_tokens: PositiveInt = 65_536
    max_requests: PositiveInt = 256
    max_connections: PositiveInt = 256
    max_seconds: PositiveFloat = 60.0
    queue_tokens: PositiveInt = 65_536
    batch_tokens: PositiveInt | None = None
    batch_wait_ms: PositiveFloat = 2.0
    log_paths: bool = False

    @model_validator(mode="after")
    def _queue_holds_one_request(self) -> Self:
        if self.queue_tokens < self.max_tokens:
            raise ValueError(
                f"queue_tokens must be at least max_tokens, or the longest requests would never be served; "
                f"got {self.queue_tokens} and {self.max_tokens}"
            )
        return self
