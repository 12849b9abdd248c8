"""The commands of conversation stores: `turnlens index`, `turnlens search` and `turnlens store …`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from turnlens._compat import leave_out_pandas
from turnlens._utils.processes import keep_little_free_memory
from turnlens._utils.progress import console, note, progress_of
from turnlens._utils.text_values import strict_json
from turnlens.cli.options import Reading, StoreModel, reads_conversations
from turnlens.cli.tables import print_hits
from turnlens.cli.terminal import Application, Commands, tell_other_language, use_one_thread
from turnlens.encoders.folders import encoder_folder
from turnlens.errors import ConversationError

if TYPE_CHECKING:
    from datasets import Dataset

    from turnlens.store import AddReport, ConversationStore

PrintJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SomeIds = Annotated[list[str] | None, typer.Argument()]

store = Application(cls=Commands, help="Maintain a conversation store.", no_args_is_help=True)


@reads_conversations
def index(
    data: list[Path],
    store: Annotated[str, typer.Option("--store")],
    reading: Reading,
    model: StoreModel = None,
    pooling: str = "messages",
    tokenizer: str = "",
    language: str = "English",
    cache: bool = True,
    json_output: PrintJson = False,
) -> None:
    """Put conversations into a store. From conversations that it already holds, only new messages are added.

    If it is killed, run the same command to continue. An existing store keeps its model, pooling and tokenizer.

    Example: `turnlens index chats.jsonl --store talks`

    Options:
        store: Folder of the store; created if it does not exist.
        pooling: For a new store, how to pool whole conversations: messages, mean, interlocutor, or speaker:ROLE.
        tokenizer: For a new store: simple (stems), icu (words of any languages) or ngram (pairs of characters); by
            default what fits.
        language: For a new store: the language of the tokenizer simple, for stems and stop words.
    """
    from turnlens.store import ConversationStore
    from turnlens.store.open_arguments import folder_of

    target = folder_of(store)
    reading.check(data, target)
    _refuse_tables_of_groups(data, reading, store)
    encoder_folder(model)
    key = reading.key_for(target)
    conversations, files = reading.read(data, target, key), reading.files_by_name(data, key)
    keep_little_free_memory()
    opened = ConversationStore.open(store, encoder=model, pooling=pooling, tokenizer=tokenizer, language=language)
    refuse_other_files(opened, conversations, files)
    report = fill(opened, conversations, files, cache)
    if json_output:
        _print_json(asdict(report))
    else:
        console.print(
            f"{store}: added {report.added:,} conversations, {report.grown:,} have grown, {report.changed:,} changed, "
            f"{report.unchanged:,} were already there; embedded {report.messages:,} messages"
        )


def refuse_other_files(store: ConversationStore, conversations: Dataset, files: Mapping[str, str]) -> None:
    """Refuse conversations that only ids made of their files' names would put in the place of others."""
    from turnlens.store.batches import check_generated_ids, generating_file

    made_up = [row for row, name in enumerate(conversations["id"]) if generating_file(name, files)]
    check_generated_ids(store.tables(), conversations.select(made_up), files)


def fill(store: ConversationStore, conversations: Dataset, files: Mapping[str, str], cache: bool = True) -> AddReport:
    """Put conversations of files into a store, showing progress; `files` are by their names in made-up ids."""
    from turnlens.encoders.folders import DEFAULT_ENCODER

    if store.tables().state.encoder == DEFAULT_ENCODER:
        tell_other_language(conversations, "turnlens explore your-chats.jsonl --store another.store --model")
    try:
        with progress_of("indexing conversations", len(conversations)) as advance:
            report = store.add(conversations, progress=advance, cache=cache)
    except ConversationError as error:
        read = next(iter(files.values())) if len(files) == 1 else f"one of {len(files):,} files"
        raise ConversationError(f"{read}: {error.where}", error.problem) from None
    store.compact()  # even if nothing is new: a killed command may have left it undone
    return report


def search(
    store: str,
    query: str,
    level: Literal["message", "conversation", "reply"] = "message",
    mode: Literal["vector", "text", "hybrid"] = "vector",
    where: str | None = None,
    limit: Annotated[int, typer.Option(min=1)] = 10,
    offset: Annotated[int, typer.Option(min=0)] = 0,
    json_output: PrintJson = False,
) -> None:
    """Find messages or conversations that are similar to a text, or replies that were given to similar texts.

    Example: `turnlens search talks "my card was stolen" --where "role = 'user' and label.domain = 'banking'"`

    Options:
        query: What to look for.
        level: Find messages or conversations similar to the text, or replies to it.
        mode: Search by meaning, by words, or by a fusion of both.
        limit: Number of hits to show.
        offset: Number of hits to skip, from the best on.
    """
    if level != "message" and mode != "vector":
        raise ValueError(f"--mode belongs to --level message, not to {level}")
    use_one_thread()
    opened = opened_store(store, read_only=True)
    hits: list[Any]
    if level == "conversation":
        hits = opened.search_conversations(query, where=where, limit=limit, offset=offset)
    elif level == "reply":
        said = [{"role": "user", "content": query}]
        hits = opened.next_replies(said, where=where, limit=limit, offset=offset)
    else:
        hits = opened.search_messages(query, mode=mode, where=where, limit=limit, offset=offset)
    rows = [asdict(hit) for hit in hits]
    require_hits(opened, rows, where, "conversation" if level == "conversation" else "message")
    if json_output:
        _print_json(rows)
    else:
        print_hits(rows)


@store.command()
def info(store: str, json_output: PrintJson = False) -> None:
    """Show what a store holds, and how much of it its indexes find; a file that is missing or was cut is an error."""
    opened = opened_store(store, read_only=True)
    opened.check()
    stats = asdict(opened.stats())
    if json_output:
        _print_json(stats)
        return
    indexes = stats.pop("indexes")
    for name, value in stats.items():
        console.print(f"{name:14}{value:,}" if isinstance(value, int) else f"{name:14}{value}")
    for name, built in indexes.items():
        for facts in built:
            recall = f"finds {100 * facts['recall']:.1f} % of the ten nearest"
            console.print(f"index {name}: {facts['rows']:,} vectors; {recall}")
    if not indexes:
        console.print("no vector index: every search looks at all vectors")


@store.command()
def compact(store: str, retention: Annotated[float, typer.Option(min=0)] = 10.0) -> None:
    """Merge small files, update the indexes, and remove old versions.

    Options:
        retention: How many minutes to keep old versions for readers.
    """
    from datetime import timedelta

    opened_store(store).compact(retention=timedelta(minutes=retention))
    console.print(f"Compacted {store}")


@store.command()
def annotate(store: str, file: str, label: Annotated[list[str], typer.Option("--label")]) -> None:
    """Put labels that people have added to an exported table or sample on the conversations and their messages.

    They stay when the source is indexed again. An empty cell changes nothing.

    Example: `turnlens store annotate talks tags.csv --label intent`

    Options:
        file: A table (.csv, .xlsx, .parquet) or chat JSONL with the ids of conversations in a column id, the labels,
            and, for labels of messages, their turns in a column turn.
        label: A column with a label; give it again for more.
    """
    count = opened_store(store).annotate(file, labels=label)
    console.print(f"{store}: {count:,} conversations have labels from {file} ({', '.join(label)})", soft_wrap=True)


@store.command()
def delete(store: str, ids: SomeIds = None, where: str | None = None) -> None:
    """Delete conversations. No search finds them any more, but older files hold them until `erase`.

    Example: `turnlens store delete talks --where "label.customer = '4711'"`

    Options:
        ids: Ids of conversations.
        where: A filter on conversations, such as: label.customer = '4711'.
    """
    if not ids and where is None:
        raise ValueError("expected ids of conversations, or --where FILTER")
    opened = opened_store(store)
    found, absent = _chosen(opened, ids or [], where)
    count = opened.delete(found) if found else 0
    console.print(f"Conversations deleted from {store}: {count:,}")
    if count:
        note(f"Older files of {store} still hold their texts. To remove them for good: turnlens store erase {store}")
    if absent:
        raise ValueError(absent)


@store.command()
def erase(store: str, ids: SomeIds = None, where: str | None = None) -> None:
    """Remove for good everything that was deleted or replaced, and the conversations that you choose.

    The store is written again without them, and turnlens's caches of files and of vectors are emptied. If it is
    killed, run the same command to finish.

    Example: `turnlens store erase talks --where "label.customer = '4711'"`

    Options:
        ids: Ids of conversations to delete now; what was deleted before is always erased.
        where: A filter on conversations, such as: label.customer = '4711'.
    """
    from turnlens.data.conversation_files import forget_conversations
    from turnlens.encoders.vector_cache import forget_vectors

    opened = opened_store(store)
    found, absent = _chosen(opened, ids or [], where)
    with progress_of("writing the store anew", opened.stats().messages) as advance:
        count = opened.erase(found, progress=advance)
    kept = [forget_conversations(), forget_vectors()]
    console.print(
        f"Conversations erased from {store}: {count:,}, and all that was deleted or replaced before; emptied {kept[0]} "
        f"and {kept[1]}",
        soft_wrap=True,
    )
    if absent:
        raise ValueError(absent)


@store.command()
def reindex(store: str, model: str | None = None, pooling: str | None = None) -> None:
    """Move a store to another model. Searches use the old model until everything is embedded.

    If it is killed, run the same command to continue.

    Options:
        pooling: How to pool whole conversations from now on; by default as before.
    """
    opened = opened_store(store)
    with progress_of("embedding anew", opened.stats().conversations) as advance:
        opened.reindex(model, pooling=pooling, progress=advance)
    console.print(f"{store} now holds vectors of {opened.stats().encoder}")


def _refuse_tables_of_groups(data: list[Path], reading: Reading, store: str) -> None:
    """Refuse a table that turnlens has written, whose rows would take the place of whole conversations."""
    from turnlens.formats.input_files import find_files
    from turnlens.store.annotations import is_table_of_groups

    for file in find_files(data, reading.format):
        if is_table_of_groups(file):
            raise ValueError(
                f"{file} is a table of groups that turnlens wrote, not the conversations themselves: to put labels "
                f"from it on those in a store, use turnlens store annotate {store} {file} --label NAME"
            )


def require_hits(
    opened: ConversationStore, hits: list[Any], where: str | None, level: Literal["message", "conversation"]
) -> None:
    """Raise ``ValueError`` if there are no hits because a filter names a role or a label that the store lacks."""
    from turnlens.store.searches import absent_names

    if where is not None and not hits and (absent := absent_names(opened.tables(), where, level)):
        raise ValueError(f"--where {where!r}: {absent}")


def _chosen(opened: ConversationStore, ids: list[str], where: str | None) -> tuple[list[str], str]:
    """The ids of a store's conversations that are named or fulfil a filter, and what is to be said of others."""
    filtered = opened.ids(where) if where is not None else []
    require_hits(opened, filtered, where, "conversation")
    missing = [id for id in ids if opened.get(id) is None]
    problems = [f"not there: {', '.join(missing)}"] if missing else []
    if where is not None and not filtered:
        problems.append(f"no conversation fulfils {where!r}")
    return [*(id for id in ids if id not in missing), *filtered], "; ".join(problems)


def opened_store(path: str, read_only: bool = False) -> ConversationStore:
    """Open a store that exists."""
    leave_out_pandas()
    from turnlens.store import ConversationStore

    return ConversationStore.open(path, create=False, read_only=read_only)


def _print_json(value: Any) -> None:
    text, _ = strict_json(value, indent=2, default=str)
    typer.echo(text)
