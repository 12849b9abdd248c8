"""The job as every process of it knows it: how to read, how to embed and where to write. It needs no torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from turnlens.data.read_options import ReadingOptions
from turnlens.scale.inputs import InputFile
from turnlens.scale.output import CONVERSATIONS_IN_SHARD, PartFolder, Shard, part_of, read_shards

if TYPE_CHECKING:
    from turnlens.encoders.encoder import Half


_LEVELS = ("message", "message-with-history", "message-in-context", "conversation")


@dataclass(frozen=True)
class Embedding:
    """Settings of an embedding run.

    Args:
        model: A folder that every process sees, or a Hub name; ``None`` is the default encoder.
        level: ``"message"``, ``"message-with-history"``, ``"message-in-context"`` or ``"conversation"``.
        pooling: How whole conversations are pooled.
        dtype: ``"bfloat16"`` or ``"float16"`` to compute in half precision.

    Raises:
        ValueError: The level is unknown.
    """

    model: str | None = None
    level: str = "message"
    pooling: str = "mean"
    dtype: Half | None = None

    def __post_init__(self) -> None:
        if self.level not in _LEVELS:
            raise ValueError(f"level is {self.level!r}; expected one of {', '.join(_LEVELS)}")

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that the vectors depend on besides the encoder."""
        precision = {} if self.dtype is None else {"dtype": self.dtype}
        return {"level": self.level, "pooling": self.pooling, **precision}


@dataclass(frozen=True)
class Job:
    """Embedding a corpus.

    Attributes:
        output: Where the parts go.
        embedding: How conversations are embedded.
        settings: What the vectors depend on, as `Embedder` gives it.
        options: How files are read.
        shard_size: Conversations in a shard.
    """

    output: PartFolder
    embedding: Embedding
    settings: Mapping[str, Any]
    options: ReadingOptions
    shard_size: int = CONVERSATIONS_IN_SHARD

    def shards(self, file: InputFile, parts: Mapping[str, Sequence[str]]) -> Iterator[Shard]:
        """The shards of a file. Those whose digest is among ``parts`` have nothing left to do."""
        for shard in read_shards(file, self.options, self.settings, self.shard_size):
            name = part_of(shard, parts)
            yield shard.done() if name and self.output.holds(name, shard.rows) else shard
