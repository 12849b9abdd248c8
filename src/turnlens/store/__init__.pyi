# What `turnlens.store` offers, at run time as well (see __init__.py).

from .conversation_store import ConversationStore as ConversationStore
from .filters import SQL as SQL
from .filters import FilterError as FilterError
from .hits import AddReport as AddReport
from .hits import ConversationHit as ConversationHit
from .hits import MessageHit as MessageHit
from .hits import ReplyHit as ReplyHit
from .hits import StoreStats as StoreStats
from .hits import hits_table as hits_table
from .state import StoreError as StoreError
from .state import StoreLockedError as StoreLockedError
from .tables import id_key as id_key
