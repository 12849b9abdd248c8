"""Zendesk tickets with their comments: the JSON export, or objects of the API, also a page of ``tickets``.

Whoever asked for the ticket, and other end users, are read as user, agents and admins as assistant, as far as the file
says who is who (``users``, ``requester``, ``submitter``, ``assignee``); their names are the label ``name``. Comments
that are not public were not said to the customer: they are the label ``note``.

Source: https://developer.zendesk.com/api-reference/ticketing/tickets/ticket_comments/ and
https://support.zendesk.com/hc/en-us/articles/4408886165402 (exporting data).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlens.formats.columns import value_at
from turnlens.formats.export_layouts import rating
from turnlens.formats.file_head import object_head
from turnlens.formats.format import Format, Head
from turnlens.formats.html_text import html_text, without_markup
from turnlens.formats.source_file import Source, parse_record

_PEOPLE = ("requester", "submitter", "assignee")
_LABELS = ("status", "priority", "type", "tags")


def records(source: Source) -> Iterator[tuple[int, Any]]:
    """Tickets; those of a page each with all ``users`` of the page."""
    if source.ending != ".json" or "tickets" not in object_head(source)[0].keys:
        yield from source.records()
        return
    users = [user for _, user in source.array_records("users")]
    for number, ticket in source.array_records("tickets"):
        yield number, {**ticket, "users": users} if isinstance(ticket, dict) else ticket


def convert(raw: Any, source: Source) -> dict[str, Any]:
    """The comments in order, the first of which is what the ticket was opened with."""
    ticket = parse_record(raw)
    comments = ticket["comments"]
    people = {person["id"]: person for person in _people(ticket)}
    requester = ticket.get("requester_id") or (ticket.get("requester") or {}).get("id") or comments[0]["author_id"]
    return {
        "id": ticket.get("id") or comments[0].get("ticket_id"),
        "messages": [_message(comment, people, requester) for comment in comments],
        "title": ticket.get("subject"),
        "time": ticket.get("created_at"),
        **{name: ticket[name] for name in _LABELS if ticket.get(name)},
        "rating": rating(value_at(ticket, "satisfaction_rating.score")),
        "team": value_at(ticket, "group.name"),
        "agent": value_at(ticket, "assignee.name"),
    }


def _people(ticket: dict[str, Any]) -> list[dict[str, Any]]:
    named = [ticket[place] for place in _PEOPLE if isinstance(ticket.get(place), dict)]
    return [person for person in [*named, *(ticket.get("users") or ())] if "id" in person]


def _message(comment: dict[str, Any], people: dict[Any, dict[str, Any]], requester: Any) -> dict[str, Any]:
    author = comment["author_id"]
    person = people.get(author, {})
    is_user = author == requester or person.get("role") == "end-user"
    text, images = _text(comment)
    files = [f"file: {file.get('file_name')}" for file in comment.get("attachments") or ()]
    message = {
        "role": "user" if is_user else "assistant",
        "content": text,
        "name": person.get("name") or str(author),
        "time": comment.get("created_at"),
        "attachments": [*(f"image: {image}" for image in images), *files] or None,
    }
    return message if comment.get("public", True) else {**message, "content": "", "note": text}


def _text(comment: dict[str, Any]) -> tuple[str, list[str]]:
    plain = comment.get("plain_body") or comment.get("body")
    return (without_markup(plain).strip(), []) if plain else html_text(comment.get("html_body") or "")


def matches(head: Head) -> bool:
    """Comments by their authors' ids, or a page of tickets that have comments."""
    return "author_id" in head.inner.get("comments", ()) or "comments" in head.inner.get("tickets", ())


FORMAT = Format(
    name="zendesk",
    description="Zendesk tickets with comments (JSON export or API)",
    layout='tickets {"id", "subject", "requester_id", "comments": [{"author_id", "body", "public", "created_at"}, …]}',
    records=records,
    convert=convert,
    matches=matches,
)
