# What `turnlens.data` offers, at run time as well (see __init__.py).

from .conversations import convert_conversations as convert_conversations
from .conversations import read_conversations as read_conversations
from .dataset_operations import drop_empty_messages as drop_empty_messages
from .dataset_operations import keep_long_enough as keep_long_enough
from .dataset_operations import merge_consecutive_messages as merge_consecutive_messages
from .dataset_operations import split_conversations as split_conversations
from .personal.redaction import Redaction as Redaction
from .read_options import Columns as Columns
from .read_options import ReadOptions as ReadOptions
from .sample_corpus import sample_conversations as sample_conversations
