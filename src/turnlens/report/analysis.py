"""The analysis of a corpus: its requests, groups and numbers; and the columns that only the explorer's page shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from turnlens._utils.progress import note, progress_of, shows_progress
from turnlens._utils.vectors import Vectors
from turnlens.encoders.context_projection import ContextProjection, fit_context_projection
from turnlens.groups.answer_guess import Answers, LinearGuess, answered_vectors, fit_answer_guess
from turnlens.groups.canned_replies import canned_texts
from turnlens.groups.group_model import ASKED, KINDS, Basis, GroupModel, GroupModels, Kind
from turnlens.groups.group_settings import GroupSettings
from turnlens.groups.map_layout import layout, place, scaled
from turnlens.groups.neighbours import Neighbours
from turnlens.groups.pipeline import Grouping, Parts, group_vectors
from turnlens.report.boilerplate import Spans, boilerplate_hashes, without_boilerplate
from turnlens.report.corpus import Corpus, in_history, means_of
from turnlens.report.find_requests import requests_of
from turnlens.report.group_names import Naming
from turnlens.report.report import Report
from turnlens.report.report_groups import named_groups
from turnlens.report.speakers import Speakers
from turnlens.report.stored_analysis import Analysis
from turnlens.report.surprise import measure_surprise
from turnlens.report.unhappiness import UNHAPPY, unhappiness, unhappy_conversations

_SIMILAR = 5
_OUTGROWN = 2  # times as many messages as a projection was learned from
_OF_PAGE = ("x", "y", "surprise")


def analyse(
    corpus: Corpus,
    boilerplate: Sequence[Spans],
    speakers: Speakers,
    settings: GroupSettings,
    models: GroupModels,
    former: Report | None = None,
    naming: Naming | None = None,
) -> tuple[Analysis, GroupModels]:
    """Analyse a corpus: find its requests, measure its conversations, group messages and conversations, name groups.

    Groups of the corpus before it grew keep their ids and names. Of a former report on the same data, all but groups is
    taken over.
    """
    hashes = boilerplate_hashes(corpus, boilerplate)
    corpus = without_boilerplate(corpus, boilerplate)
    # With the messages before it, the same text may mean different things: it is not canned, and needs no answer.
    canned, answers = np.full(len(corpus.texts), -1), None
    if not settings.history:
        canned = canned_texts(corpus.plain, speakers.part)
        answers = Answers(corpus.role, corpus.conversation, speakers.asks, corpus.speaks)
    context, guess = _learned(corpus, speakers, settings, answers, models)
    vectors = _projected(corpus, context)
    asked = models.get(ASKED)
    if former is None:
        with progress_of("finding requests", None):
            is_request, asked = requests_of(corpus, vectors["message"], speakers, settings, asked)
        unhappy = unhappiness(corpus, speakers.asks, is_request)
    else:
        is_request, unhappy = former.messages["request"], former.messages[UNHAPPY]
    speakers = speakers.with_requests(is_request)
    if guess is not None:  # the same text may mean different things if its answers differ
        canned = np.where(speakers.asks, -1, canned)
    if settings.history:
        vectors["message"] = in_history(vectors["message"], corpus)
    elif context is not None and answers is not None and guess is not None:
        vectors["message"] = context.of_each(answered_vectors(corpus.vectors, answers, guess))
    groupings = {
        kind: _grouped(corpus, vectors[kind], kind, settings, models.get(kind), former, speakers.grouped(canned))
        for kind in KINDS
    }
    with progress_of("naming groups", None):
        groups, models = named_groups(corpus, speakers, groupings, naming)
    sample = groupings["message"].sample
    basis = Basis(
        vectors=np.asarray(vectors["message"][sample], np.float16),
        role=np.asarray(speakers.part[sample], np.int64),
        roles=[part.role for part in speakers.parts],
        encoder=corpus.encoder.name,
        digest=corpus.encoder.digest,
        history=settings.history,
        context=context,
        asker=speakers.asker,
        answers=guess,
        boilerplate=hashes,
    )
    models["message"] = replace(models["message"], basis=basis)
    if asked is not None:
        models[ASKED] = asked
    columns: dict[Kind, dict[str, np.ndarray]] = {
        kind: {"group": grouping.groups.astype(np.int32)} for kind, grouping in groupings.items()
    }
    columns["message"] |= {"request": is_request, UNHAPPY: unhappy}
    columns["conversation"]["similar"] = _similar(groupings["conversation"])
    neighbours = {kind: grouping.neighbours for kind, grouping in groupings.items()}
    return Analysis(columns, neighbours, groups, unhappy_conversations(unhappy, corpus)), models


def add_page_columns(
    corpus: Corpus, analysis: Analysis, models: GroupModels, former: Report | None, seed: int
) -> tuple[Analysis, GroupModels]:
    """Add the columns x, y and surprise to an analysis, and places on the map to its groups.

    They are those of a former report on the same data, if it has them.
    """
    if former is not None and former.has_map:
        columns = {kind: {name: former.columns(kind)[name] for name in _OF_PAGE} for kind in KINDS}
    else:
        for kind in KINDS:
            if len(models[kind].places) != len(models[kind].keys) or not np.isfinite(models[kind].places).all():
                places = layout(models[kind].neighbours, seed, models[kind].places)
                models = models | {kind: replace(models[kind], places=places)}
        surprises = measure_surprise(corpus, seed)
        of_conversations = means_of(surprises, corpus.first).astype(np.float32)
        columns = {
            kind: {**_placed(analysis.neighbours[kind], models[kind], seed), "surprise": values}
            for kind, values in zip(KINDS, (surprises, of_conversations))
        }
    return replace(analysis, columns={kind: {**analysis.columns[kind], **columns[kind]} for kind in KINDS}), models


def _projected(corpus: Corpus, context: ContextProjection | None) -> dict[Kind, Vectors]:
    """Project the vectors that are grouped. Those of conversations have a mean of their own."""
    if context is None:
        return {"message": corpus.vectors, "conversation": corpus.conversation_vectors}
    of_conversations = replace(context, mean=np.mean(corpus.conversation_vectors, axis=0))
    return {
        "message": context.of_each(corpus.vectors),
        "conversation": of_conversations.of_each(corpus.conversation_vectors),
    }


def _grouped(
    corpus: Corpus,
    vectors: Vectors,
    kind: Kind,
    settings: GroupSettings,
    model: GroupModel | None,
    former: Report | None,
    parts: Parts,
) -> Grouping:
    known = None if former is None else former.neighbours[kind]
    texts = corpus.texts if kind == "message" else corpus.ids
    if not shows_progress():
        note(f"Grouping {len(texts):,} {kind}s")
    with progress_of(f"grouping {kind}s", len(texts)) as advance:
        return group_vectors(vectors, texts, settings, model, known, parts if kind == "message" else None, advance)


def _learned(
    corpus: Corpus, speakers: Speakers, settings: GroupSettings, answers: Answers | None, models: GroupModels
) -> tuple[ContextProjection | None, LinearGuess | None]:
    """Return the projection and the guess from answers that groups were fitted with, or learn new ones.

    They are learned again when there are twice or half as many messages as taught them.
    """
    basis = models["message"].basis if "message" in models else None
    fitted_with = (corpus.encoder.digest, settings.history, speakers.asker)
    if basis is not None and basis.context is not None and (basis.digest, basis.history, basis.asker) == fitted_with:
        messages = basis.context.messages
        if messages / _OUTGROWN < len(corpus.texts) < messages * _OUTGROWN:
            return basis.context, basis.answers
    context = fit_context_projection(corpus.vectors, corpus.conversation, corpus.speaks)
    if context is None or answers is None:
        return context, None
    return context, fit_answer_guess(corpus.vectors, answers)


def _similar(grouping: Grouping) -> np.ndarray:
    """Return the nearest conversations of each conversation (m, 5); -1 if there are fewer."""
    similar = np.full((len(grouping.groups), _SIMILAR), -1, np.int32)
    if len(grouping.sample):
        near = grouping.sample[grouping.neighbours.rows[:, :_SIMILAR]]
        similar[:, : near.shape[1]] = near
    return similar


def _placed(neighbours: Neighbours, model: GroupModel, seed: int) -> dict[str, np.ndarray]:
    count = len(neighbours.rows)
    places = scaled(model.places) if len(model.places) else model.places
    x, y = (place(neighbours, places, seed) if len(places) else np.zeros((count, 2), np.float32)).T
    return {"x": x, "y": y}
