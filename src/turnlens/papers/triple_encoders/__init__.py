"""CCL (Erker et al., Findings of ACL 2023) and C3L, the triple-encoders (Erker et al., ACL 2024)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
