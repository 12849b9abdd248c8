"""The task next-message: at which rank is what was really said next? And what tasks on the order of turns share."""
