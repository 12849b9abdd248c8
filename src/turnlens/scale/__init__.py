"""Corpora on a cluster: embedding them shard by shard, here or with Ray, and Ray Data's datasets; extra ``ray``."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
