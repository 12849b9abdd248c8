"""The names that extensions of turnlens are written with: methods and tasks of one's own (docs/extensions.md)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("turnlens", __file__)
