"""Learn embeddings from conversations without labels, and put them to work."""

import lazy_loader

__version__ = "1.0.0"

# Public names are listed in __init__.pyi and loaded on first use: `import turnlens` and `turnlens --help` stay fast.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
