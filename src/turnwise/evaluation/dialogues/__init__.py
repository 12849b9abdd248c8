"""Tasks on whole dialogues."""
