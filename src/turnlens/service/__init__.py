"""Embeddings, search and next replies over HTTP, with the schemas that OpenAI's, Cohere's and Jina's clients expect."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
