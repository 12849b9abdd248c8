"""Tasks on the order of turns."""
