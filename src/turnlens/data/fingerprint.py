"""A fingerprint of conversations, so that a run is never continued with different ones."""

from __future__ import annotations

import hashlib
import json

from datasets import Dataset


def fingerprint(conversations: Dataset) -> str:
    """A hash of the conversations' ids, roles and texts, to notice if a run is continued with other data."""
    digest = hashlib.blake2b(digest_size=8)
    for rows in conversations.iter(1000):
        for name, messages in zip(rows["id"], rows["messages"]):
            said = [name, *(part for message in messages for part in (message["role"], message["content"]))]
            digest.update(json.dumps(said).encode())
    return f"{len(conversations)} conversations, {digest.hexdigest()}"
