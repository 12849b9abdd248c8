"""The errors users see."""

from __future__ import annotations


class ConversationError(ValueError):
    """Bad conversation data.

    Args:
        where: The place: ``file``, ``file:line`` or ``file: row N``.
        problem: What was found and what was expected.
    """

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")
        self.where = where
        self.problem = problem
