"""The texts and labels of messages, and checks of their form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from turnlens.errors import ConversationError
from turnlens.formats.bad_input import BadRow
from turnlens.formats.message_layouts import plain_message

Message = dict[str, Any]
Messages = Sequence[Message]
Conversations = Iterable[Mapping[str, Any]]  # a datasets.Dataset is one


def _messages(conversations: Conversations) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every message with its place, for errors."""
    for row, conversation in enumerate(conversations):
        messages = messages_in(conversation, f"row {row}")
        if not isinstance(messages, list):
            raise ConversationError(f"row {row}", 'expected "messages", a list of {"role", "content"}')
        for turn, message in enumerate(messages):
            place = f"row {row}, message {turn}"
            yield place, _read(message, place)


def messages_in(conversation: Any, where: str) -> Any:
    """Return the value of a conversation's ``messages``, which the caller checks.

    Raises:
        ConversationError: It is no row ``{"messages": […]}``, such as a letter of a file's name.
    """
    if not isinstance(conversation, Mapping):
        problem = f'expected a conversation, {{"messages": […]}}, got {conversation!r:.60}'
        raise ConversationError(where, f"{problem}; files are read by turnlens.read_conversations")
    return conversation.get("messages")


def _read(message: Any, where: str) -> Mapping[str, Any]:
    """Return a message of any layout, as files of it are read."""
    if not isinstance(message, Mapping):
        raise ConversationError(where, f'expected {{"role", "content"}}, got {message!r:.60}')
    try:
        return plain_message(message)
    except BadRow as problem:
        raise ConversationError(where, str(problem)) from None


def message_text(message: Mapping[str, Any], where: str) -> str:
    """Return the text of a message without surrounding space; ``where`` is its place, for errors."""
    content = message.get("content")
    if not isinstance(content, str):
        raise ConversationError(where, f'expected "content", a text, got {content!r}')
    return content.strip()


def distinct_texts(conversations: Conversations) -> list[str]:
    """Return the distinct texts of all messages in order of first appearance, without surrounding space."""
    texts = (message_text(message, where) for where, message in _messages(conversations))
    return list(dict.fromkeys(text for text in texts if text))


def labelled_messages(conversations: Conversations, label: str) -> list[tuple[str, str | None]]:
    """Return text and label of each labelled message that is not empty; the label is ``None`` if there are several.

    Args:
        conversations: Rows with ``messages``, each ``{"role", "content", <label>}``; absent or empty: unlabelled.
        label: Name of the message field that holds the label: a string, a whole number or a list of these.

    Raises:
        ConversationError: No message carries the label, or a label is neither text nor number.
    """
    labelled: list[tuple[str, str | None]] = []
    fields: dict[str, None] = {}
    for where, message in _messages(conversations):
        fields.update(dict.fromkeys(message))
        values = message.get(label)
        values = values if isinstance(values, list) else [values]
        values = [value for value in values if value is not None and value != ""]
        if not all(isinstance(value, (str, int)) for value in values):
            raise ConversationError(
                where, f"label {label!r} must be a text, a whole number or a list of these, got {message[label]!r}"
            )
        text = message_text(message, where)
        if text and values:
            labelled.append((text, str(values[0]) if len(values) == 1 else None))
    if not labelled:
        problem = f"no message carries the label {label!r} (--label, in Python label=)"
        if any(conversation.get(label) is not None for conversation in conversations):
            command = f"--task conversation-retrieval --conversation-label {label}"
            problem += f", but conversations do: {command} evaluates it"
        raise ConversationError("conversations", f"{problem}; messages have: {', '.join(fields) or 'no field at all'}")
    return labelled


def labelled_texts(conversations: Conversations, label: str) -> dict[str, str]:
    """Return distinct texts with one label, and that label, in order of first appearance; see `labels_of_texts`."""
    return {text: value for text, value in labels_of_texts(conversations, label).items() if value is not None}


def labels_of_texts(conversations: Conversations, label: str) -> dict[str, str | None]:
    """Return distinct labelled texts and their label, in order of first appearance; ``None`` for several labels.

    A text with two different labels ("Yes, please.") says nothing about either of them, and nor does a text with
    several labels at once.

    Args:
        conversations: As for `labelled_messages`.
        label: As for `labelled_messages`.

    Raises:
        ConversationError: As for `labelled_messages`.
    """
    labels: dict[str, str | None] = {}
    for text, value in labelled_messages(conversations, label):
        labels[text] = value if labels.get(text, value) == value else None
    return labels


def checked_messages(conversations: Sequence[Messages]) -> Sequence[Messages]:
    """Return lists of messages with the text of every message under ``content``.

    Raises:
        ConversationError: A message has no role or text.
        ValueError: They are no lists of messages, or one is empty.
    """
    if len(conversations) and isinstance(conversations[0], Mapping):
        raise ValueError("expected lists of messages, got rows: give conversations['messages'] instead")
    read: dict[int, Messages] = {}
    for number, messages in enumerate(conversations):
        if not messages:
            raise ValueError(f"conversation {number} has no messages: leave empty conversations out")
        if not all(map(_is_plain, messages)):
            read[number] = [
                _checked(message, f"conversation {number}, message {n}") for n, message in enumerate(messages)
            ]
    if not read:
        return conversations
    return [read.get(number, messages) for number, messages in enumerate(conversations)]


def _is_plain(message: Any) -> bool:
    return isinstance(message, Mapping) and type(message.get("content")) is str and "role" in message


def _checked(written: Any, where: str) -> Message:
    message = dict(_read(written, where))
    if not _is_plain(message):
        raise ConversationError(where, f'expected {{"role": …, "content": a text}}, got {written!r:.60}')
    return message


def whole_messages(messages: Any, where: str) -> list[Mapping[str, Any]]:
    """Return messages with their text under ``content`` and all labels; ``where`` is the conversation's place."""
    if not isinstance(messages, list) or not messages:
        raise ConversationError(where, 'expected "messages", a list of one or more {"role", "content"}')
    whole = []
    for turn, written in enumerate(messages):
        place = f"{where}, message {turn}"
        message = _read(written, place)
        message_text(message, place)
        whole.append(message)
    return whole


def plain_messages(messages: Any, where: str) -> list[Message]:
    """Return role and text of every message; ``where`` is the conversation's place, for errors."""
    return [
        {"role": str(message.get("role", "")), "content": message["content"].strip()}
        for message in whole_messages(messages, where)
    ]


def plain_messages_in(conversation: Any, where: str) -> list[Message]:
    """Return role and text of every message of a row; raises as `messages_in` and `plain_messages` do."""
    return plain_messages(messages_in(conversation, where), where)


def document(messages: Messages, where: str = "conversation") -> str:
    """Return all turns of a conversation as one text."""
    return " ".join(message_text(message, where) for message in messages)


def texts_of(conversations: Iterable[Messages]) -> list[str]:
    """Return the texts of all messages of conversations in a row."""
    return [message["content"] for messages in conversations for message in messages]
