"""The conversation stores, read by several threads and written by one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from turnlens.errors import ConversationError
from turnlens.service.keys import Key
from turnlens.service.refusals import Refusal
from turnlens.service.threads import BoundedThreads, stop_within

if TYPE_CHECKING:
    from turnlens.report.labelling import Labeller
    from turnlens.store import ConversationStore
    from turnlens.store.store_encoder import StoreEncoder

_LOGGER = logging.getLogger("turnlens.service")
_Result = TypeVar("_Result")
_READERS = 2  # for ordinary searches, and as many for those that take long, which never keep an ordinary one waiting
_SECONDS_TO_WRITE = 3600  # the largest request is embedded within some minutes on two cores


def encoder_of(path: str | Path) -> str | None:
    """The place that the encoder of a store was loaded from; ``None`` where there is no store yet."""
    from turnlens.store import ConversationStore
    from turnlens.store.open_arguments import folder_of
    from turnlens.store.state import state_stamp

    if state_stamp(folder_of(path)) is None:
        return None
    return ConversationStore.open(path, create=False, read_only=True).stats().encoder


@dataclass(frozen=True)
class OpenStore:
    """A store that is opened twice, because adding uses an encoder for long, and searches must not wait for it.

    Attributes:
        reader: For searches.
        writer: For changes.
    """

    reader: ConversationStore
    writer: ConversationStore
    _labellers: dict[int, Labeller] = field(default_factory=dict)  # of the file of groups, by its time of change

    @property
    def knows_groups(self) -> bool:
        """True if messages can be labelled without reading the groups first, which takes long."""
        if not self._labellers:
            return False
        from turnlens.report.labelling import Labeller

        return Labeller.changed(self.reader) in self._labellers

    def labeller(self) -> Labeller:
        """Return the labeller by the store's groups, which is kept until they change.

        Raises:
            ValueError: The store has no groups, or they were found with another encoder.
        """
        from turnlens.report.labelling import Labeller

        self.reader.encoder()  # refuses vectors of another encoder than the store's of today
        changed = Labeller.changed(self.reader)
        labeller = self._labellers.get(changed)
        if labeller is None:
            labeller = Labeller.of(self.reader)
            labeller.check(self.reader.tables().state.digest)
            self._labellers.clear()
            self._labellers[changed] = labeller
        return labeller


class Stores:
    """Conversation stores by name.

    Args:
        folders: Their folders; a store that does not exist is created.
        waiting: The most searches, and the most changes, that may wait or run at a time.
        seconds: How long a search may wait and run.
    """

    def __init__(self, folders: Mapping[str, str | Path], waiting: int, seconds: float) -> None:
        self._folders = folders
        self._opened: dict[str, OpenStore] = {}
        self._readers = BoundedThreads("search", _READERS, waiting, seconds)
        self._long_readers = BoundedThreads("long-search", _READERS, waiting, seconds)
        self._writer = BoundedThreads("writer", 1, waiting, _SECONDS_TO_WRITE)

    def open(self, encoder: StoreEncoder) -> None:
        """Open all stores.

        Args:
            encoder: The encoder, which their threads share.

        Raises:
            ValueError: A store has another encoder or is damaged, or a folder holds something other than a store.
        """
        if not self._folders:
            return
        from turnlens.store import ConversationStore

        for name, folder in self._folders.items():
            writer = ConversationStore.open(folder, encoder=encoder)
            writer.check()
            self._opened[name] = OpenStore(ConversationStore.open(folder, encoder=encoder, read_only=True), writer)
            stats = writer.stats()
            size = f"conversations: {stats.conversations:,}, messages: {stats.messages:,}"
            _LOGGER.info("store %s in %s; %s", name, Path(folder).resolve(), size)

    def visible(self, key: Key | None) -> list[str]:
        """The names of the stores that a key may use."""
        return sorted(self._opened if key is None or key.store is None else self._opened.keys() & {key.store})

    def get(self, name: str | None, key: Key | None) -> OpenStore:
        """The store that a request names.

        Args:
            name: The name; it may be left out if there is only one store, or if the key may use only one.
            key: The key of the request.

        Raises:
            Refusal: There is no such store, the key must not use it (404), or the name is missing (422).
        """
        visible = self.visible(key)
        if name is None and len(visible) == 1:
            name = visible[0]
        if not visible:
            raise Refusal(404, "there is no store here: turnlens serve --store FOLDER serves one", "store")
        if name is None:
            raise Refusal(422, f"say which store, as ?store=NAME: one of {', '.join(visible)}", "store")
        if name not in visible:
            raise Refusal(404, f"there is no store {name!r}", "store")
        return self._opened[name]

    async def read(self, call: Callable[[], _Result], is_long: bool = False) -> _Result:
        """Run a search. Mistakes in the request become refusals.

        Args:
            call: The search.
            is_long: It may take long, so it runs in other threads than ordinary searches.

        Raises:
            Refusal: The request is wrong (422), or too much is waiting (429).
        """
        threads = self._long_readers if is_long else self._readers
        return await threads.run(lambda: _refusing(call))

    async def write(self, call: Callable[[], _Result]) -> _Result:
        """Make a change, after all earlier changes. Refuses as `read` does."""
        return await self._writer.run(lambda: _refusing(call))

    def stop(self, seconds: float) -> None:
        """Finish the waiting work within this time."""
        stop_within(seconds, [threads.stop for threads in (self._readers, self._long_readers, self._writer)])


def _refusing(call: Callable[[], _Result]) -> _Result:
    from turnlens.store import FilterError, StoreError, StoreLockedError

    try:
        return call()
    except FilterError as error:
        raise Refusal(422, str(error), "where") from None
    except StoreLockedError:
        raise Refusal(503, "another process is writing to the store", retry_after=5) from None
    except (StoreError, OSError) as error:
        _LOGGER.error("%s", error)
        raise Refusal(503, "the store cannot be used as it is: see the log of the service") from None
    except ConversationError as error:
        raise Refusal(422, str(error), error.where) from None
    except ValueError as error:
        raise Refusal(422, str(error)) from None
