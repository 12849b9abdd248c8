"""Tasks on messages."""
