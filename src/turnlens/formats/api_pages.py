"""Pages of an API: one JSON object whose records are a list in it, beside counts and links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlens.formats.file_head import object_head
from turnlens.formats.format import Head
from turnlens.formats.source_file import Source

# Where pages keep their records, whatever these are; and where they keep those of products that are known. A dot leads
# into an object.
_PAGES = ("data", "results", "_results", "value", "items", "records", "payload", "rows", "tickets", "chats", "threads")
_KNOWN_PAGES = (*_PAGES, "messages", "conversations", "events", "chats.list", "_embedded.conversations")


def page_records(source: Source, page: str) -> Iterator[tuple[int, Any]]:
    """The records of a page."""
    path = tuple(page.split("."))
    found = (value for _, (keys, value) in source.json_members(len(path) + 1) if keys == path)
    yield from enumerate(found, start=1)


def pages_in(head: Head) -> Iterator[tuple[str, frozenset[str]]]:
    """Where the first object of a file may keep records, with the keys of the first one; none if they are not known."""
    for page in _KNOWN_PAGES:
        outer, _, inner = page.partition(".")
        if inner in head.inner.get(outer, ()) if inner else outer in head.inner:
            yield page, frozenset() if inner else head.inner[outer]


def any_records(source: Source, besides: str = "") -> Iterator[tuple[int, Any]]:
    """The records of a file or, where it is a page, those in it; ``besides`` is a name under which there are none."""
    if source.ending == ".json":
        inner = object_head(source)[0].inner
        page = next((page for page in _PAGES if page in inner and page != besides), "")
        rows = page_records(source, page) if page else iter(())
        first = next(rows, None)  # none where an object, not a list, has this name
        if first is not None:
            yield first
            yield from rows
            return
    yield from source.records()
