"""The common part of the routes: the model behind its queue, the stores, the limits and the metrics."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, TypeVar

from fastapi import Depends, FastAPI, Request

from turnlens._utils.vectors import FloatArray
from turnlens.data.messages import Message, Messages
from turnlens.service.refusals import Refusal
from turnlens.service.request_metrics import Metrics
from turnlens.service.served_model import LONGEST_TEXT, ServedModel
from turnlens.service.settings import ServiceSettings
from turnlens.service.stores import Stores, encoder_of
from turnlens.service.threads import BoundedThreads, stop_within
from turnlens.service.worker import PIECES, SHORT, ModelWorker, TokenRow
from turnlens.store.open_arguments import store_encoder

_CHARACTERS_PER_TOKEN = 4  # of usual texts
_SECONDS_TO_STOP = 1  # for calls that have begun; all others are dropped
_LOGGER = logging.getLogger("turnlens.service")
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
        self.stores = Stores(settings.stores, settings.max_requests, settings.max_seconds)
        self._tokenizing = BoundedThreads("tokenizer", 1, settings.max_requests, settings.max_seconds)
        self._json = BoundedThreads("json", 1, settings.max_requests, settings.max_seconds)
        self.metrics.watch(
            "turnlens_tokens_waiting", "Tokens waiting for the model", lambda: self.worker.tokens_waiting
        )
        self.metrics.watch("turnlens_model_busy_seconds", "Age of the current batch", lambda: self.worker.busy_seconds)

    def _load(self) -> ServedModel:
        settings = self.settings
        try:
            name = settings.model
            if name is None and settings.stores:
                name = encoder_of(next(iter(settings.stores.values())))
            embedder = store_encoder(name, "messages")
            model = ServedModel(embedder, settings.model_name, settings.batch_tokens)
            self.stores.open(embedder)
        except Exception as error:
            _LOGGER.error("this cannot be served: %s", error)
            raise
        _LOGGER.info("serving %s", model.name)
        return model

    @asynccontextmanager
    async def running(self, app: FastAPI) -> AsyncIterator[None]:
        """The lifespan of the application: loading starts at its beginning, and waiting work is finished at its end."""
        self.worker.start()
        yield
        await asyncio.to_thread(self._stop)

    def _stop(self) -> None:
        stop_within(_SECONDS_TO_STOP, (self._json.stop, self._tokenizing.stop, self.stores.stop, self.worker.stop))

    @property
    def model(self) -> ServedModel:
        """The model.

        Raises:
            Refusal: It is not loaded (503), or its queue is full (429).
        """
        self.worker.check_room()
        return self.worker.loaded.result()

    def check_model(self, name: str | None) -> ServedModel:
        """The model, if a request asks for it by name or names no model.

        Raises:
            Refusal: The request names another model (404); or as for `model`.
        """
        model = self.model
        if name is not None and name not in model.names:
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

    async def in_thread(self, call: Callable[[], _Result], is_long: bool) -> _Result:
        """Read or write JSON without blocking other requests: short at once, long one by one in a thread."""
        return await self._json.run(call) if is_long else call()

    async def _tokenize(self, texts: Sequence[str], param: str) -> tuple[list[str], list[TokenRow]]:
        """The part of each text that the model reads, and its tokens."""
        model, most = self.model, self.settings.max_tokens
        is_long = sum(map(len, texts)) > _CHARACTERS_PER_TOKEN * SHORT or len(texts) > SHORT
        if is_long:
            self.worker.check_room(is_long)

        def tokenize() -> tuple[list[str], list[TokenRow]]:
            starts = model.starts(texts, param, most)
            return starts, model.tokenize(starts, param, most)

        return await self._tokenizing.run(tokenize, is_long)

    async def check_length(self, texts: Sequence[str], param: str) -> None:
        """Raise `Refusal` (413) if a text is so long that even reading its start would take long."""
        long = [text for text in texts if len(text) > LONGEST_TEXT]
        if long:
            model, most = self.model, self.settings.max_tokens
            await self._tokenizing.run(lambda: model.starts(long, param, most), is_long=True)

    async def embed_texts(self, texts: Sequence[str], param: str) -> tuple[FloatArray, int]:
        """The vectors of texts (texts, dim), and the number of tokens they had.

        Raises:
            Refusal: There are too many texts or tokens (413), or as for `ModelWorker.embed`.
        """
        self.check_count(len(texts), param)
        _, rows = await self._tokenize(texts, param)
        return await self.embed_rows(rows, param)

    async def embed_rows(self, rows: Sequence[TokenRow], param: str) -> tuple[FloatArray, int]:
        """The vectors of token rows (rows, dim), and the number of tokens they had. Refuses as `embed_texts` does."""
        self.check_count(len(rows), param)
        tokens = sum(map(len, rows))
        self._check_tokens(tokens, param)
        return await self.worker.embed(rows), tokens

    async def read_texts(self, texts: Sequence[str], param: str) -> tuple[list[str], list[int]]:
        """The part of each text that the model reads, and its number of tokens. Refuses as `embed_texts` does."""
        starts, rows = await self._tokenize(texts, param)
        counts = list(map(len, rows))
        self._check_tokens(sum(counts), param)
        return starts, counts

    async def read_messages(self, conversation: Messages, param: str) -> list[Message]:
        """A conversation whose texts are cut to what the model reads. Refuses as `embed_texts` does."""
        starts, _ = await self.read_texts([message["content"] for message in conversation], param)
        return with_contents(conversation, starts)

    async def in_parts(
        self,
        call: Callable[[list[_Item]], _Result],
        items: Sequence[_Item],
        tokens: Sequence[int],
        admitted: bool = False,
    ) -> list[_Result]:
        """Make calls in the thread of the model, each with a part of the items, so that other requests get their turn.

        Args:
            call: The function to call with some of the items.
            items: The items, one or more.
            tokens: About how many tokens each item embeds.
            admitted: Whether the request has been admitted before.

        Raises:
            Refusal: The queue is full (429). Once the first part is admitted, so are all others.
        """
        results = []
        for number, (part, cost) in enumerate(_parts(items, tokens, self.model.batch_tokens // PIECES)):
            results.append(await self.worker.call(partial(call, part), cost, admitted=admitted or number > 0))
        return results


def _parts(items: Sequence[_Item], tokens: Sequence[int], limit: int) -> Iterator[tuple[list[_Item], int]]:
    """Cut items into runs of at most ``limit`` tokens, but at least one item; each comes with its number of tokens."""
    part: list[_Item] = []
    cost = 0
    for item, own in zip(items, tokens):
        if part and cost + own > limit:
            yield part, cost
            part, cost = [], 0
        part.append(item)
        cost += own
    yield part, cost


def with_contents(messages: Messages, contents: Iterable[str]) -> list[Message]:
    """The messages with their texts replaced."""
    return [{**message, "content": content} for message, content in zip(messages, contents)]


def service_of(request: Request) -> Service:
    """The service that a request was sent to."""
    return request.app.state.service


ServiceOf = Annotated[Service, Depends(service_of)]
