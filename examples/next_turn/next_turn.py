"""The additions of this package to turnlens. It is read at every start, so that it imports nothing."""

METHODS = {"next-turn": ("next_turn_method:NextTurn", "messages, each close to the one that follows")}
TASKS = {"first-reply": "next_turn_task:FIRST_REPLY"}
