"""What the routes share: the model behind its queue, the stores, limits, measures."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, TypeVar

from fastapi import Depends, FastAPI, Request

from turnwise._utils.vectors import FloatArray
from turnwise.encoders.loading import load_encoder
from turnwise.service.batching import TokenRow
from turnwise.service.errors import Refusal
from turnwise.service.metrics import Metrics
from turnwise.service.model import ServedModel
from turnwise.service.settings import ServiceSettings
from turnwise.service.stores import Stores, encoder_of
from turnwise.service.threads import BoundedThreads
from turnwise.service.worker import ModelWorker

_LOGGER = logging.getLogger("turnwise.service")
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Service:
    """One application's model, stores and threads.

    Args:
        settings: Its settings.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.worker = ModelWorker(self._load, settings.queue_tokens, settings.batch_wait_ms / 1000)
        self.stores = Stores(settings.stores, settings.max_requests)
        self._tokenizing = BoundedThreads("tokenizer", 1, settings.max_requests)
        self.metrics.watch(
            "turnwise_tokens_waiting", "Tokens waiting for the model", lambda: self.worker.tokens_waiting
        )
        self.metrics.watch("turnwise_model_busy_seconds", "Age of the current batch", lambda: self.worker.busy_seconds)

    def _load(self) -> ServedModel:
        settings = self.settings
        try:
            name = settings.model
            if name is None and settings.stores:
                name = encoder_of(next(iter(settings.stores.values())))
            model = ServedModel(load_encoder(name), settings.model_name, settings.batch_tokens)
            self.stores.open(lambda: model.behind(self.worker.run))
        except Exception as error:
            _LOGGER.error("the model could not be loaded: %s", error)
            raise
        _LOGGER.info("serving %s", model.name)
        return model

    @asynccontextmanager
    async def running(self, app: FastAPI) -> AsyncIterator[None]:
        """The lifespan of the application: loading begins with it, and what waits is finished at its end."""
        self.worker.start()
        yield
        await asyncio.to_thread(self._stop)

    def _stop(self) -> None:
        self._tokenizing.stop()
        self.stores.stop()
        self.worker.stop()

    @property
    def model(self) -> ServedModel:
        """The model.

        Raises:
            Refusal: It is not loaded (503), or what would need it would be refused (429).
        """
        self.worker.check_room()
        return self.worker.loaded.result()

    def check_model(self, name: str | None) -> ServedModel:
        """The model, if a request asks for it or for none.

        Raises:
            Refusal: It asks for another (404); or as `model`.
        """
        model = self.model
        if name not in (None, model.name):
            raise Refusal(404, f"the model {name!r} is not served here, only {model.name!r}", "model")
        return model

    def check_count(self, count: int, param: str) -> None:
        """Raise `Refusal` (413) if a request has too many texts."""
        if count > self.settings.max_texts:
            raise Refusal(413, f"{param}: a request may have {self.settings.max_texts:,}, got {count:,}", param)

    def _check_tokens(self, tokens: int, param: str) -> None:
        if tokens > self.settings.max_tokens:
            limit = self.settings.max_tokens
            raise Refusal(413, f"{param}: a request may have {limit:,} tokens, got {tokens:,}", param)
        self.metrics.tokens.inc(tokens)

    async def embed_texts(self, texts: Sequence[str], param: str) -> tuple[FloatArray, int]:
        """The vectors of texts (texts, dim), and how many tokens they had.

        Raises:
            Refusal: Too many texts or tokens (413), or as `ModelWorker.embed`.
        """
        self.check_count(len(texts), param)
        model = self.model
        return await self.embed_rows(await self._tokenizing.run(lambda: model.tokenize(texts)), param)

    async def embed_rows(self, rows: Sequence[TokenRow], param: str) -> tuple[FloatArray, int]:
        """The vectors of token rows (rows, dim), and how many tokens they had; refuses as `embed_texts`."""
        self.check_count(len(rows), param)
        tokens = sum(map(len, rows))
        self._check_tokens(tokens, param)
        return await self.worker.embed(rows), tokens

    async def count_tokens(self, texts: Sequence[str], param: str) -> list[int]:
        """The tokens of each text, in all no more than a request may have; refuses as `embed_texts`."""
        model = self.model
        counts = [len(row) for row in await self._tokenizing.run(lambda: model.tokenize(texts))]
        self._check_tokens(sum(counts), param)
        return counts

    async def in_parts(
        self, call: Callable[[list[_Item]], _Result], items: Sequence[_Item], tokens: Sequence[int]
    ) -> list[_Result]:
        """Call something in the thread of the model with a part of the items at a time, so that others get their turn.

        Args:
            call: What to do with some of the items.
            items: The items, one or more.
            tokens: About how many tokens each item embeds.

        Raises:
            Refusal: The queue is full (429); once the first part is admitted, the others are.
        """
        results = []
        for number, (part, cost) in enumerate(_parts(items, tokens, self.model.batch_tokens)):
            results.append(await self.worker.call(partial(call, part), cost, admitted=number > 0))
        return results


def _parts(items: Sequence[_Item], tokens: Sequence[int], limit: int) -> Iterator[tuple[list[_Item], int]]:
    """Cut items into runs of at most so many tokens (one item at least), each with its tokens."""
    part: list[_Item] = []
    cost = 0
    for item, own in zip(items, tokens):
        if part and cost + own > limit:
            yield part, cost
            part, cost = [], 0
        part.append(item)
        cost += own
    yield part, cost


def service_of(request: Request) -> Service:
    """The service behind a request."""
    return request.app.state.service


ServiceOf = Annotated[Service, Depends(service_of)]
