"""Making a report about a store, or about conversations in memory."""

from __future__ import annotations

import os
import tempfile
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from turnlens._utils.progress import note
from turnlens.data.conversation_source import ConversationSource
from turnlens.groups.group_model import GroupModels, are_stored, read_models, write_models
from turnlens.groups.group_settings import GroupSettings
from turnlens.report.boilerplate import find_boilerplate
from turnlens.report.corpus import Corpus, Texts, embedded_corpus, stored_corpus
from turnlens.report.report import Report
from turnlens.report.seed_groups import Seeds, examples_of, with_seeds
from turnlens.report.speakers import speakers_of, with_opener_roles
from turnlens.report.stored_analysis import Analysis, read_analysis, write_analysis
from turnlens.report.summary import write_summary
from turnlens.store import ConversationStore, StoreError
from turnlens.store.rewrites import OVERVIEW_FILE

if TYPE_CHECKING:
    from turnlens.report.group_names import Naming
    from turnlens.store.open_arguments import Encoder


def build_report(
    store: ConversationStore,
    *,
    seed: int = 0,
    settings: GroupSettings | None = None,
    former: Report | None = None,
    naming: Naming | None = None,
    seeds: Seeds | None = None,
    page: bool = True,
) -> Report:
    """Make a report about the conversations of a store, without embedding anything.

    The store keeps its groups in a file, so that they keep their ids and names when data grow. It keeps the rest of the
    analysis in a second file, so that nothing is computed again for an unchanged store. A store that was opened
    read-only keeps neither.

    Args:
        store: The store.
        seed: Seed of the sample that groups are fitted to, of the groups, and of the map.
        settings: The settings of the groups; their own seed is replaced by ``seed``.
        former: An earlier report on the same store, for example from before an edit of groups. Whatever has not changed
            since is taken from it.
        naming: Names new groups from their phrases and the texts of their central members.
        seeds: Groups that the user knows, see `turnlens.cluster`.
        page: Add what only the explorer's page shows: the map, and surprise.

    Raises:
        ValueError: The store is empty, the settings name a role that it does not have, or seeds are not as they
            should be.
        StoreError: It is on a server; or seeds are given, and it is read-only.

    Examples:
        >>> texts = [text for n in range(20) for text in (f"Where is parcel {n}?", f"Please cancel order {n}.")]
        >>> chats = [{"id": text, "messages": [{"role": "user", "content": text}]} for text in texts]
        >>> report = build_report(ConversationStore.create("chats.store", chats), page=False)
        >>> report.title, report.speakers.asker, report.has_map
        ('chats', 'user', False)
    """
    if examples_of(seeds or {}) and store.read_only:
        raise StoreError(f"{store.path} was opened read-only, and cannot keep the groups of seeds")
    if not isinstance(store.path, Path):
        raise StoreError(f"{store.path}: groups are kept in a store's folder: turnlens index --store DIR makes one")
    settings = replace(settings or GroupSettings(), seed=seed)
    with tempfile.TemporaryDirectory(prefix="turnlens-") as folder:
        corpus = stored_corpus(store, Path(folder))
        return _report(corpus, settings, naming, seeds or {}, former, page, store.path, store.read_only)


def report_in_memory(
    data: ConversationSource,
    encoder: Encoder,
    settings: GroupSettings,
    naming: Naming | None = None,
    seeds: Seeds | None = None,
) -> Report:
    """Make a report about conversations that are in no store, without what only the explorer's page shows.

    Arguments and errors are those of `turnlens.cluster`.
    """
    examples_of(seeds or {})  # before anything is embedded
    with tempfile.TemporaryDirectory(prefix="turnlens-") as folder:
        corpus = embedded_corpus(data, encoder, Path(folder))
        return _report(corpus, settings, naming, seeds or {})


def open_store(data: ConversationStore | ConversationSource, encoder: Encoder) -> ConversationStore | None:
    """Open a store; ``None`` for conversations.

    Args:
        data: A store or its folder; or conversations, as `turnlens.read_conversations` reads them.
        encoder: The encoder, its folder or its Hub name; by default that of the store.
    """
    if isinstance(data, ConversationStore):
        return data
    if isinstance(data, str | os.PathLike) and not Path(data).is_file():
        return ConversationStore.open(Path(data), encoder=encoder, create=False)
    return None


def _report(
    corpus: Corpus,
    settings: GroupSettings,
    naming: Naming | None,
    seeds: Seeds,
    former: Report | None = None,
    page: bool = False,
    path: Path | None = None,
    read_only: bool = True,
) -> Report:
    """Report about a corpus in memory, or in the folder of a store, where a read-only one keeps nothing.

    Groups have the names of their seeds; see `build_report`.
    """
    corpus = with_opener_roles(corpus, settings.role)
    speakers = speakers_of(corpus, settings.role)
    fitting = replace(settings, role=None)  # what it changes is in the parts
    stamp = f"{corpus.stamp} {fitting} {speakers.stamp}"
    former = former if former is not None and former.stamp == stamp else None
    models = {} if path is None else read_models(path)
    kept = read_analysis(path, stamp, corpus.ids, models) if former is None and path is not None else None
    if former is not None:
        boilerplate = former.boilerplate
    else:
        boilerplate = find_boilerplate(corpus.texts, corpus.conversation, corpus.role, corpus.vectors)

    def made(models: GroupModels, kept: Analysis | None, former: Report | None) -> tuple[Report, GroupModels]:
        """Return the report and its groups, after a store has kept what is new; ``kept`` is what it had."""
        analysis = kept
        if analysis is None:
            from turnlens.report.analysis import analyse  # its libraries take seconds to load

            analysis, models = analyse(corpus, boilerplate, speakers, fitting, models, former, naming)
        if page and "x" not in analysis.columns["message"]:
            from turnlens.report.analysis import add_page_columns

            analysis, models = add_page_columns(corpus, analysis, models, former, settings.seed)
        report = Report(
            **{shared.name: getattr(corpus, shared.name) for shared in fields(Texts)},
            made=datetime.now(UTC).isoformat(timespec="seconds"),
            encoder=corpus.encoder.name,
            stamp=stamp,
            settings=settings,
            boilerplate=boilerplate,
            speakers=speakers.with_requests(analysis.columns["message"]["request"]),
            groups=analysis.groups,
            messages={**analysis.columns["message"], **corpus.columns("message")},
            conversations={**analysis.columns["conversation"], **corpus.columns("conversation")},
            numbers={**corpus.numbers, **analysis.numbers},
            neighbours=analysis.neighbours,
        )
        if path is not None and not read_only and (analysis is not kept or not (path / OVERVIEW_FILE).exists()):
            _keep(path, models, analysis if former is None else None, report)
        return report, models

    report, models = made(models, kept, former)
    seeded = with_seeds(models["message"], seeds, corpus.encoder.load(), speakers.asker) if seeds else None
    if seeded is not None:
        report, _ = made(models | {"message": seeded}, None, report)
        if path is not None:
            write_summary(path, report)
    return report


def _keep(path: Path, models: GroupModels, analysis: Analysis | None, report: Report) -> None:
    """Keep an analysis in a store; after edits, which follow each other quickly, only the groups."""
    try:
        if not are_stored(path, models):
            write_models(path, models)
        if analysis is not None:
            write_analysis(path, report.stamp, report.ids, analysis)
            write_summary(path, report)
    except OSError as error:  # a store on a read-only disk can be explored all the same
        note(f"the groups cannot be kept in {path}: {error}")
