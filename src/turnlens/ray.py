"""Corpora on a cluster: embedding them with Ray, and conversations as datasets of Ray Data; needs the extra ``ray``."""

from turnlens.distributed.corpus import embed_corpus
from turnlens.distributed.datasets import embed_dataset, read_dataset

__all__ = ["embed_corpus", "embed_dataset", "read_dataset"]
