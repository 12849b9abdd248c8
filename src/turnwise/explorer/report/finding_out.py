"""Finding out what conversations are about: their groups. What the page shows besides is in `shown.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from turnwise._utils.progress import note, progress_of, shows_progress
from turnwise._utils.vectors import Vectors
from turnwise.encoders.context_projection import (
    ContextProjection,
    ProjectedVectors,
    fit_context_projection,
)
from turnwise.explorer.boilerplate import Spans
from turnwise.explorer.corpus import Corpus, in_history
from turnwise.explorer.groups.memory import ASKED, KINDS, Basis, GroupMemory, Kind, Memory
from turnwise.explorer.groups.settings import GroupSettings
from turnwise.explorer.groups.survey import Survey, survey
from turnwise.explorer.report.findings import Findings
from turnwise.explorer.report.groups import Naming, named_groups
from turnwise.explorer.report.report import Report
from turnwise.explorer.requests import requests_of
from turnwise.explorer.said import as_said
from turnwise.explorer.speakers import Speakers
from turnwise.store import ConversationStore

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
        naming: Names new groups, see `turnwise.explorer.build_report`.
    """
    corpus = as_said(corpus, struck, store, folder)
    context = _context_projection(store, corpus, remembered)
    vectors = _vectors_of(corpus, context)
    asked = remembered.get(ASKED)
    if former is None:
        is_request, asked = requests_of(corpus, vectors["message"], speakers, settings, asked)
    else:
        is_request = former.messages["request"]
    speakers = speakers.with_requests(is_request)
    if settings.history:
        vectors["message"] = in_history(vectors["message"], corpus, folder)
    surveys = {
        kind: _survey(corpus, vectors[kind], speakers, kind, settings, remembered.get(kind), former) for kind in KINDS
    }
    groups, memory = named_groups(corpus, speakers, surveys, naming)
    basis = _basis(store, vectors["message"], speakers, surveys["message"], settings, context)
    memory["message"] = replace(memory["message"], basis=basis)
    if asked is not None:
        memory[ASKED] = asked
    columns: dict[Kind, dict[str, np.ndarray]] = {
        kind: {"group": survey.groups.astype(np.int32)} for kind, survey in surveys.items()
    }
    columns["message"]["request"] = is_request
    columns["conversation"]["similar"] = _similar(surveys["conversation"])
    return Findings(columns, {kind: survey.neighbours for kind, survey in surveys.items()}, groups, None), memory


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
) -> Survey:
    known = None if former is None else former.neighbours[kind]
    texts = corpus.texts if kind == "message" else corpus.ids
    if not shows_progress():
        note(f"Grouping {len(texts):,} {kind}s")
    with progress_of(f"grouping {kind}s", len(texts)) as advance:
        return survey(vectors, texts, settings, memory, known, speakers if kind == "message" else None, advance)


def _context_projection(store: ConversationStore, corpus: Corpus, remembered: Memory) -> ContextProjection | None:
    """The projection that groups were found with, until there are twice or half as many messages as taught it."""
    basis = remembered["message"].basis if "message" in remembered else None
    if basis is not None and basis.context is not None and basis.digest == store.tables().state.digest:
        known = basis.context
        if known.messages / _OUTGROWN < len(corpus.texts) < known.messages * _OUTGROWN:
            return known
    return fit_context_projection(corpus.vectors, corpus.conversation, corpus.speaks)


def _basis(
    store: ConversationStore,
    vectors: Vectors,
    speakers: Speakers,
    survey: Survey,
    settings: GroupSettings,
    context: ContextProjection | None,
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
    )


def _similar(survey: Survey) -> np.ndarray:
    """The nearest conversations of each conversation (m, 5); -1 where there are fewer."""
    similar = np.full((len(survey.groups), _SIMILAR), -1, np.int32)
    if len(survey.sample):
        near = survey.sample[survey.neighbours.rows[:, :_SIMILAR]]
        similar[:, : near.shape[1]] = near
    return similar
