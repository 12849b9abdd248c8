# What `turnlens.data` offers, at run time as well (see __init__.py).

from .cleaning import drop_empty_messages as drop_empty_messages
from .cleaning import keep_long_enough as keep_long_enough
from .cleaning import merge_consecutive_messages as merge_consecutive_messages
from .conversations import convert_conversations as convert_conversations
from .conversations import read_conversations as read_conversations
from .read_options import Columns as Columns
from .read_options import ReadOptions as ReadOptions
from .redaction import Redaction as Redaction
from .sample_corpus import sample_conversations as sample_conversations
from .splitting import split_conversations as split_conversations
