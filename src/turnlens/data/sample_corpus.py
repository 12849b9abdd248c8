"""A small made-up corpus of support conversations, generated from phrase tables, for demos and tests.

The tables are ``phrases/<domain>.toml`` and ``phrases/common.toml``. ``{slot}`` in a text is filled from the table
``slots`` of ``common.toml``; one conversation keeps one value per slot, ``{other_slot}`` is another one, and ``#`` in a
value is a random digit. A domain, a line of business, has:

- ``name``: the first half of its intents' labels; ``openings``: the greetings of its agents;
- ``third_party``: the role of the colleague who joins a multi-party conversation, and the lines on ``joining``;
- ``intents``, each with ``phrasings``: the customer's statements, with few words in common; ``topics``: its names, for
  the frames in ``requests``; ``questions``: an agent's question and the customer's possible answers; ``resolutions``:
  the agent's last words on it; ``follow_ups``: a further question and its answer; ``then``: the intents that may
  sensibly come next.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from types import SimpleNamespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datasets

# The order matters: a conversation picks its domain by position.
DOMAIN_NAMES = ("parcels", "cards", "internet", "flights")
MAX_TURNS = 16
# How often a customer names the topic, names the topic and describes the situation, or only describes the situation.
STATEMENT_SHARES = (0.35, 0.5, 0.15)

_SLOT = re.compile(r"\{(\w+)\}")
_LETTER_PAIR = re.compile(r"(?<=[a-z])[a-z]{2}(?=[a-z])")


@cache
def domains() -> tuple[SimpleNamespace, ...]:
    """Return the domains of the sample corpus, with intents and phrases in the order of their files."""
    return tuple(map(_domain, DOMAIN_NAMES))


@cache
def common() -> SimpleNamespace:
    """Return the lines that every domain shares, and the values of the slots."""
    return _read("common")


def _domain(name: str) -> SimpleNamespace:
    domain = _read(name)
    for intent in domain.intents.values():  # a table of two keys is a pair: the question and what answers it
        intent |= {name: [tuple(pair.values()) for pair in intent[name]] for name in ("questions", "follow_ups")}
    domain.intents = {name: SimpleNamespace(**intent) for name, intent in domain.intents.items()}
    return domain


def _read(name: str) -> SimpleNamespace:
    text = (files("turnlens.data") / "phrases" / f"{name}.toml").read_text(encoding="utf-8")
    return SimpleNamespace(**tomllib.loads(text))


def sample_conversations(n: int = 1000, *, seed: int = 0) -> datasets.Dataset:
    """Generate support conversations in four domains.

    Conversation ``i`` depends on ``(seed, i)`` only, so a smaller corpus is a prefix of a larger one.

    Args:
        n: Number of conversations.
        seed: Seed of the generator.

    Returns:
        A dataset with the columns ``id``, ``messages`` and ``domain``. A message has a ``role``, a ``content`` and an
        ``intent``: ``"<domain>:<intent>"`` where the customer (role ``"user"``) states a request, else ``None``.

    Raises:
        ValueError: ``n`` is less than 1.

    Examples:
        >>> import turnlens
        >>> conversations = turnlens.sample_conversations(2)
        >>> conversations["id"][:]
        ['sample-0-000000', 'sample-0-000001']
        >>> sorted(conversations[0]["messages"][0])
        ['content', 'intent', 'role']
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    import datasets  # takes a second to import, and the phrase tables are useful without it

    text = datasets.Value("string")
    features = datasets.Features(
        {"id": text, "messages": [{"role": text, "content": text, "intent": text}], "domain": text}
    )
    return datasets.Dataset.from_list([_Writer(seed, index).conversation() for index in range(n)], features=features)


class _Writer:
    """Writes one conversation."""

    def __init__(self, seed: int, index: int) -> None:
        # A string seed is hashed with SHA-512: the same on every run, whatever PYTHONHASHSEED is.
        self.random = random.Random(f"{seed} {index}")
        self.id = f"sample-{seed}-{index:06d}"
        self.domain = self.random.choice(domains())
        self.common = common()
        self.slots: dict[str, str] = {}
        self.messages: list[dict[str, str | None]] = []
        self.spare = 0

    def conversation(self) -> dict[str, object]:
        names = self._plan()
        # Each intent needs a statement and a resolution, and then there is a goodbye; the rest is optional.
        self.spare = self.random.randint(10, MAX_TURNS) - 2 * len(names) - 2
        escalated = self.random.choice(names) if self.random.random() < 0.05 else None
        if escalated:
            self.spare -= 2
        self._open()
        for position, name in enumerate(names):
            if position:
                self._link()
            self._settle(name, escalated=name == escalated)
        self._say("user", self.common.thanks)
        self._say("assistant", self.common.farewells)
        return {"id": self.id, "messages": self.messages, "domain": self.domain.name}

    def _plan(self) -> list[str]:
        """One to three intents in a sensible order."""
        names = [self.random.choice(list(self.domain.intents))]
        for _ in range(self.random.choices((0, 1, 2), weights=(35, 45, 20))[0]):
            following = [name for name in self.domain.intents[names[-1]].then if name not in names]
            if following:
                names.append(self.random.choice(following))
        return names

    def _open(self) -> None:
        opening = self.random.random()
        if opening < 0.35 and self._afford(2):
            self._say("user", self.common.greetings)
            self._say("assistant", self.common.answered_greetings)
        elif opening < 0.6 and self._afford(1):
            self._say("assistant", self.domain.openings)

    def _link(self) -> None:
        """Lead to the next intent; the acknowledgement alone makes the customer speak twice in a row."""
        link = self.random.random()
        if link < 0.4 and self._afford(2):
            self._say("user", self.common.acknowledgements)
            self._say("assistant", self.common.anything_else)
        elif link < 0.5 and self._afford(2):
            self._say("assistant", self.common.anything_else)
            self._say("user", self.common.links)
        elif link < 0.6 and self._afford(1):
            self._say("user", self.common.acknowledgements)

    def _settle(self, name: str, escalated: bool) -> None:
        """State one intent, discuss it and resolve it."""
        intent = self.domain.intents[name]
        label = f"{self.domain.name}:{name}"
        first, second = self._statements(intent)
        self._say("user", (first,), label)
        if self._chance(0.2, cost=2):
            self._say("assistant", self.common.tell_me_more)
            self._say("user", (second,), label)
        self._discuss(intent)
        speaker = "assistant"
        if escalated:
            speaker = self.domain.third_party
            self._say("assistant", self.common.handovers)
            self._say(speaker, self.domain.joining)
        elif self._chance(0.1, cost=1):
            self._say("assistant", self.common.hold_on)
        self._say(speaker, intent.resolutions)
        if self._chance(0.4, cost=2):
            question, answer = self.random.choice(intent.follow_ups)
            self._say("user", (question,))
            self._say(speaker, (answer,))

    def _statements(self, intent: SimpleNamespace) -> list[str]:
        """Two ways of stating an intent."""
        topics = self.random.sample(intent.topics, 2)
        named = [self.random.choice(self.common.requests).replace("{topic}", topic) for topic in topics]
        pairs = zip(named, self.random.sample(intent.phrasings, 2))
        return [self.random.choices((name, f"{name} {story}", story), STATEMENT_SHARES)[0] for name, story in pairs]

    def _discuss(self, intent: SimpleNamespace) -> None:
        questions = self.random.sample(intent.questions, 2 if self.random.random() < 0.25 else 1)
        for question, answers in questions:
            if self._chance(0.8, cost=2):
                self._say("assistant", (question,))
                if self._chance(0.04, cost=1):
                    self._say("assistant", self.common.still_there)
                self._say("user", answers)

    def _chance(self, probability: float, cost: int) -> bool:
        return self.random.random() < probability and self._afford(cost)

    def _afford(self, turns: int) -> bool:
        """Take ``turns`` optional turns if they still fit, and return true then."""
        if turns > self.spare:
            return False
        self.spare -= turns
        return True

    def _say(self, role: str, choices: Sequence[str], intent: str | None = None) -> None:
        content = _SLOT.sub(lambda slot: self._slot(slot[1]), self.random.choice(choices))
        if role == "user":
            content = self._type_carelessly(content)
        self.messages.append({"role": role, "content": content, "intent": intent})

    def _slot(self, name: str) -> str:
        """Return the value of a slot, the same throughout the conversation; ``other_x`` is an x other than ``x``."""
        if name not in self.slots:
            kind = name.removeprefix("other_")
            values = [value for value in self.common.slots[kind] if kind == name or value != self._slot(kind)]
            self.slots[name] = re.sub("#", lambda _: str(self.random.randrange(10)), self.random.choice(values))
        return self.slots[name]

    def _type_carelessly(self, text: str) -> str:
        """In a small share of messages, drop capitals and the full stop, or swap two letters inside a word."""
        carelessness = self.random.random()
        if carelessness < 0.06:
            return text.lower().rstrip(".")
        pairs = [match.start() for match in _LETTER_PAIR.finditer(text)]
        if carelessness < 0.09 and pairs:
            at = self.random.choice(pairs)
            return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
        return text
