"""All tasks at once: the specialists of the three papers, the average of their weights, and one encoder for all tasks.

Each row learns from a data set's conversations and is measured in all tasks that the data set has labels for, including
tasks that its training was not made for. So the table shows what a training does to the other tasks.
"""

from __future__ import annotations

from pathlib import Path

from turnwise.data.conversations import read_conversations
from turnwise.data.sample_corpus import sample_conversations
from turnwise.papers.experiments.data_sets import SGD, DataSet, Splits, files, needed, sample_corpus
from turnwise.papers.experiments.method import Method, Stage
from turnwise.papers.experiments.scoring import every_level
from turnwise.papers.experiments.suite import Scale, Suite, same_settings
from turnwise.papers.triple_encoders.table import daily_dialog

# --- Rows

_CSE = (Stage("dialogue-cse"),)
_DIAL2VEC = (Stage("dial2vec"),)
_C3L = (Stage("ccl"), Stage("c3l"))
_TEACHER = (Stage("single-vector"),)
_IN_CONTEXT = (Stage("in-context", {"context": "joined"}),)  # as measured in docs/research-log
_HEAD = Stage("reply-head")
_CENTRE = Stage("centre")  # the centre of dialogues; vectors of messages stay as they are
_BI = every_level("mean", "bi")
_COMPOSED = every_level("messages", "composed")


def _unified(merged: str) -> tuple[Stage, ...]:
    """Two separate trainings merged into one encoder, followed by what is fitted to its vectors."""
    return (Stage(merged, models=(_CSE, _IN_CONTEXT)), _HEAD, _CENTRE)


_METHODS = (
    Method("untouched", "encoder, untouched", _BI),
    Method("messages", "encoder, untouched, dialogues from messages", every_level("messages", "bi")),
    Method("centred", "encoder, untouched, ″, centred", every_level("messages", "bi"), (_CENTRE,), proposed=True),
    Method("dialogue-cse", "DialogueCSE", _BI, _CSE),
    Method("dial2vec", "dial2vec", _BI, _DIAL2VEC),
    Method("c3l", "C3L", every_level("mean", "average", "last-2"), _C3L),
    Method("average", "average of their weights", _BI, (Stage("average", models=(_CSE, _DIAL2VEC, _C3L)),)),
    Method("reply-head", "reply head", _COMPOSED, (_HEAD, _CENTRE), proposed=True),
    Method("in-context", "learning from context", _BI, _IN_CONTEXT, proposed=True),
    Method("unified", "unified: DialogueCSE and context, averaged", _COMPOSED, _unified("average"), proposed=True),
    Method("unified-sum", "unified: ″, added up", _COMPOSED, _unified("sum"), proposed=True),
    Method("joint", "all losses in one training", _COMPOSED, (Stage("unified"), _CENTRE), proposed=True),
    Method("joint-taught", "″, with a teacher", _COMPOSED, (Stage("unified", {}, (_TEACHER,)), _CENTRE), proposed=True),
)

# --- Data sets

# Chosen on the development sets, see docs/research-log: messages of small talk say little by themselves.
_OF_TASKS, _OF_SMALL_TALK = {"centre": {"stretch": 0.0}}, {"centre": {"distill": True}}

_INTENTS, _NEXT = "semantic-retrieval", "next-message"
_DIALOGUES = ("domain-categorization", "semantic-relatedness", "conversation-retrieval")


def _sgd_elsewhere(folder: Path) -> Splits:
    """Learn from one corpus, and test on the intents and domains of another."""
    return Splits(read_conversations(needed(folder, "sgd/train")), sample_conversations(300, seed=0))


_DATA = (
    DataSet("sgd", "Schema-Guided Dialogue", (_INTENTS, *_DIALOGUES, _NEXT), SGD, settings=_OF_TASKS),
    DataSet("dailydialog", "DailyDialog", (_NEXT,), daily_dialog),
    DataSet(
        "self-dialogue",
        "Self-dialogue",
        (*_DIALOGUES, _NEXT),
        files("self_dialogue/train", "self_dialogue/dev"),
        settings=_OF_SMALL_TALK,
    ),
    DataSet(
        "elsewhere",
        "learned from SGD, tested on the sample corpus",
        (_INTENTS, _DIALOGUES[-1]),
        _sgd_elsewhere,
        settings=_OF_TASKS,
    ),
    sample_corpus((_INTENTS, _DIALOGUES[-1], _NEXT), conversations=600),
)

# --- Sizes of runs

_TRAININGS = ("dialogue-cse", "dial2vec", "ccl", "c3l", "in-context", "single-vector", "unified")

SUITE = Suite(
    name="unified",
    level="reply",
    methods=_METHODS,
    data=_DATA,
    # The same small number of steps for all, so that a run takes hours and not days.
    full=Scale(settings={**same_settings(_TRAININGS, max_steps=100), "reply-head": {"sample": 2000}}, queries=800),
    quick=Scale(
        settings={
            **same_settings(_TRAININGS, max_steps=10, batch_size=4),
            "in-context": {"max_steps": 10, "batch_size": 64},
            "dial2vec": {"max_steps": 3},
        },
        train=200,
        test=100,
        queries=50,
    ),
)
