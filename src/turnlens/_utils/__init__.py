"""Internal helpers that all other packages share; none of them is part of the public interface."""
