"""The names of methods and tasks, and the module that defines each; and what the encoders of a paper need.

The names are known without importing anything, so that a wrong name is reported at once, before seconds of loading.
Code that belongs to a paper is in a package of its own, which the rest of turnwise does not import.
"""

from __future__ import annotations

from typing import Any

from turnwise._utils.lazy_table import LazyTable
from turnwise._utils.spelling import did_you_mean

DEFAULT_METHOD = "complete"

# Method -> the class of its recipe.
METHODS: LazyTable[Any] = LazyTable(
    {
        "complete": "turnwise.training.recipes.complete:Complete",
        "in-context": "turnwise.training.recipes.in_context:InContext",
        "reply-head": "turnwise.training.recipes.reply_head:ReplyHeadRecipe",
        "dialogue-cse": "turnwise.papers.dialogue_cse.recipe:DialogueCSE",
        "siamese": "turnwise.papers.baselines.recipes:Siamese",
        "single-vector": "turnwise.papers.baselines.recipes:SingleVector",
        "dial2vec": "turnwise.papers.dial2vec.recipe:Dial2vec",
        "ccl": "turnwise.papers.triple_encoders.recipe:CCL",
        "c3l": "turnwise.papers.triple_encoders.recipe:C3L",
        "local-to-global": "turnwise.papers.tried.local_to_global_recipe:LocalToGlobal",
        "unified": "turnwise.papers.tried.unified_recipe:Unified",
    }
)

# Method -> the class of its recipe with the settings of its paper (the preset "paper").
PUBLISHED: LazyTable[Any] = LazyTable(
    {
        "dialogue-cse": "turnwise.papers.dialogue_cse.published:PublishedDialogueCSE",
        "dial2vec": "turnwise.papers.dial2vec.recipe:PublishedDial2vec",
        "ccl": "turnwise.papers.triple_encoders.published:PublishedCCL",
        "c3l": "turnwise.papers.triple_encoders.published:PublishedC3L",
    }
)

# What a method adds to the weights of a transformer, under this name -> the function that adds it to an encoder again,
# ``(encoder, path of model.safetensors)``.
ADDED_WEIGHTS: LazyTable[Any] = LazyTable(
    {"turn_tables": "turnwise.papers.dial2vec.turn_tables:restore_turn_tables"},
)

_TEXTS = "turnwise.evaluation.messages"
_WHOLES = "turnwise.evaluation.conversations"
_ORDER = "turnwise.evaluation.replies"
_PAPERS = "turnwise.papers"

# Task -> its `Task`.
TASKS: LazyTable[Any] = LazyTable(
    {
        "semantic-retrieval": f"{_TEXTS}.semantic_retrieval:SEMANTIC_RETRIEVAL",
        "semantic-retrieval-with-history": f"{_TEXTS}.retrieval_with_history:RETRIEVAL_WITH_HISTORY",
        "domain-categorization": f"{_WHOLES}.domain_categorization:DOMAIN_CATEGORIZATION",
        "semantic-relatedness": f"{_WHOLES}.semantic_relatedness:SEMANTIC_RELATEDNESS",
        "conversation-retrieval": f"{_WHOLES}.conversation_retrieval:CONVERSATION_RETRIEVAL",
        "next-message": f"{_ORDER}.next_message:NEXT_MESSAGE",
        "intent-discovery": "turnwise.explorer.intent_discovery:INTENT_DISCOVERY",
        # Tasks that belong to a single paper
        "domain-categorization-published": f"{_PAPERS}.dial2vec.published_categorization:PUBLISHED_CATEGORIZATION",
        "component-analysis": f"{_PAPERS}.triple_encoders.component_analysis:COMPONENT_ANALYSIS",
        "dialogue-sts": f"{_PAPERS}.dialogue_cse.dialogue_sts:DIALOGUE_STS",
        "alignment-uniformity": f"{_PAPERS}.dial2vec.alignment_uniformity:ALIGNMENT_UNIFORMITY",
        "short-term-planning": f"{_PAPERS}.triple_encoders.short_term_planning:SHORT_TERM_PLANNING",
        "additivity": f"{_PAPERS}.triple_encoders.additivity:ADDITIVITY",
    }
)

# An encoder of a paper is known by the name of a prompt that all of its kind have. Prompt -> the subclass of
# `turnwise.ReplyModel` that serves the encoder, and its modes of the task next-message.
REPLY_MODELS: LazyTable[Any] = LazyTable({"after": f"{_PAPERS}.triple_encoders.replies:TripleReplies"})
NEXT_MESSAGE_MODES: LazyTable[Any] = LazyTable({"after": f"{_PAPERS}.triple_encoders.modes:TripleModes"})

# A checkpoint that a paper's authors published has tokens, but no prompts. Token -> what gives the encoder its prompts.
PUBLISHED_PROMPTS: LazyTable[Any] = LazyTable({"[BEFORE]": f"{_PAPERS}.triple_encoders.views:views_of"})


def check_method(name: str) -> str:
    """Return the name of a method to train, if there is such a method.

    Raises:
        ValueError: There is none of that name; the message lists the names that exist.
    """
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}{did_you_mean(name, METHODS)}: expected one of {', '.join(METHODS)}")
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
