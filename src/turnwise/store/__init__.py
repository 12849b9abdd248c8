"""A store of conversations with search and next replies; needs the extra ``store``."""

from turnwise.store.conversation_store import ConversationStore
from turnwise.store.filters import SQL, FilterError
from turnwise.store.hits import (
    AddReport,
    ConversationHit,
    MessageHit,
    ReplyHit,
    StoreStats,
    hits_table,
)
from turnwise.store.id_key import id_key
from turnwise.store.state import StoreError, StoreLockedError

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
