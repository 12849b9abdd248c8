"""Shards of a corpus: the unit that is embedded, written and, after a kill, found again by its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any

from turnlens.data.conversation_reader import SkippedRows
from turnlens.data.read_options import ReadingOptions
from turnlens.scale.inputs import InputFile

# As many as in a part of a run with one output file, so that both give the same vectors to the last bit: the other
# texts in a forward pass change the last digits of a vector.
CONVERSATIONS_IN_SHARD = 200


@dataclass(frozen=True)
class Shard:
    """Some conversations of one file.

    Attributes:
        file: The number of its file among the inputs.
        number: The number of the shard in its file.
        digest: A hash of its conversations and of what their vectors depend on.
        conversations: The number of its conversations.
        rows: How many vectors they get.
        content: The conversations as JSON; none once it is embedded.
        skipped: In the last shard of a file, the rows that were left out when the file was read, as JSON.
    """

    file: int
    number: int
    digest: str
    conversations: int
    rows: int
    content: bytes
    skipped: str = ""

    @property
    def name(self) -> str:
        """The name of the shard's part. Sorted by name, parts are in the order of the corpus."""
        return f"part-{self.file:05d}-{self.number:07d}-{self.digest}.parquet"

    @property
    def is_unfinished(self) -> bool:
        """Whether it still has to be embedded."""
        return bool(self.content)

    def done(self) -> Shard:
        """The shard without the content that is needed to embed it."""
        return replace(self, content=b"")

    def rows_to_embed(self) -> list[dict[str, Any]]:
        """Its conversations."""
        return [
            {"id": name, "messages": [{"role": role, "content": text} for role, text in messages]}
            for name, messages in json.loads(self.content)
        ]


def digest_of(name: str) -> str:
    """The digest in the name of a part."""
    return name.removesuffix(".parquet").rpartition("-")[2]


def read_shards(
    file: InputFile, options: ReadingOptions, settings: Mapping[str, Any], size: int = CONVERSATIONS_IN_SHARD
) -> Iterator[Shard]:
    """The shards of one file. There is at least one, which is empty if everything in the file was left out.

    Args:
        file: The file.
        options: How it is read.
        settings: What the vectors depend on; ``level`` says whether each message or each conversation gets one.
        size: Conversations in a shard.
    """
    skipped = SkippedRows(options.on_error)
    salt = json.dumps(dict(settings), sort_keys=True).encode()
    shard = Shard(file.number, 0, "", 0, 0, b"")
    conversations = file.rows(options, skipped)
    for number in count():
        rows = list(islice(conversations, size))
        if not rows:
            break
        if number:
            yield shard
        said = [[row["id"], [[m["role"], m["content"]] for m in row["messages"]]] for row in rows]
        content = json.dumps(said, ensure_ascii=False).encode()
        digest = hashlib.blake2b(salt + content, digest_size=10).hexdigest()
        vectors = len(rows) if settings["level"] == "conversation" else sum(len(row["messages"]) for row in rows)
        shard = Shard(file.number, number, digest, len(rows), vectors, content)
    yield replace(shard, skipped=skipped.to_json())
