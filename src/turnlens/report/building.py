"""Making a report about a store."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from turnlens._utils.progress import note, progress_of
from turnlens.groups.boilerplate import Spans, boilerplate
from turnlens.groups.group_memory import Memory, is_remembered, read_memory, write_memory
from turnlens.groups.group_settings import GroupSettings
from turnlens.groups.speakers import Speakers
from turnlens.report.askers import speakers_of
from turnlens.report.corpus import Corpus, read_corpus
from turnlens.report.findings import Findings, read_findings, read_heads, write_findings
from turnlens.report.first_speakers import with_openers
from turnlens.report.known_groups import Seeds, aside_of, examples_of, plant
from turnlens.report.overview import write_overview
from turnlens.report.report import Report
from turnlens.store import ConversationStore, StoreError
from turnlens.store.erasing import OVERVIEW_FILE

if TYPE_CHECKING:
    from turnlens.report.report_groups import Naming


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
    """Find out what the conversations of a store are about, without embedding anything.

    The store remembers its groups in a file, so that they keep their ids and names when data grows. It keeps the other
    findings in a second file, so that nothing is computed again for an unchanged store. A store that was opened
    read-only keeps neither.

    Args:
        store: The store.
        seed: Seed of the sample that groups are fitted to, of the groups, and of the map.
        settings: How groups are made; their own seed is replaced by ``seed``.
        former: An earlier report on the same store, for example from before an edit of groups. Whatever has not changed
            since is taken from it.
        naming: Names new groups from their phrases and the texts of their central members.
        seeds: Groups that the user knows, see `turnlens.cluster`.
        page: Also find out what only the explorer's page shows: the map, and surprise.

    Raises:
        ValueError: The store is empty, the settings name a role that it does not have, or seeds are not as they
            should be.
        StoreError: It is on a server; or seeds are given, and it is read-only.
    """
    settings = replace(settings or GroupSettings(), seed=seed)
    examples = examples_of(seeds or {})
    if examples and store.read_only:
        raise StoreError(f"{store.path} was opened read-only, and cannot keep the groups of seeds")
    if not isinstance(store.path, Path):
        raise StoreError(f"{store.path}: groups are kept in a store's folder: turnlens index --store DIR makes one")
    tables = store.tables()
    with tempfile.TemporaryDirectory(prefix="turnlens-") as folder:
        with progress_of("reading", tables.messages.count_rows()) as advance:
            corpus = with_openers(read_corpus(tables, Path(folder), advance), settings.role)
        speakers = speakers_of(corpus, settings.role)
        fitting = replace(settings, role=None)  # what it changes is in the parts
        stamp = f"{tables.state.folder} {tables.state.messages} {tables.state.conversations} {fitting} {speakers.stamp}"
        if former is not None and former.stamp != stamp:
            former = None
        struck = (
            boilerplate(corpus.texts, corpus.conversation, corpus.role, corpus.vectors)
            if former is None
            else former.struck
        )
        memory = read_memory(store.path)
        kept = read_findings(store.path, stamp, corpus.ids, memory) if former is None else None
        findings = kept
        if findings is None:
            from turnlens.report.analysis import find_out  # its libraries take seconds to load

            findings, memory = find_out(store, corpus, struck, speakers, Path(folder), fitting, memory, former, naming)
            findings = replace(findings, heads=read_heads(store.path))
        if page and "x" not in findings.columns["message"]:
            from turnlens.report.page_columns import add_shown

            findings, memory = add_shown(store, corpus, findings, memory, former, settings.seed)
        speakers = speakers.with_requests(findings.columns["message"]["request"])
        title = store.path.name.removesuffix(".store")
        report = _report(title, tables.state.encoder, stamp, settings, corpus, struck, speakers, findings)
        if not store.read_only and (findings is not kept or not (store.path / OVERVIEW_FILE).exists()):
            _keep(store.path, memory, findings if former is None else None, report)
    if examples and plant(store, examples, speakers.asker, aside_of(seeds or {})):
        report = build_report(store, seed=seed, settings=settings, former=report, naming=naming, page=page)
        write_overview(store.path, report)
    return report


def _keep(path: Path, memory: Memory, findings: Findings | None, report: Report) -> None:
    """Keep in a store what was found out; after edits, which follow each other quickly, only the groups."""
    try:
        if not is_remembered(path, memory):
            write_memory(path, memory)
        if findings is not None:
            write_findings(path, report.stamp, report.ids, findings)
            write_overview(path, report)
    except OSError as error:  # a store on a read-only disk can be explored all the same
        note(f"the groups cannot be kept in {path}: {error}")


def _report(
    title: str,
    encoder: str,
    stamp: str,
    settings: GroupSettings,
    corpus: Corpus,
    struck: Sequence[Spans],
    speakers: Speakers,
    findings: Findings,
) -> Report:
    return Report(
        title=title,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        encoder=encoder,
        stamp=stamp,
        settings=settings,
        ids=corpus.ids,
        texts=corpus.texts,
        struck=struck,
        roles=corpus.roles,
        speakers=speakers,
        groups=findings.groups,
        surprise=findings.surprise,
        messages={
            **findings.columns["message"],
            "conversation": corpus.conversation,
            "turn": corpus.turn,
            "role": corpus.role,
            "time": corpus.time,
        },
        conversations={
            **findings.columns["conversation"],
            "first": corpus.first,
            "turns": corpus.turns,
            "time": corpus.conversation_time,
        },
        message_labels=corpus.message_labels,
        conversation_labels=corpus.conversation_labels,
        numbers={**corpus.numbers, **findings.numbers},
        message_numbers=corpus.message_numbers,
        neighbours=findings.neighbours,
    )
