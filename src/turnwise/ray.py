"""Corpora on a cluster: embedding them with Ray, and conversations as datasets of Ray Data; needs the extra ``ray``."""

from turnwise.distributed.corpus import embed_corpus
from turnwise.distributed.datasets import embed_dataset, read_dataset

__all__ = ["embed_corpus", "embed_dataset", "read_dataset"]
