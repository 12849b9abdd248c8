"""The command `turnlens explore`: conversations in the browser, or as a folder that opens without turnlens."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from turnlens._utils.files import check_file, discard, is_url
from turnlens._utils.progress import console, note
from turnlens.cli.options import Compared, ExploredStore, GivenData, Reading, StoreModel, reads_conversations, takes
from turnlens.cli.store import fill, refuse_other_files

if TYPE_CHECKING:
    from datasets import Dataset

    from turnlens.report import Report
    from turnlens.report.trends import Period
    from turnlens.store import ConversationStore

_PAGE = ".html"

_NOT_LABELS = {"id", "messages", "role", "content"}


@dataclass(frozen=True)
class Grouping:
    """Settings of groups; each field is an option of the commands that make some.

    Options:
        role: The role that asks, such as user, or opener for whoever opens a conversation; by default the one that
            opens most conversations, and opener where roles are names. cluster then writes its groups only.
        seeds: TOML file of groups that you know: a name and a sentence, or a list of examples, for each.
        history: Group messages together with what was said before them, so that an answer is near its question.
        granularity: How fine groups are: coarse, medium or fine, or about how many to find of each role.
    """

    role: str | None = None
    seeds: Path | None = None
    history: bool = False
    granularity: str = "medium"

    @property
    def arguments(self) -> dict[str, Any]:
        """These options as arguments of `turnlens.cluster`.

        Raises:
            ValueError: The granularity is neither a known word nor a number from 1, or the seeds cannot be read.
        """
        from turnlens.report import GroupSettings

        granularity: Any = int(self.granularity) if self.granularity.isdecimal() else self.granularity
        GroupSettings(granularity=granularity)  # refuses what is none
        return {"role": self.role, "seeds": self._seeds(), "history": self.history, "granularity": granularity}

    def _seeds(self) -> dict[str, Any] | None:
        if self.seeds is None:
            return None
        try:
            seeds = tomllib.loads(self.seeds.read_text(encoding="utf-8-sig"))
        except ValueError as error:
            raise ValueError(f"{self.seeds} is not valid TOML: {error}") from error
        from turnlens.report.seed_groups import examples_of

        examples_of(seeds)  # refuses what is none
        return seeds


makes_groups = takes(Grouping, "grouping")


@reads_conversations
@makes_groups
def explore(
    reading: Reading,
    grouping: Grouping,
    data: GivenData = None,
    store: ExploredStore = None,
    export: Path | None = None,
    no_texts: bool = False,
    period: Compared = None,
    port: Annotated[int, typer.Option(min=0, max=65535)] = 0,
    no_browser: bool = False,
    model: StoreModel = None,
    seed: int = 0,
    force: bool = False,
) -> None:
    """Show in the browser what conversations are about, how they continue, and which are unusual.

    The data is put into a store first. If the command is stopped, run it again to continue; it also adds new
    conversations. Nothing leaves this machine. With --export, the report is written to a folder instead, which any
    browser opens without turnlens.

    Example: `turnlens explore chats.jsonl`

    Options:
        export: Write a folder that opens in any browser, or an .html file to mail and print, and exit.
        no_texts: Write the .html file without examples; names become key phrases: words of messages.
        port: Port on this machine; 0 chooses a free one.
        no_browser: Print the address without opening a browser.
    """
    is_mailed = export is not None and export.suffix == _PAGE
    if export is not None:
        from turnlens.page.report_files import check_export

        (check_file if is_mailed else check_export)(export, force)
    if no_texts and not is_mailed:
        raise ValueError("--no-texts is for a file to mail: add --export report.html")
    if period is not None and not is_mailed:
        raise ValueError("--period is for a file to mail: add --export report.html, or choose it on the page")
    from turnlens.report import GroupSettings, build_report

    chosen = grouping.arguments
    known, settings = chosen.pop("seeds"), GroupSettings(**chosen)
    opened = explored_store(data, store, reading, model, "explore")
    report = build_report(opened, seed=seed, settings=settings, seeds=known)
    say_who_asks(report)
    if export is None:
        _serve(opened, report, port, no_browser)
    else:
        _write(report, export, force, not no_texts, period)


def write_sample_report(folder: Path) -> None:
    """Write the report at the end of the demo: sample conversations, embedded by the model that was trained on them."""
    from turnlens.data.conversations import read_conversations
    from turnlens.report import build_report
    from turnlens.store import ConversationStore

    discard(store := folder / "conversations.store")
    opened = ConversationStore.open(store, encoder=folder / "model")
    conversations = read_conversations(folder / "conversations.jsonl")
    fill(opened, conversations.select(range(min(500, len(conversations)))), {})  # embedded in seconds
    _write(build_report(opened), folder / "report", force=True)


def say_who_asks(report: Report) -> None:
    """Print whose messages are taken for requests, unless there is nobody else."""
    from turnlens.report.speakers import OPENER

    asker = report.speakers.asker
    if asker is None:
        note(
            "No role opens most conversations, so the messages of all roles are grouped together; --role names the "
            f"one that asks, and --role {OPENER} takes whoever opens a conversation for it"
        )
    elif asker == OPENER:
        note(
            "Roles are names here, so whoever opens a conversation is the one who asks, and all others answer "
            "(--role names somebody else)"
        )
    elif len(report.roles) > 1:
        note(
            f"Each role has its own groups. The role that asks is {asker}: it opens {report.speakers.opened:.0%} of "
            "the conversations, not counting greetings by those who answer (--role names another)"
        )


def explored_store(
    data: list[Path] | None,
    store: str | None,
    reading: Reading,
    model: str | None,
    command: str,
    label: str | None = None,
) -> ConversationStore:
    """Put the data into a store, and return the store that a command shows; one of them must have the label."""
    from turnlens.store import ConversationStore
    from turnlens.store.state import STATE_FILE

    if not data:
        if store is None:
            raise ValueError(f"expected DATA or --store FOLDER: turnlens {command} chats.jsonl")
        opened = ConversationStore.open(store, encoder=model, create=False)
        _require_label(label, set(), opened)
        return opened
    for path in data:
        if (path / STATE_FILE).is_file():
            raise ValueError(f"{path} is a store: turnlens {command} --store {path}")
    is_of_these = store is None  # then it is made from these files, which may have been edited since
    if store is None:
        store = f"{_stem(data[0])}.store"
    key = reading.key_for(store)
    conversations = reading.read(data, None if is_url(store) else Path(store), key)
    opened, files = ConversationStore.open(store, encoder=model), reading.files_by_name(data, key)
    _require_label(label, labels_of(conversations), opened)
    if not is_of_these:
        refuse_other_files(opened, conversations, files)
    report = fill(opened, conversations, files)
    new = f"{report.added:,} of them new, {report.grown:,} grown, {report.changed:,} changed"
    there = "all new" if report.added == len(conversations) else new
    note(
        f"{store}: read {len(conversations):,} conversations, {there}; embedded {report.messages:,} messages. "
        f"Next time, this is enough: turnlens {command} --store {store}"
    )
    return opened


def _require_label(label: str | None, names: set[str], opened: ConversationStore) -> None:
    """Raise ``ValueError`` if neither the conversations that are to be added nor those of a store have a label."""
    if label is None or label in names:
        return
    from turnlens.store.searches import label_names

    names |= label_names(opened.tables())
    if label not in names:
        raise absent_label(label, names)


def labels_of(conversations: Dataset) -> set[str]:
    """The names of the labels of conversations and of their messages."""
    return {*conversations.features, *conversations.features["messages"].feature} - _NOT_LABELS


def absent_label(label: str, names: Collection[str]) -> ValueError:
    """Return the error of a label that nothing has, where there are others of these names."""
    return ValueError(f"--label {label}: nothing has this label; labels are {', '.join(sorted(names)) or 'not there'}")


def _stem(path: Path) -> str:
    """The name of a file or folder without endings; for a glob or the standard input, what is left of it, or chats."""
    return re.sub(r"[^\w-]", "", path.resolve().name.split(".")[0]).strip("-") or "chats"


def _serve(store: ConversationStore, report: Report, port: int, no_browser: bool) -> None:
    from turnlens.page.explorer import Explorer, open_browser

    explorer = Explorer(store, report, port)
    opened = not no_browser and open_browser(explorer.url)
    console.print(
        f"{'Opened' if opened else 'Open'} {explorer.url} (on this machine only; Ctrl-C stops it)", soft_wrap=True
    )
    explorer.run()


def _write(report: Report, export: Path, force: bool, texts: bool = True, period: Period | None = None) -> None:
    if export.suffix == _PAGE:
        from turnlens.report.html_report import write_html_file

        write_html_file(report, export, texts, period)
        console.print(f"Wrote {export}, {'with examples' if texts else 'without texts'}.", soft_wrap=True)
    else:
        from turnlens.page.report_files import export_report

        opened = export_report(report, export, force)
        console.print(f"Wrote {export}. To look at it, open {opened} in a browser.", soft_wrap=True)
