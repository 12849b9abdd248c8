# What `turnlens.papers.baselines` offers, at run time as well (see __init__.py).

from .bag_of_words import BM25 as BM25
from .bag_of_words import LDA as LDA
from .bag_of_words import TfIdf as TfIdf
from .baseline import Baseline as Baseline
from .baseline import BaselineInputs as BaselineInputs
from .baseline import DialogueBaseline as DialogueBaseline
from .baseline import Learning as Learning
from .baseline import Need as Need
from .baseline import UtteranceBaseline as UtteranceBaseline
from .dialogues import Concatenation as Concatenation
from .dialogues import MeanOfUtterances as MeanOfUtterances
from .flow import Flow as Flow
from .registry import BASELINES as BASELINES
from .registry import build_baseline as build_baseline
from .simcse import SimCSE as SimCSE
from .simcse import SimCSESettings as SimCSESettings
from .token_pooling import HuggingFaceModel as HuggingFaceModel
from .token_pooling import PooledEncoder as PooledEncoder
from .token_pooling import TokenPooling as TokenPooling
from .whitening import Whitening as Whitening
from .word_vectors import Doc2Vec as Doc2Vec
from .word_vectors import Word2Vec as Word2Vec
from .word_vectors import WordVectors as WordVectors
