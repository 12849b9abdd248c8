"""Mixed dialogues for dial2vec: one speaker's turns kept, the others' filled from other conversations (section 3.1)."""

from __future__ import annotations

import random

from turnlens.data.messages import Message
from turnlens.papers.utterance_pool import UtterancePool


def mixed_dialogues(
    conversation: str, messages: list[Message], pool: UtterancePool, count: int, generator: random.Random
) -> list[list[Message]]:
    """Dialogues in which one speaker's turns are real and the others' come from other conversations.

    With two speakers, a random one is kept each time. With more, each of them is kept in turn, starting with a random
    one.

    Args:
        conversation: The id of the real dialogue.
        messages: Its messages, by two speakers or more.
        pool: Where utterances are drawn from.
        count: The number of mixed dialogues.
        generator: The source of randomness.
    """
    speakers = list(dict.fromkeys(message["role"] for message in messages))
    offset = generator.randrange(len(speakers))
    mixed = []
    for number in range(count):
        kept = generator.choice(speakers) if len(speakers) == 2 else speakers[(offset + number) % len(speakers)]
        mixed.append(
            [
                message
                if message["role"] == kept
                else {**message, "content": pool.draw(message["role"], conversation, generator)}
                for message in messages
            ]
        )
    return mixed
