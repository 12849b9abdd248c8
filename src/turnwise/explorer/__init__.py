"""The explorer: what conversations are about and how they go, as a page in the browser."""
