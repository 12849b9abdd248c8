"""The names of methods and tasks, and the module that defines each; and what the encoders of extensions need.

The names are known without importing anything, so that a wrong name is reported at once, before seconds of loading.
Extensions add to each of these tables with a table of the same name.
"""

from __future__ import annotations

from typing import Any

from turnlens._utils.extensions import Table
from turnlens._utils.spelling import did_you_mean

DEFAULT_METHOD = "complete"
GROUPS_FILE = "groups.safetensors"  # the groups that a store remembers, whose words erasing removes

# Method -> the class of its recipe.
METHODS: Table[Any] = Table(
    {
        "complete": (
            "turnlens.training.recipes.complete:Complete",
            "context and answers, then a projection, a reply head and a centre",
        ),
        "in-context": ("turnlens.training.recipes.in_context:InContext", "messages"),
        "reply-head": ("turnlens.training.recipes.reply_head:ReplyHeadRecipe", "next replies"),
    },
    "METHODS",
)

# How whole conversations are pooled -> its function, see `turnlens.encoders.poolings`. A role follows "speaker:".
POOLINGS: Table[Any] = Table(
    {
        "mean": "turnlens.encoders.poolings:mean",
        "messages": "turnlens.encoders.message_pooling:pool_messages",
        "speaker:": "turnlens.encoders.poolings:mean_of_role",
    },
    "POOLINGS",
)

# Method -> the class of its recipe with the settings of its paper (the preset "paper").
PUBLISHED: Table[Any] = Table({}, "PUBLISHED")

# What a method adds to the weights of a transformer, under this name -> the function that adds it to an encoder again,
# ``(encoder, path of model.safetensors)``.
ADDED_WEIGHTS: Table[Any] = Table({}, "ADDED_WEIGHTS")

_TEXTS = "turnlens.evaluation.messages"
_WHOLES = "turnlens.evaluation.conversations"
_ORDER = "turnlens.evaluation.replies"

# Task -> its `Task`.
TASKS: Table[Any] = Table(
    {
        "semantic-retrieval": f"{_TEXTS}.semantic_retrieval:SEMANTIC_RETRIEVAL",
        "semantic-retrieval-with-history": f"{_TEXTS}.retrieval_with_history:RETRIEVAL_WITH_HISTORY",
        "conversation-retrieval": f"{_WHOLES}.conversation_retrieval:CONVERSATION_RETRIEVAL",
        "next-message": f"{_ORDER}.next_message:NEXT_MESSAGE",
        "intent-discovery": "turnlens.report.intent_discovery:INTENT_DISCOVERY",
    },
    "TASKS",
)

# An encoder of an extension is known by the name of a prompt that all of its kind have. Prompt -> the subclass of
# `turnlens.ReplyModel` that serves the encoder, and its modes of the task next-message.
REPLY_MODELS: Table[Any] = Table({}, "REPLY_MODELS")
NEXT_MESSAGE_MODES: Table[Any] = Table({}, "NEXT_MESSAGE_MODES")

# A checkpoint that others published may have tokens, but no prompts. Token -> what gives the encoder its prompts.
PUBLISHED_PROMPTS: Table[Any] = Table({}, "PUBLISHED_PROMPTS")


def check_method(name: str) -> str:
    """Return the name of a method to train, if there is such a method.

    Raises:
        ValueError: There is none of that name; the message lists the names that exist.
    """
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}{did_you_mean(name, METHODS)}: expected one of {', '.join(METHODS)}")
    return name


def check_pooling(name: str) -> str:
    """Return the name of a way to pool whole conversations, if there is such a way.

    Raises:
        ValueError: There is none of that name; the message lists the names that exist.
    """
    kind, colon, role = name.partition(":")
    if f"{kind}{colon}" not in POOLINGS or (colon and not role):
        names = ", ".join(repr(f"{way}<role>" if way.endswith(":") else way) for way in POOLINGS)
        raise ValueError(f"pooling must be one of {names}, got {name!r}")
    return name


def check_task(name: str) -> str:
    """Return the name of a task to evaluate, written with hyphens; underscores are accepted as well.

    Raises:
        ValueError: There is none of that name; the message lists the names that exist.
    """
    task = name.replace("_", "-")
    if task not in TASKS:
        raise ValueError(f"unknown task {name!r}{did_you_mean(task, TASKS)}: expected one of {', '.join(TASKS)}")
    return task
