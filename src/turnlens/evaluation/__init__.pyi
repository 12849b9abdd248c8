# What `turnlens.evaluation` offers, at run time as well (see __init__.py).

from .conversation_labels import EmbeddedConversations as EmbeddedConversations
from .conversation_labels import LabelledConversations as LabelledConversations
from .conversation_labels import embed_labelled as embed_labelled
from .conversation_labels import labelled_conversations as labelled_conversations
from .evaluator import TaskEvaluator as TaskEvaluator
from .results import compare_results as compare_results
from .running import evaluate as evaluate
from .running import load_task as load_task
from .semantic_retrieval import RetrievalResult as RetrievalResult
from .semantic_retrieval import RetrievalTask as RetrievalTask
from .semantic_retrieval import build_retrieval_task as build_retrieval_task
from .semantic_retrieval import evaluate_retrieval as evaluate_retrieval
from .task import TASKS as TASKS
from .task import Task as Task
from .task import find_task as find_task
