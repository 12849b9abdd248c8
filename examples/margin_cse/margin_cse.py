"""What this package adds to turnwise. It is read at every start, so that it imports nothing."""

METHODS = {"margin-cse": ("margin_cse_recipe:MarginCSE", "messages, DialogueCSE with a margin")}
