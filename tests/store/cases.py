"""What tests of stores share."""

from __future__ import annotations

import pytest

in_folders = pytest.mark.parametrize("place", ["folder"], indirect=True)  # what only stores in folders do
on_qdrant = pytest.mark.parametrize("place", ["qdrant"], indirect=True)
