"""The errors users see."""

from __future__ import annotations

from typing_extensions import override

_LONGEST_LINE = 300  # characters
# Torch, GPUs, the system's loader of libraries, and safetensors say so.
_SIGNS_OF_LACKING_MEMORY = (
    "out of memory",
    "can't allocate memory",
    "Cannot allocate memory",
    "failed to map segment",
    "unable to mmap",
)


def error_line(error: BaseException) -> str:
    """The message of another library's error as one short line, or the kind of the error if it has no message."""
    text = " ".join(str(error).split())
    return (text if len(text) <= _LONGEST_LINE else text[:_LONGEST_LINE] + "…") or type(error).__name__


def is_out_of_memory(error: BaseException) -> bool:
    """Say whether the memory is used up: in Python, in another library, or while one is loaded."""
    return isinstance(error, MemoryError) or any(sign in str(error) for sign in _SIGNS_OF_LACKING_MEMORY)


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

    @override
    def __reduce__(self) -> tuple[type[ConversationError], tuple[str, str]]:
        # by default the message alone, which makes no such error on the other side of a process
        return type(self), (self.where, self.problem)


class NoConversations(ConversationError):
    """A file is empty, or in no layout that is known."""


class BadRowError(ConversationError):
    """Bad data in one row, without which the others can be read."""


class TokenizerError(ValueError):
    """A tokenizer gives a text ids that its encoder has no vectors for.

    Args:
        id: The greatest id.
        rows: The number of rows of the encoder's table.
    """

    def __init__(self, id: int, rows: int) -> None:
        super().__init__(
            f"the tokenizer gives a text the token id {id:,}, but the encoder's table ends at {rows - 1:,}: it is the "
            "tokenizer of another encoder; copy the encoder again, or train it with this tokenizer"
        )
        self.id, self.rows = id, rows

    @override
    def __reduce__(self) -> tuple[type[TokenizerError], tuple[int, int]]:
        return type(self), (self.id, self.rows)
