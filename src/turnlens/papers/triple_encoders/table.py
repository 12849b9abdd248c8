"""Triple-Encoders (Erker et al., ACL 2024): Figure 6, Tables 2 to 7."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from turnlens.data.conversations import read_conversations
from turnlens.papers.experiments.scoring import convert, turn_order
from turnlens.papers.experiments.suite import (
    SGD,
    DataSet,
    Method,
    Scale,
    Splits,
    Stage,
    Suite,
    files,
    find,
    held_out,
    needed,
    same_settings,
    sample_corpus,
)

# --- Rows

_NEXT = ("next-message",)
_ORDER = (*_NEXT, "short-term-planning", "additivity")

_TRIPLE = turn_order("average", "last-1", "last-2", "last-3", "last-4", "max", "bi")
_ABLATION = turn_order("average", "last-2", "bi")
_BI = turn_order("bi")

_SINGLE_VECTOR = (Stage("single-vector", {"learning_rate": 2e-4, "frozen_layers": 0}),)  # as for the others here
_HEAD = (Stage("reply-head"),)
_CCL = (Stage("ccl"),)
_SCRATCH = (Stage("c3l", {"ccl_first": False}),)
_HARD_POSITIVES = (Stage("c3l", {"ccl_first": False, "curved": False}),)  # as Table 4 has them, without CCL before
_NO_PAIRS = {"nli": None}  # no data set here has inference pairs
_CCL_PAPER = (Stage("ccl:paper", _NO_PAIRS),)
_C3L_PAPER = (*_CCL_PAPER, Stage("c3l:paper", _NO_PAIRS))


def _c3l(**settings: Any) -> tuple[Stage, ...]:
    return (*_CCL, Stage("c3l", settings))


def _ablation(name: str, title: str, stages: tuple[Stage, ...]) -> Method:
    return Method(name, f"C3L, {title}", _ABLATION, stages, tasks=_ORDER)


_METHODS = (
    Method("untouched", "encoder, untouched", turn_order("bi", "single"), tasks=_ORDER),
    Method("bm25", "BM25", turn_order("bm25"), tasks=_NEXT),
    Method("single-vector", "single vector (ConveRT-style)", turn_order("single"), _SINGLE_VECTOR, tasks=_NEXT),
    Method("convert", "ConveRT, small, from scratch", convert(), learns="randomly", tasks=_NEXT),
    Method("reply-head", "reply head, encoder untouched", turn_order("composed"), _HEAD, tasks=_NEXT),
    Method("ccl", "CCL", _BI, _CCL, tasks=_ORDER),
    # As many steps as C3L, including the steps of CCL before it.
    Method("ccl-longer", "CCL, trained as long as C3L", _BI, (*_CCL, *_CCL), tasks=_ORDER),
    Method("c3l", "C3L", _TRIPLE, _c3l()),
    _ablation("c3l-scratch", "no CCL before", _SCRATCH),
    _ablation("c3l-directional", "directional negatives", _c3l(directional=True)),
    _ablation("c3l-hard-positives", "hard positives, no CCL before", _HARD_POSITIVES),
    _ablation("c3l-bi-positives", "bi-encoder positives", _c3l(positives="bi")),
    Method("ccl-paper", "CCL, as published, no inference pairs", _BI, _CCL_PAPER, tasks=_ORDER),
    Method("c3l-paper", "C3L, as published, no inference pairs", _TRIPLE, _C3L_PAPER),
)

# --- Data sets

_TASKS = (*_ORDER, "component-analysis")


def daily_dialog(folder: Path) -> Splits:
    """Its own splits; without a training file, a tenth of the validation part is for testing."""
    if find(folder, "dailydialog/train"):
        return files("dailydialog/train", "dailydialog/test", "dailydialog/dev")(folder)
    part = find(folder, "dailydialog/train_part")
    splits = held_out("dailydialog/dev", 0.1)(folder)
    return splits if part is None else replace(splits, validation=read_conversations(part))


def persona_chat(folder: Path) -> Splits:
    """Test on another corpus than the training corpus, as in the paper."""
    return replace(daily_dialog(folder), test=read_conversations(needed(folder, "personachat/test")))


_DATA = (
    DataSet("dailydialog", "DailyDialog", _TASKS, daily_dialog),
    DataSet("mdc", "Microsoft dialogue corpus", _TASKS, held_out("mdc/train", 0.1)),
    DataSet("personachat", "PersonaChat, trained on DailyDialog", _TASKS, persona_chat),
    DataSet("sgd", "Schema-Guided Dialogue", _TASKS, SGD),
    DataSet(
        "cbt",
        "Children's Book Test",
        _NEXT,
        files("cbt/train", "cbt/test", "cbt/dev"),
        settings=same_settings(
            ("ccl", "c3l", "ccl:paper", "c3l:paper"), speakers=False
        ),  # appendix F: stories have none
    ),
    sample_corpus(_TASKS),
)

# --- Sizes of runs

_TRAININGS = ("single-vector", "ccl", "c3l")
_PAPER = ("ccl:paper", "c3l:paper")

SUITE = Suite(
    name="triple",
    paper="Triple-Encoders (Erker et al., ACL 2024)",
    level="reply",
    methods=_METHODS,
    validates="next-message",
    data=_DATA,
    full=Scale(settings=same_settings(_TRAININGS, max_steps=300), test=1000),
    quick=Scale(
        settings=same_settings(_TRAININGS, max_steps=10, batch_size=4) | same_settings(_PAPER, max_steps=10),
        train=100,  # ConveRT reads them all several times
        test=100,
        queries=50,
    ),
)
