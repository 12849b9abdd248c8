"""Conversations in: reading, cleaning, checking and identifying them."""
