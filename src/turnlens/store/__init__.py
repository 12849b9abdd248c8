"""A store of conversations with search and next replies."""

from turnlens.store.conversation_store import ConversationStore
from turnlens.store.filters import SQL, FilterError
from turnlens.store.hits import (
    AddReport,
    ConversationHit,
    MessageHit,
    ReplyHit,
    StoreStats,
    hits_table,
)
from turnlens.store.state import StoreError, StoreLockedError
from turnlens.store.tables import id_key

__all__ = [
    "SQL",
    "AddReport",
    "ConversationHit",
    "ConversationStore",
    "FilterError",
    "MessageHit",
    "ReplyHit",
    "StoreError",
    "StoreLockedError",
    "StoreStats",
    "hits_table",
    "id_key",
]
