"""The task next-message, and the parts that tasks on the order of turns share."""
