"""The shape of the phrase tables: a domain is a set of customer intents that can follow one another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Intent:
    """Everything that is said about one customer intent.

    ``{slot}`` in a text is filled from ``Common.slots``; one conversation keeps one value per slot.

    Args:
        phrasings: What the customer says to state the intent. They share few content words on purpose.
        topics: Names of the intent that fit into ``Common.requests``, another way of stating it.
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


@dataclass(frozen=True)
class Common:
    """The lines that every domain shares.

    Args:
        greetings: How the customer says hello.
        answered_greetings: How the agent says hello in return.
        requests: Frames for the topic of an intent, ``{topic}``.
        tell_me_more: How the agent asks the customer to state the intent once more.
        hold_on: What the agent says before a resolution.
        still_there: What the agent says when the customer takes long to answer.
        acknowledgements: How the customer takes a resolution.
        anything_else: How the agent asks for a further intent.
        links: How the customer announces a further intent.
        handovers: How the agent brings in a colleague.
        thanks: How the customer ends the conversation.
        farewells: How the agent ends the conversation.
        slots: Values of ``{slot}`` by name; ``{other_slot}`` is another one of them. A ``#`` is a random digit.
    """

    greetings: tuple[str, ...]
    answered_greetings: tuple[str, ...]
    requests: tuple[str, ...]
    tell_me_more: tuple[str, ...]
    hold_on: tuple[str, ...]
    still_there: tuple[str, ...]
    acknowledgements: tuple[str, ...]
    anything_else: tuple[str, ...]
    links: tuple[str, ...]
    handovers: tuple[str, ...]
    thanks: tuple[str, ...]
    farewells: tuple[str, ...]
    slots: dict[str, tuple[str, ...]]
