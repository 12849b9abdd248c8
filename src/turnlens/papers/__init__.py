"""The three papers, each in a room of its own, with what they compare with. See README.md in this folder.

Nothing of the product imports from here; methods and tasks are found by their names.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
