"""The shards of a corpus, and the folder of Parquet parts and manifest that they are written to.

A shard is the unit that is embedded, written and, after a kill, found again by its content.
"""

from __future__ import annotations

import hashlib
import io
import json
import uuid
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from turnlens._utils.files import is_standard, is_url, only_writer
from turnlens.data.conversation_reader import SkippedRows
from turnlens.data.read_options import ReadingOptions
from turnlens.scale.inputs import InputFile

MANIFEST = "_manifest.json"  # readers of Parquet folders skip names that begin with an underscore
_PART = "part-"


def is_folder_name(output: str) -> bool:
    """Say whether the name means a folder of parts, which is a URL or a name without an ending."""
    return is_url(output) or not (is_standard(output) or Path(output).suffix)


@dataclass(frozen=True)
class PartFolder:
    """A folder on any file system that fsspec knows.

    Attributes:
        url: A path or URL.
    """

    url: str

    @property
    def _place(self) -> tuple[AbstractFileSystem, str]:
        system, path = url_to_fs(self.url)
        return system, path.rstrip("/")

    @contextmanager
    def writing(self, settings: Mapping[str, Any], resume: bool, force: bool) -> Iterator[None]:
        """Inside the block, this is the one process on this machine that commits parts here.

        Args:
            settings: What the vectors depend on. JSON values.
            resume: Continue with the parts that are already there.
            force: Remove the parts that are already there.

        Raises:
            BlockingIOError: Another process is writing here.
            FileExistsError: There are parts, and neither flag is given; or the folder holds something else.
            ValueError: The existing parts were made with other settings.
        """
        system, path = self._place
        with only_writer(Path(path)) if isinstance(system, LocalFileSystem) else nullcontext():
            self._prepare(dict(settings), resume, force)
            yield

    def _prepare(self, settings: dict[str, Any], resume: bool, force: bool) -> None:
        system, path = self._place
        before = self.manifest()
        if before is None and system.exists(path) and (not system.isdir(path) or system.ls(path, detail=False)):
            raise FileExistsError(f"{self.url} holds something other than embeddings: choose another name")
        if before is not None and not (resume or force):
            state = "is complete" if before["complete"] else "is unfinished"
            problem = "continue with --resume, which does what was added or is still missing, or start over with "
            "--force"
            raise FileExistsError(f"{self.url} {state}: {problem}")
        if before is not None and not force and before["settings"] != settings:
            former = {key: value for key, value in before["settings"].items() if settings.get(key) != value}
            raise ValueError(f"{self.url} was made with other settings, start over with --force ({former})")
        if before is not None and force:
            self._remove_others(kept=())
        system.makedirs(path, exist_ok=True)
        self._write(MANIFEST, _json({"complete": False, "settings": settings}))

    def manifest(self) -> dict[str, Any] | None:
        """The content of the folder by its manifest; ``None`` if it has no manifest."""
        system, path = self._place
        if not system.isfile(f"{path}/{MANIFEST}"):
            return None
        try:
            manifest: dict[str, Any] = json.loads(system.cat_file(f"{path}/{MANIFEST}"))
            manifest["complete"], manifest["settings"]
        except (ValueError, KeyError) as error:
            raise ValueError(f"{self.url}/{MANIFEST} is damaged: remove it, and the parts with it ({error})") from None
        return manifest

    def parts(self) -> dict[str, list[str]]:
        """The names of the parts that are there, by their digests."""
        parts: dict[str, list[str]] = {}
        for name in sorted(self._listed()):
            if name.startswith(_PART):
                digest = name.removesuffix(".parquet").rpartition("-")[2]
                parts.setdefault(digest, []).append(name)
        return parts

    def _listed(self) -> list[str]:
        system, path = self._place
        system.invalidate_cache()
        return [PurePosixPath(name).name for name in system.ls(path, detail=False)]

    def holds(self, name: str, rows: int) -> bool:
        """Say whether a part exists and is complete."""
        system, path = self._place
        try:
            with system.open(f"{path}/{name}") as file:
                return bool(pq.read_metadata(file).num_rows == rows)
        except (OSError, pa.ArrowException):
            return False

    def write_part(self, shard: Shard, table: pa.Table, settings: Mapping[str, Any]) -> None:
        """Write the vectors of a shard; writing it again gives the same part."""
        packed = io.BytesIO()
        pq.write_table(table.replace_schema_metadata({"turnlens": json.dumps(dict(settings))}), packed)
        self._write(shard.name, packed.getvalue())

    def _write(self, name: str, data: bytes) -> None:
        """Write a file completely or not at all. Object stores do so by themselves; on disks the file is renamed."""
        system, path = self._place
        if not isinstance(system, LocalFileSystem):
            system.pipe_file(f"{path}/{name}", data)
            return
        temporary = Path(path) / f".{name}.{uuid.uuid4().hex}"
        try:
            temporary.write_bytes(data)
            temporary.replace(Path(path) / name)
        finally:
            temporary.unlink(missing_ok=True)

    def commit(self, shards: Iterable[Shard], settings: Mapping[str, Any], files: Sequence[str]) -> int:
        """Make the folder hold exactly these shards, and write the manifest that lists them.

        Args:
            shards: All shards of the corpus, in any order.
            settings: What the vectors depend on.
            files: The inputs.

        Returns:
            The number of rows.

        Raises:
            OSError: A part is missing.
        """
        system, path = self._place
        ordered = sorted((shard for shard in shards if shard.rows), key=lambda shard: (shard.file, shard.number))
        present = self.parts()
        for shard in ordered:
            source = part_of(shard, present)
            if source is None:
                raise FileNotFoundError(f"{self.url}: {shard.name} is gone: run the command again with --resume")
            if source != shard.name:  # its file had another number when it was embedded
                system.cp_file(f"{path}/{source}", f"{path}/{shard.name}")
        rows = sum(shard.rows for shard in ordered)
        parts = [{"name": s.name, "file": s.file, "conversations": s.conversations, "rows": s.rows} for s in ordered]
        manifest = {"complete": True, "settings": dict(settings), "rows": rows, "files": list(files), "parts": parts}
        self._remove_others({shard.name for shard in ordered})
        self._write(MANIFEST, _json(manifest))
        return rows

    def _remove_others(self, kept: Container[str]) -> None:
        """Remove parts that belong to no shard, and files that killed processes left unfinished."""
        system, path = self._place
        for name in self._listed():
            if name.startswith((_PART, f".{_PART}")) and name not in kept:
                system.rm_file(f"{path}/{name}")


def part_of(shard: Shard, parts: Mapping[str, Sequence[str]]) -> str | None:
    """The part with a shard's content, preferably of the shard's own name; ``None`` if there is none."""
    names = parts.get(shard.digest, ())
    return shard.name if shard.name in names else next(iter(names), None)


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, indent=1, ensure_ascii=False).encode()


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

    def done(self) -> Shard:
        """The shard without the content that is needed to embed it."""
        return replace(self, content=b"")

    def rows_to_embed(self) -> list[dict[str, Any]]:
        """Its conversations."""
        return [
            {"id": name, "messages": [{"role": role, "content": text} for role, text in messages]}
            for name, messages in json.loads(self.content)
        ]


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
