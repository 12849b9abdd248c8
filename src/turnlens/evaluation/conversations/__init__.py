"""Tasks on whole conversations."""
