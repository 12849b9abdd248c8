"""Learn embeddings from conversations without labels, and put them to work."""

import os

import lazy_loader

__version__ = "1.0.0rc1"

# Threads that spin while they wait for each other take the cores that others need. OpenMP reads this once, as torch is
# imported, so a process that imports torch first sets it itself.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Public names are listed in __init__.pyi and loaded on first use: `import turnlens` and `turnlens --help` stay fast.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
