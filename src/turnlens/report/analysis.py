"""Finding out what conversations are about: their groups. What the page shows besides is in `shown.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from turnlens._utils.progress import note, progress_of, shows_progress
from turnlens._utils.vectors import IntArray, Vectors
from turnlens.encoders.context_projection import (
    ContextProjection,
    ProjectedVectors,
    fit_context_projection,
)
from turnlens.groups.answer_guess import AnsweredVectors, AnswerGuess, answers_to, fit_answer_guess
from turnlens.groups.boilerplate import Spans
from turnlens.groups.group_memory import ASKED, KINDS, Basis, GroupMemory, Kind, Memory
from turnlens.groups.group_settings import GroupSettings
from turnlens.groups.speakers import Speakers
from turnlens.groups.stock_texts import stock_of
from turnlens.groups.survey import Survey, survey
from turnlens.report.corpus import Corpus, in_history
from turnlens.report.failure_signals import SIGNALS, signals
from turnlens.report.find_requests import requests_of
from turnlens.report.findings import Findings
from turnlens.report.report import Report
from turnlens.report.report_groups import Naming, named_groups
from turnlens.report.without_boilerplate import as_said
from turnlens.store import ConversationStore

_SIMILAR = 5
_OUTGROWN = 2  # times as many messages as a projection was learned from


def find_out(
    store: ConversationStore,
    corpus: Corpus,
    struck: Sequence[Spans],
    speakers: Speakers,
    folder: Path,
    settings: GroupSettings,
    remembered: Memory,
    former: Report | None,
    naming: Naming | None,
) -> tuple[Findings, Memory]:
    """Compute the findings about a store, and what the store will remember about its groups.

    Args:
        store: The store.
        corpus: The content of the store.
        struck: Where each message has boilerplate.
        speakers: Whose messages are grouped apart.
        folder: A folder for temporary files of vectors.
        settings: How groups are made.
        remembered: What the store remembers about its groups.
        former: A report on the same data, whose findings need not be computed again.
        naming: Names new groups, see `turnlens.report.build_report`.
    """
    corpus = as_said(corpus, struck, store, folder)
    # With what was said before, the same text may say different things: it is no stock text, and needs no answer.
    stock = None if settings.history else stock_of(corpus.texts, speakers, settings.least_share)
    answer = None if stock is None else _answers(corpus, speakers, stock)
    context, guess = _learned(store, corpus, speakers, settings, answer, remembered)
    vectors = _vectors_of(corpus, context)
    asked = remembered.get(ASKED)
    if former is None:
        is_request, asked = requests_of(corpus, vectors["message"], speakers, settings, asked)
    else:
        is_request = former.messages["request"]
    if former is None:
        numbers = signals(corpus, vectors["message"], speakers.asks, is_request)
    else:
        numbers = {name: former.numbers[name] for name in SIGNALS if name in former.numbers}
    speakers = speakers.with_requests(is_request)
    if settings.history:
        vectors["message"] = in_history(vectors["message"], corpus, folder)
    elif context is not None and answer is not None and guess is not None:
        vectors["message"] = ProjectedVectors(AnsweredVectors(corpus.vectors, answer, guess), context)
    surveys = {
        kind: _survey(corpus, vectors[kind], speakers, kind, settings, remembered.get(kind), former, stock)
        for kind in KINDS
    }
    groups, memory = named_groups(corpus, speakers, surveys, naming)
    basis = _basis(store, vectors["message"], speakers, surveys["message"], settings, context, guess)
    memory["message"] = replace(memory["message"], basis=basis)
    if asked is not None:
        memory[ASKED] = asked
    columns: dict[Kind, dict[str, np.ndarray]] = {
        kind: {"group": survey.groups.astype(np.int32)} for kind, survey in surveys.items()
    }
    columns["message"]["request"] = is_request
    columns["conversation"]["similar"] = _similar(surveys["conversation"])
    neighbours = {kind: survey.neighbours for kind, survey in surveys.items()}
    return Findings(columns, neighbours, groups, numbers, surprise=None), memory


def _vectors_of(corpus: Corpus, context: ContextProjection | None) -> dict[Kind, Vectors]:
    """The vectors that groups are found in. Those of conversations have a mean of their own."""
    if context is None:
        return {"message": corpus.vectors, "conversation": corpus.conversation_vectors}
    of_conversations = replace(context, mean=np.mean(corpus.conversation_vectors, axis=0))
    return {
        "message": ProjectedVectors(corpus.vectors, context),
        "conversation": ProjectedVectors(corpus.conversation_vectors, of_conversations),
    }


def _survey(
    corpus: Corpus,
    vectors: Vectors,
    speakers: Speakers,
    kind: Kind,
    settings: GroupSettings,
    memory: GroupMemory | None,
    former: Report | None,
    stock: IntArray | None,
) -> Survey:
    known = None if former is None else former.neighbours[kind]
    texts = corpus.texts if kind == "message" else corpus.ids
    if not shows_progress():
        note(f"Grouping {len(texts):,} {kind}s")
    with progress_of(f"grouping {kind}s", len(texts)) as advance:
        if kind == "conversation":
            return survey(vectors, texts, settings, memory, known, advance=advance)
        return survey(vectors, texts, settings, memory, known, speakers, stock, advance)


def _answers(corpus: Corpus, speakers: Speakers, stock: IntArray) -> IntArray:
    """The row of the answer to each message of who asks (n,); -1 for none or a macro, which says nothing of it."""
    answer = answers_to(corpus.role, corpus.conversation)
    return np.where(speakers.asks & (stock[answer] < 0), answer, -1)


def _learned(
    store: ConversationStore,
    corpus: Corpus,
    speakers: Speakers,
    settings: GroupSettings,
    answer: IntArray | None,
    remembered: Memory,
) -> tuple[ContextProjection | None, AnswerGuess | None]:
    """The projection and the guess from answers that groups were found with, or new ones.

    They are learned again when there are twice or half as many messages as taught them.
    """
    basis = remembered["message"].basis if "message" in remembered else None
    found_with = (store.tables().state.digest, settings.history, speakers.asker)
    if basis is not None and basis.context is not None and (basis.digest, basis.history, basis.asker) == found_with:
        messages = basis.context.messages
        if messages / _OUTGROWN < len(corpus.texts) < messages * _OUTGROWN:
            return basis.context, basis.answers
    context = fit_context_projection(corpus.vectors, corpus.conversation, corpus.speaks)
    if context is None or answer is None:
        return context, None
    return context, fit_answer_guess(corpus.vectors, answer, corpus.speaks)


def _basis(
    store: ConversationStore,
    vectors: Vectors,
    speakers: Speakers,
    survey: Survey,
    settings: GroupSettings,
    context: ContextProjection | None,
    guess: AnswerGuess | None,
) -> Basis:
    state = store.tables().state
    return Basis(
        vectors=np.asarray(vectors[survey.sample], np.float16),
        role=np.asarray(speakers.part[survey.sample], np.int64),
        roles=[part.role for part in speakers.parts],
        encoder=state.encoder,
        digest=state.digest,
        history=settings.history,
        context=context,
        asker=speakers.asker,
        answers=guess,
    )


def _similar(survey: Survey) -> np.ndarray:
    """The nearest conversations of each conversation (m, 5); -1 where there are fewer."""
    similar = np.full((len(survey.groups), _SIMILAR), -1, np.int32)
    if len(survey.sample):
        near = survey.sample[survey.neighbours.rows[:, :_SIMILAR]]
        similar[:, : near.shape[1]] = near
    return similar
