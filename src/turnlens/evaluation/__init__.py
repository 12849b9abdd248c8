"""Evaluation of embeddings: tasks by name, and the functions they are made of."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
