"""Texts and conversations to vectors."""
