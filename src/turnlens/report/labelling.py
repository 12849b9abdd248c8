"""Labelling: the groups of some conversations, applied to the messages of others."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from turnlens._utils.progress import progress_of
from turnlens._utils.vectors import BoolArray, FloatArray, IntArray
from turnlens.data.conversation_source import ConversationSource
from turnlens.data.conversations import ConversationInput
from turnlens.data.messages import plain_messages_in
from turnlens.encoders.history import add_history
from turnlens.groups.answer_guess import Answers, answered_vectors
from turnlens.groups.confidence import Confidence, Voters, calibrated
from turnlens.groups.group_model import FILE, Basis, GroupModel, StoredGroup, read_model_file
from turnlens.groups.group_settings import neighbours_among
from turnlens.report.boilerplate import text_as_grouped
from turnlens.report.speakers import OPENER, opener_roles
from turnlens.report.tables import group_columns
from turnlens.store import ConversationStore
from turnlens.store.open_arguments import store_encoder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from turnlens.encoders.encoder import Encoder

_CONVERSATIONS_AT_ONCE = 512
_LEAST_CONFIDENCE = 0.5  # below it, "none of these" is the likelier answer


class Labeller:
    """Gives messages the groups of others, or none of them.

    Args:
        model: The groups of messages of a store.
        basis: The vectors that they were fitted to.
        seed: Seed of the calibration.

    Attributes:
        groups: The groups by id, also the coarse ones.
    """

    def __init__(self, model: GroupModel, basis: Basis, seed: int = 0) -> None:
        self.groups: Mapping[int, StoredGroup] = model.groups
        self.basis = basis
        self._boilerplate = frozenset(basis.boilerplate.tolist())
        self._parts: dict[str | None, tuple[Voters, Confidence]] = {}  # of each role
        listed = np.array([id for id, group in model.groups.items() if group.name], np.int64)
        fine = np.where(np.isin(model.fine, listed), model.fine, -1)
        for role in dict.fromkeys(basis.roles):
            rows = np.flatnonzero([basis.roles[code] == role for code in basis.role])
            rows = rows[_last_of_each(basis.vectors[rows])]  # what is a request here and a move there is a request
            vectors, ids = basis.vectors[rows].astype(np.float32), fine[rows]
            if len(rows) > 1 and (ids >= 0).any():
                count = neighbours_among(len(rows))
                self._parts[role] = Voters.of(vectors, ids, count), calibrated(vectors, ids, seed)

    @classmethod
    def of(cls, groups: ConversationStore | str | os.PathLike[str], seed: int = 0) -> Labeller:
        """The labeller of a store or of a file of groups; see `label`."""
        path, file = _places(groups)
        if not path.exists():
            raise ValueError(f"there is no store {path}: turnlens cluster DATA --store {path} makes one")
        if not file.is_file():
            raise ValueError(f"{path} has no groups: turnlens cluster DATA --store {path} finds some")
        model = read_model_file(file).get("message")
        if model is None or model.basis is None:
            raise ValueError(
                f"{file} does not hold the vectors that groups were fitted to, since texts were erased: "
                "find the groups again with turnlens cluster"
            )
        return cls(model, model.basis, seed)

    @staticmethod
    def changed(store: ConversationStore) -> int:
        """Return the time of the last change of a store's groups, in nanoseconds; 0 if it has none."""
        _, file = _places(store)
        return file.stat().st_mtime_ns if file.is_file() else 0

    def check(self, digest: str) -> None:
        """Raise ``ValueError`` unless the encoder with this hash made the vectors that the groups were found in."""
        if digest != self.basis.digest:
            raise ValueError(
                f"the groups were found in vectors of {self.basis.encoder} ({self.basis.digest}), not of the encoder "
                f"{digest}: name that encoder, or find the groups again with turnlens cluster"
            )

    def texts_as_grouped(self, texts: Sequence[str], turns: Sequence[int], roles: Sequence[str]) -> list[str]:
        """The texts that are embedded: without the boilerplate of the conversations that groups were found in (n)."""
        return [text_as_grouped(text, role, self._boilerplate) for text, role in zip(texts, self._roles(roles, turns))]

    def _roles(self, roles: Sequence[str], turns: Sequence[int]) -> Sequence[str]:
        return opener_roles(roles, turns) if OPENER in self._parts and OPENER not in roles else roles

    def label(
        self, vectors: FloatArray, turns: Sequence[int], roles: Sequence[str], texts: Sequence[str] | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Find the group of each message, and how sure it is.

        Args:
            vectors: The vectors of the messages, of length 1, the messages of one conversation in a row (n, dim).
            turns: The number of messages of each conversation.
            roles: The role of each message (n). A role that had no groups of its own gets those of the others that
                had none, or else any. Where the roles of the groups are opener and others, names become these.
            texts: The texts that were embedded (n). Empty ones are in no group.

        Returns:
            The id of the group, -1 for none of these (n,); and the probability that the message belongs to the group
            that is most like it, which is below 0.5 where there is none (n,).
        """
        speaks = (
            np.ones(len(vectors), bool) if texts is None else np.array([bool(text.strip()) for text in texts], bool)
        )
        ids, confidence = self.nearest_groups(vectors, turns, roles, speaks)
        confidence = np.where(speaks, confidence, 0.0)
        return np.where(confidence >= _LEAST_CONFIDENCE, ids, -1), confidence

    def nearest_groups(
        self, vectors: FloatArray, turns: Sequence[int], roles: Sequence[str], speaks: BoolArray
    ) -> tuple[IntArray, FloatArray]:
        """The group that is most like each message (n,), and the confidence (n,), from the arguments of `label`.

        Those that speak are not empty (n,).
        """
        roles = self._roles(roles, turns)
        if self.basis.answers is not None:
            _, speaker = np.unique(np.asarray(roles), return_inverse=True)
            asks = np.asarray(roles, object) == self.basis.asker
            answers = Answers(speaker, np.repeat(np.arange(len(turns)), turns), asks, speaks)
            vectors = answered_vectors(vectors, answers, self.basis.answers)[:]
        vectors = self.basis.vectors_of(vectors)
        if self.basis.history:
            vectors = add_history(vectors, turns)
        ids, confidence = np.full(len(vectors), -1, np.int64), np.zeros(len(vectors))
        for role in dict.fromkeys(roles):
            rows = np.flatnonzero(np.asarray(roles, object) == role)
            own = self._parts.get(role, self._parts.get(None))
            for voters, how_sure in [own] if own is not None else self._parts.values():
                groups, evidence = voters.votes(vectors[rows])
                sure = how_sure.of(evidence)
                better = sure > confidence[rows]
                ids[rows[better]], confidence[rows[better]] = groups[better], sure[better]
        return ids, confidence

    def columns(self, ids: IntArray, confidence: FloatArray) -> dict[str, pa.Array]:
        """The columns group, group_name, coarse_group, coarse_group_name and confidence of messages, from `label`."""
        return {**group_columns(ids, self.groups), "confidence": pa.array(confidence.astype(np.float32))}


def _last_of_each(vectors: FloatArray) -> IntArray:
    """The rows of distinct vectors (n, dim), of those that are equal the last."""
    return np.asarray(sorted({vector.tobytes(): row for row, vector in enumerate(vectors)}.values()), np.int64)


def label(
    data: ConversationSource,
    *,
    groups: ConversationStore | str | os.PathLike[str],
    encoder: Encoder | SentenceTransformer | str | os.PathLike[str] | None = None,
    seed: int = 0,
) -> pa.Table:
    """Give the messages of other conversations the groups of before, without finding any anew.

    The confidence is calibrated without labels: a fifth of the messages that took part is labelled by groups that are
    found again in the rest, which tells how often the vote of the nearest is right; and each group is hidden in turn,
    so that its messages tell how those look that belong to none of these. Three tenths are taken to be such.

    Args:
        data: The conversations to label, as `turnlens.read_conversations` reads or gives them.
        groups: A store or its folder, in which `turnlens.cluster` or `turnlens.explore` has found groups; or the file
            ``groups.safetensors`` of its folder.
        encoder: The encoder that made the vectors of the groups, if it is not where it was loaded from then.
        seed: Seed of the calibration.

    Returns:
        A row for each message: id, turn, role, text; group, group_name, coarse_group and coarse_group_name, empty for
        none of these; and confidence, the probability that the message belongs to the group that is most like it.

    Raises:
        ValueError: There are no groups, or the encoder is not the one that they were found with.

    Examples:
        >>> from turnlens.report import cluster
        >>> texts = [text for n in range(30) for text in (f"Where is parcel {n}?", f"Please cancel order {n}.")]
        >>> chats = [{"id": text, "messages": [{"role": "user", "content": text}]} for text in texts]
        >>> store = ConversationStore.create("chats.store", chats)
        >>> names = [group.name for group in cluster(store).groups]
        >>> table = label([{"messages": [{"role": "user", "content": "Where is parcel 77?"}]}], groups=store)
        >>> table["group_name"][0].as_py() in names
        True
    """
    labeller = Labeller.of(groups, seed)
    given = groups.encoder() if encoder is None and isinstance(groups, ConversationStore) else encoder
    embedder = store_encoder(cast("Any", given or labeller.basis.encoder), "messages")
    labeller.check(embedder.digest())
    tables = []
    rows = enumerate(ConversationInput(data).rows_with_ids())
    with progress_of("labelling conversations", None) as advance:
        while batch := list(islice(rows, _CONVERSATIONS_AT_ONCE)):
            tables.append(_labelled(batch, labeller, embedder))
            advance(len(batch))
    if not tables:
        raise ValueError("expected one conversation or more to label, got none")
    return pa.concat_tables(tables)


def _places(groups: ConversationStore | str | os.PathLike[str]) -> tuple[Path, Path]:
    """The place that is named, and the file of groups there."""
    path = Path(groups.path if isinstance(groups, ConversationStore) else groups)
    return path, path / FILE if path.is_dir() else path


def _labelled(batch: Sequence[tuple[int, Mapping[str, Any]]], labeller: Labeller, embedder: Any) -> pa.Table:
    talks = [plain_messages_in(row, f"row {number}") for number, row in batch]
    ids = [str(number if row.get("id") is None else row["id"]) for number, row in batch]
    turns = [len(messages) for messages in talks]
    texts = [message["content"] for messages in talks for message in messages]
    roles = [message["role"] for messages in talks for message in messages]
    seen = labeller.texts_as_grouped(texts, turns, roles)
    found, confidence = labeller.label(embedder.messages(seen)["vector"], turns, roles, seen)
    return pa.table(
        {
            "id": pa.array(np.repeat(np.asarray(ids, object), turns), pa.string()),
            "turn": pa.array(np.concatenate([np.arange(count, dtype=np.int32) for count in turns])),
            "role": pa.array(roles, pa.string()),
            "text": pa.array(texts, pa.string()),
            **labeller.columns(found, confidence),
        }
    )
