"""The shape of the phrase tables: a domain is a set of customer intents that can follow one another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Intent:
    """Everything that is said about one customer intent.

    ``{slot}`` in a text is filled from ``common.SLOTS``; one conversation keeps one value per slot.

    Args:
        phrasings: What the customer says to state the intent. They share few content words on purpose.
        topics: Names of the intent that fit into ``common.REQUESTS``, another way of stating it.
        questions: Pairs of an agent's question and the customer's possible answers.
        resolutions: What the agent says to settle it.
        follow_ups: Pairs of a customer's further question and the agent's answer.
        then: Names of the intents of the same domain that may sensibly come next.
    """

    phrasings: tuple[str, ...]
    topics: tuple[str, ...]
    questions: tuple[tuple[str, tuple[str, ...]], ...]
    resolutions: tuple[str, ...]
    follow_ups: tuple[tuple[str, str], ...]
    then: tuple[str, ...]


@dataclass(frozen=True)
class Domain:
    """One line of business.

    Args:
        name: First half of every intent label of the domain.
        openings: How the agent answers the line.
        third_party: Role of the colleague who joins a multi-party conversation.
        joining: What the colleague says on joining.
        intents: The intents by name.
    """

    name: str
    openings: tuple[str, ...]
    third_party: str
    joining: tuple[str, ...]
    intents: dict[str, Intent]
