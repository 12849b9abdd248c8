"""Conversations of Intercom as its API gives them, and tickets of Zendesk with their comments (JSON export or API).

A file holds a conversation or ticket a row, or a page of them. Customers are read as user and agents as assistant, as
far as the file says who is who; their names are the label ``name``. Internal notes are the label ``note``, and parts of
Intercom without a text, such as an assignment, a ``notice``: neither was said to the customer.

Sources: https://developers.intercom.com/docs/references/rest-api/api.intercom.io/conversations/conversation,
https://developer.zendesk.com/api-reference/ticketing/tickets/ticket_comments/ and
https://support.zendesk.com/hc/en-us/articles/4408886165402 (exporting data).
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping
from typing import Any

from turnlens.formats.bad_input import parse_record
from turnlens.formats.columns import value_at
from turnlens.formats.format import Format, any_records, object_head, signs
from turnlens.formats.html_text import html_text, without_markup
from turnlens.formats.message_times import iso_time
from turnlens.formats.source_file import Source

_ROLES = {"user": "user", "lead": "user", "contact": "user", "admin": "assistant", "team": "assistant", "bot": "bot"}
# Words that Zendesk has in place of a number. The mean of these is the share of the satisfied.
_RATINGS = {"good": 1, "bad": 0, "unoffered": None, "offered": None}


def _intercom(raw: Any, source: Source) -> dict[str, Any]:
    """The conversation; its ``source``, which is a message too, comes first where there is one."""
    conversation = parse_record(raw)
    first = conversation["source"] or {}
    parts = list((conversation.get("conversation_parts") or {}).get("conversation_parts") or ())
    if first:
        parts.insert(0, {**first, "created_at": conversation.get("created_at")})
    tags = (conversation.get("tags") or {}).get("tags") or ()
    authors = {str(author.get("id")): author for part in parts if (author := part.get("author"))}
    title = conversation.get("title") or first.get("subject")
    return {
        "id": conversation["id"],
        "messages": [_part(part) for part in parts],
        "title": html_text(title)[0] if title else None,
        "rating": (conversation.get("conversation_rating") or {}).get("rating"),
        "time": iso_time(conversation.get("created_at")),
        "state": conversation.get("state"),
        "tags": [tag["name"] for tag in tags] or None,
        "team": _assigned(conversation.get("team_assignee_id"), {}),
        "agent": _assigned(str(conversation.get("admin_assignee_id") or ""), authors),
        "custom_attributes": conversation.get("custom_attributes"),
    }


def _assigned(id: Any, known: Mapping[Any, dict[str, Any]]) -> str | None:
    """The name of the agent or team with an id, or else the id; 0 is nobody."""
    return (known.get(id, {}).get("name") or str(id)) if id else None


def _part(part: dict[str, Any]) -> dict[str, Any]:
    author = part.get("author") or {}
    text, images = html_text(part.get("body") or "")
    files = [file.get("name") for file in part.get("attachments") or ()]
    role = _ROLES.get(author.get("type", ""), author.get("type") or "bot")
    time, kind = iso_time(part.get("created_at")), part.get("part_type", "")
    message = _message(role, text, author.get("name"), time, images, files, is_note="note" in kind)
    says_something = text or message["attachments"] or "note" in message
    return message if says_something else {**message, "notice": kind or None}


def _message(
    role: str, text: str, name: str | None, time: str | None, images: list[str], files: list[Any], is_note: bool
) -> dict[str, Any]:
    attachments = [*(f"image: {image}" for image in images), *(f"file: {file}" for file in files)] or None
    message = {"role": role, "content": text, "name": name, "time": time, "attachments": attachments}
    return {**message, "content": "", "note": text} if is_note else message


def _zendesk_records(source: Source) -> Iterator[tuple[int, Any]]:
    """Tickets; those of a page each with all ``users`` and ``groups`` of the page."""
    if source.ending != ".json" or "tickets" not in object_head(source)[0].keys:
        yield from source.records()
        return
    items: dict[str, list[Any]] = {"users": [], "groups": []}
    for _, (name, item) in source.object_items():
        if name in items:
            items[name].append(item)
    beside = {name: _by_id(of_page) for name, of_page in items.items()}  # once, since a page may have many tickets
    for number, ticket in source.array_records("tickets"):
        yield number, {**ticket, **beside} if isinstance(ticket, dict) else ticket


def _zendesk(raw: Any, source: Source) -> dict[str, Any] | None:
    """The comments in order; the first, with which the ticket was opened, is also its ``description``."""
    ticket = parse_record(raw)
    if ticket.get("description") and not ticket.get("comments"):
        asker = ticket.get("submitter_id") or value_at(ticket, "submitter.id") or ticket.get("requester_id")
        opened = {"author_id": asker or value_at(ticket, "requester.id"), "created_at": ticket.get("created_at")}
        ticket = {**ticket, "comments": [{**opened, "body": ticket["description"]}]}
    comments = ticket["comments"]
    if not comments:
        return None
    named = [ticket[place] for place in ("requester", "submitter", "assignee") if isinstance(ticket.get(place), dict)]
    people = ChainMap(_by_id(named), _by_id(ticket.get("users")))
    requester = ticket.get("requester_id") or (ticket.get("requester") or {}).get("id") or comments[0]["author_id"]
    score = value_at(ticket, "satisfaction_rating.score")
    return {
        "id": ticket.get("id") or comments[0].get("ticket_id"),
        "messages": [_comment(comment, people, requester) for comment in comments],
        "title": ticket.get("subject"),
        "time": ticket.get("created_at"),
        **{name: ticket[name] for name in ("status", "priority", "type", "tags") if ticket.get(name)},
        "rating": _RATINGS.get(score.lower(), score) if isinstance(score, str) else score,
        "team": value_at(ticket, "group.name") or _assigned(ticket.get("group_id"), _by_id(ticket.get("groups"))),
        "agent": value_at(ticket, "assignee.name") or _assigned(ticket.get("assignee_id"), people),
        "custom_fields": ticket.get("custom_fields"),
    }


def _by_id(items: Any) -> dict[Any, dict[str, Any]]:
    """People or groups by their ids, as those of a page are already."""
    return items if isinstance(items, dict) else {item["id"]: item for item in items or () if "id" in item}


def _comment(comment: dict[str, Any], people: Mapping[Any, dict[str, Any]], requester: Any) -> dict[str, Any]:
    author = comment["author_id"]
    person = people.get(author, {})
    is_user = author == requester or person.get("role") == "end-user"
    plain = comment.get("plain_body") or comment.get("body")
    text, images = (without_markup(plain).strip(), []) if plain else html_text(comment.get("html_body") or "")
    files = [file.get("file_name") for file in comment.get("attachments") or ()]
    role, name = "user" if is_user else "assistant", person.get("name") or str(author)
    is_note = not comment.get("public", True)
    return _message(role, text, name, comment.get("created_at"), images, files, is_note)


INTERCOM = Format(
    name="intercom",
    description="Intercom conversations as its API gives them (JSON, JSONL)",
    layout='conversations {"id", "source": {"body", "author"}, "conversation_parts": {"conversation_parts": '
    '[{"part_type", "body", "author", "created_at"}, …]}}',
    records=any_records,
    convert=_intercom,
    matches=signs("source conversation_parts", "conversations/source conversations/state"),
)
ZENDESK = Format(
    name="zendesk",
    description="Zendesk tickets with comments (JSON export or API)",
    layout='tickets {"id", "subject", "requester_id", "comments": [{"author_id", "body", "public", "created_at"}, …]}',
    records=_zendesk_records,
    convert=_zendesk,
    matches=signs("comments/author_id", "tickets/comments"),
)
