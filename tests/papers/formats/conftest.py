"""Every test of the room reads into a cache of its own."""

from fresh_cache import own_cache

__all__ = ["own_cache"]
