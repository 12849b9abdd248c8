"""The store that is explored: an existing one, or a temporary one made of conversations."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from turnlens._utils.progress import progress_of
from turnlens.data.conversation_source import Given
from turnlens.data.conversations import read_conversations
from turnlens.store import ConversationStore

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


def open_explored(
    data: ConversationStore | Given, encoder: SentenceTransformer | str | os.PathLike[str] | None
) -> tuple[ConversationStore, tempfile.TemporaryDirectory[str] | None]:
    """Open a store, or put conversations into a temporary one.

    Args:
        data: A store or its folder; or conversations, as `turnlens.read_conversations` reads or gives them.
        encoder: The encoder, its folder or its Hub name; by default that of the store, or the default encoder.

    Returns:
        The store and, if it is temporary, its folder, which must be kept as long as the store is used.
    """
    if isinstance(data, ConversationStore):
        return data, None
    if isinstance(data, str | os.PathLike) and not Path(data).is_file():
        return ConversationStore.open(data, encoder=encoder, create=False), None
    conversations = read_conversations(data)
    passing = tempfile.TemporaryDirectory(prefix="turnlens-")
    store = ConversationStore.open(Path(passing.name) / "store", encoder=encoder)
    with progress_of("embedding conversations", len(conversations)) as advance:
        store.add(conversations, progress=advance)
    return store, passing
