"""The names that exports of help desks, chats and bots give to what they all have; `turnlens.formats.exports`.

A path such as ``from.user.name`` leads through objects and first items of lists. Where several paths are given, the
first that holds something counts. Values are in lower case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from turnlens.formats.record_payloads import dialogflow_answer, salesforce_chat

Paths = tuple[str, ...]


@dataclass(frozen=True)
class Names:
    """The names of one product.

    Args:
        keys: Those that every record has; to tell it from other products.
        text: What is said.
        time: When it is said.
        conversation: The conversation's id; empty where a file is one.
        within: A field and names that the object in it has, where ``keys`` are those of others, too.
        page: Where a file keeps records whose own names are not known when its beginning has been read.
        page_signs: What tells such a file: an object in it, or nothing for itself, and names that this has.
        unpack: What takes a record apart that holds in a text what is said.
        messages: The list of messages; none where a record is a message itself.
        side: Who says it, as one of two sides, of which ``asking`` are the values for the one who asks.
        speaker: The name of who says it, which is the role where there are no sides.
        answer: Where a record holds what is asked and what is answered: the answer.
        opening: The text of the first message, where the record itself holds it, and when it was written.
        people: Where a record lists who takes part, ``author`` of a message being the id of one of them; what is known
            of that one is then under ``person`` of the message.
        said: A field of a message and its values where something is said; other messages are notices.
        aside: A field of a message and its value where agents write to each other.
        labels: Labels of the conversation and where they are.
        message_labels: The same for a message.
        is_html: Texts are HTML.
        has_runs: A text may be a list of pieces, each with its style.
        is_mail: Texts may end with the mail that is answered.
    """

    keys: frozenset[str]
    text: Paths
    time: Paths
    conversation: Paths = ("id",)
    within: tuple[str, frozenset[str]] | None = None
    page: str = ""
    page_signs: tuple[tuple[str, frozenset[str]], ...] = ()
    unpack: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    messages: Paths = ()
    side: str = ""
    asking: frozenset[str] = frozenset()
    speaker: Paths = ()
    answer: Paths = ()
    opening: Paths = ()
    people: str = ""
    author: str = ""
    said: tuple[str, frozenset[str]] | None = None
    aside: tuple[str, str] | None = None
    labels: Mapping[str, Paths] = field(default_factory=dict)
    message_labels: Mapping[str, Paths] = field(default_factory=dict)
    is_html: bool = False
    has_runs: bool = False
    is_mail: bool = False


# Words that Zendesk and LiveChat have in place of a number. The mean of these is the share of the satisfied.
_RATINGS = {"good": 1, "rated_good": 1, "bad": 0, "rated_bad": 0, "unoffered": None, "offered": None, "not_rated": None}


def rating(value: Any) -> Any:
    """A rating as the product gives it: as a number where it says good or bad; None where there is none."""
    return _RATINGS.get(value.lower(), value) if isinstance(value, str) else value


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TICKET: dict[str, Any] = {name: (name,) for name in ("status", "priority", "type", "source", "channel", "tags")} | {
    "title": ("subject",),
    "rating": ("satisfaction_rating.score", "satisfaction_survey.score", "rate"),
}
_FILES = {"attachments": ("attachments",)}
_GORGIAS: dict[str, Any] = {  # of a message
    "text": ("stripped_text", "body_text", "stripped_html"),
    "side": "from_agent",
    "asking": _words("false"),
    "speaker": ("sender.name", "sender.email"),
    "aside": ("public", "false"),
    "time": ("created_datetime",),
    "message_labels": _FILES,
}
_RASA: dict[str, Any] = {  # of a message
    "text": ("text",),
    "side": "event",
    "asking": _words("user"),
    "said": ("event", _words("user bot")),
    "time": ("timestamp",),
    "message_labels": {"intent": ("parse_data.intent.name",)},
}

EXPORTS: dict[str, Names] = {
    # https://developers.freshdesk.com/api/#view_a_ticket, with include=conversations
    "Freshdesk": Names(
        keys=_words("description_text requester_id"),
        opening=("description_text", "description"),
        messages=("conversations",),
        text=("body_text", "body"),
        side="incoming",
        asking=_words("true"),
        aside=("private", "true"),
        time=("created_at",),
        labels=_TICKET,
        message_labels=_FILES,
        is_mail=True,
    ),
    # the export of all data, and version 1 of the API
    "Freshdesk's export": Names(
        keys=_words("helpdesk_ticket"),
        conversation=("helpdesk_ticket.display_id", "helpdesk_ticket.id"),
        opening=("helpdesk_ticket.description", "helpdesk_ticket.description_html"),
        messages=("helpdesk_ticket.notes", "helpdesk_ticket.helpdesk_notes"),
        text=("body", "body_html"),
        side="incoming",
        asking=_words("true"),
        aside=("private", "true"),
        time=("created_at", "helpdesk_ticket.created_at"),
        labels={
            "title": ("helpdesk_ticket.subject",),
            "status": ("helpdesk_ticket.status_name",),
            "priority": ("helpdesk_ticket.priority_name",),
            "type": ("helpdesk_ticket.ticket_type",),
            "agent": ("helpdesk_ticket.responder_name",),
            "tags": ("helpdesk_ticket.tags",),
        },
        message_labels=_FILES,
        is_mail=True,
    ),
    # https://developer.zendesk.com/api-reference/ticketing/ticket-management/incremental_exports/, without comments
    "Zendesk without comments": Names(
        keys=_words("raw_subject description requester_id"),
        opening=("description",),
        text=("description",),
        time=("created_at",),
        labels=_TICKET,
    ),
    # https://developers.gorgias.com/reference/the-ticket-object
    "Gorgias": Names(
        keys=_words("assignee_user messages"),
        messages=("messages",),
        **_GORGIAS,
        labels=_TICKET,
    ),
    "Gorgias' messages": Names(
        keys=_words("ticket_id from_agent stripped_text"),
        conversation=("ticket_id",),
        **_GORGIAS,
        labels={"title": ("subject",), "channel": ("channel",)},
    ),
    # https://dev.frontapp.com/reference/messages
    "Front": Names(
        keys=_words("is_inbound recipients body"),
        conversation=("conversation_id", "_links.related.conversation"),
        text=("text", "body"),
        side="is_inbound",
        asking=_words("true"),
        speaker=("author.first_name", "author.email", "recipients.name", "recipients.handle"),
        time=("created_at",),
        labels={"title": ("subject",), "channel": ("type",)},
        message_labels=_FILES,
        is_mail=True,
    ),
    # https://developers.hubspot.com/docs/api-reference/conversations-conversations-inbox-&-messages-v3
    "HubSpot": Names(
        keys=_words("conversationsThreadId createdAt"),
        conversation=("conversationsThreadId",),
        text=("text", "richText"),
        side="direction",
        asking=_words("incoming"),
        speaker=("senders.name", "createdBy"),
        said=("type", _words("message welcome_message")),
        aside=("type", "comment"),
        time=("createdAt",),
        message_labels=_FILES,
        is_mail=True,
    ),
    # https://developer.helpscout.com/mailbox-api/endpoints/conversations/list/, with embed=threads
    "Help Scout": Names(
        keys=_words("mailboxId _embedded"),
        page="_embedded.conversations",
        page_signs=(("_embedded", _words("conversations")),),
        messages=("_embedded.threads",),
        text=("body",),
        side="type",
        asking=_words("customer"),
        speaker=("createdBy.first", "createdBy.email"),
        said=("type", _words("customer message chat phone beaconchat")),
        aside=("type", "note"),
        time=("createdAt",),
        labels={**_TICKET, "source": ("source.type",)},
        is_html=True,
        is_mail=True,
    ),
    # https://platform.text.com/docs/messaging/agent-chat-api (list archives)
    "LiveChat": Names(
        keys=_words("users thread"),
        conversation=("thread.id",),
        messages=("thread.events",),
        people="users",
        author="author_id",
        text=("text",),
        side="person.type",
        asking=_words("customer"),
        speaker=("person.name",),
        said=("type", _words("message")),
        time=("created_at",),
        labels={"tags": ("thread.tags",)},
    ),
    "LiveChat 2": Names(
        keys=_words("visitor_name agents messages"),
        messages=("messages",),
        text=("text",),
        side="user_type",
        asking=_words("visitor"),
        speaker=("author_name",),
        time=("timestamp",),
        labels=_TICKET,
    ),
    # https://developers.chatwoot.com/api-reference/messages/get-messages
    "Chatwoot": Names(
        keys=_words("message_type conversation_id inbox_id content"),
        conversation=("conversation_id",),
        text=("content",),
        side="message_type",
        asking=_words("0 incoming"),
        speaker=("sender.name",),
        said=("message_type", _words("0 1 3 incoming outgoing template")),
        aside=("private", "true"),
        time=("created_at",),
        message_labels=_FILES,
    ),
    # Case > EmailMessage, as the data export service and the data loader write it
    "Salesforce's EmailMessage": Names(
        keys=_words("ParentId TextBody Incoming"),
        conversation=("ParentId",),
        text=("TextBody", "HtmlBody"),
        side="Incoming",
        asking=_words("true 1"),
        speaker=("FromName", "FromAddress"),
        time=("MessageDate", "CreatedDate"),
        labels={"title": ("Subject",)},
        is_mail=True,
    ),
    # https://developer.salesforce.com/docs/atlas.en-us.object_reference.meta/object_reference/sforce_api_objects_livechattranscript.htm
    "Salesforce's LiveChatTranscript": Names(
        keys=_words("Body ChatKey"),
        conversation=("Id", "ChatKey"),
        unpack=salesforce_chat,
        messages=("messages",),
        text=("text",),
        speaker=("role",),
        time=("time",),
        labels={"status": ("Status",), "case": ("CaseId",)},
        message_labels={"name": ("name",)},
    ),
    # https://github.com/Tyrrrz/DiscordChatExporter, as CSV
    "Discord's CSV": Names(
        keys=_words("AuthorID Author Date Content Attachments"),
        conversation=(),
        text=("Content",),
        speaker=("Author",),
        time=("Date",),
        message_labels={"attachments": ("Attachments",)},
    ),
    # Telegram Desktop > Export chat history > JSON
    "Telegram": Names(
        keys=_words("id type messages"),
        within=("messages", _words("date type")),
        page="chats.list",
        page_signs=(("chats", _words("about list")), ("", _words("about personal_information"))),
        messages=("messages",),
        text=("text",),
        speaker=("from", "actor", "from_id", "actor_id"),
        said=("type", _words("message")),
        time=("date_unixtime", "date"),
        labels={"title": ("name",), "type": ("type",)},
        message_labels={
            "attachments": ("media_type", "sticker_emoji", "photo", "file", "poll.question", "location_information"),
            "notice": ("action",),
            "reply_to": ("reply_to_message_id",),
            "message_id": ("id",),
        },
        has_runs=True,
    ),
    # https://learn.microsoft.com/graph/api/resources/chatmessage
    "Teams": Names(
        keys=_words("messageType createdDateTime body from"),
        conversation=("chatId", "replyToId", "id"),
        text=("body.content",),
        speaker=("from.user.displayName", "from.application.displayName"),
        said=("messageType", _words("message")),
        time=("createdDateTime",),
        labels={"channel": ("channelIdentity.channelId",)},
        message_labels=_FILES,
        is_html=True,
    ),
    # what Microsoft sends of Skype and of Teams for home
    "Skype": Names(
        keys=_words("id displayName MessageList"),
        messages=("MessageList",),
        text=("content",),
        speaker=("displayName", "from"),
        said=("messagetype", _words("text richtext richtext/html")),
        time=("originalarrivaltime",),
        labels={"title": ("displayName",)},
        is_html=True,
    ),
    # https://platform.openai.com/docs/api-reference/messages
    "OpenAI's threads": Names(
        keys=_words("thread_id role content object"),
        conversation=("thread_id",),
        text=("content",),
        side="role",
        asking=_words("user"),
        time=("created_at",),
    ),
    # https://github.com/vercel/ai-chatbot, its table of messages
    "Vercel's table of messages": Names(
        keys=_words("chatId role parts"),
        conversation=("chatId",),
        text=("parts",),
        side="role",
        asking=_words("user"),
        time=("createdAt",),
    ),
    # https://docs.dify.ai/api-reference/conversations/get-conversation-history-messages
    "Dify": Names(
        keys=_words("conversation_id query answer"),
        conversation=("conversation_id",),
        text=("query",),
        answer=("answer",),
        time=("created_at",),
        labels={"feedback": ("feedback.rating",)},
    ),
    # https://docs.flowiseai.com/api-reference/chat-message
    "Flowise": Names(
        keys=_words("chatflowid role content"),
        conversation=("sessionId", "chatId"),
        text=("content",),
        side="role",
        asking=_words("usermessage"),
        time=("createdDate",),
    ),
    # https://botpress.com/docs/api-reference/runtime-api
    "Botpress": Names(
        keys=_words("conversationId payload direction"),
        conversation=("conversationId",),
        text=("payload.text",),
        side="direction",
        asking=_words("incoming"),
        time=("createdAt",),
    ),
    # https://rasa.com/docs/reference/api/pro/http-api (tracker), and what event brokers are sent
    "Rasa": Names(
        keys=_words("sender_id events slots"),
        conversation=("sender_id",),
        messages=("events",),
        **_RASA,
    ),
    "Rasa's events": Names(
        keys=_words("sender_id event timestamp"),
        conversation=("sender_id",),
        **_RASA,
    ),
    # https://cloud.google.com/dialogflow/cx/docs/concept/export-bq
    "Dialogflow CX": Names(
        keys=_words("conversation_name turn_position request response"),
        conversation=("conversation_name",),
        text=("derived_data.userUtterances", "request.queryInput.text.text"),
        answer=("derived_data.agentUtterances", "response.queryResult.responseMessages.text.text"),
        time=("request_time",),
        message_labels={"intent": ("response.queryResult.match.intent.displayName",)},
    ),
    # https://cloud.google.com/dialogflow/cx/docs/concept/logging
    "Dialogflow CX's log": Names(
        keys=_words("jsonPayload labels timestamp"),
        within=("labels", _words("session_id agent_id")),
        conversation=("labels.session_id",),
        text=("jsonPayload.queryResult.text", "jsonPayload.queryResult.transcript"),
        answer=("jsonPayload.queryResult.responseMessages.text.text",),
        time=("timestamp",),
        message_labels={"intent": ("jsonPayload.queryResult.intent.displayName",)},
    ),
    # https://cloud.google.com/dialogflow/es/docs/history
    "Dialogflow ES' log": Names(
        keys=_words("textPayload labels timestamp"),
        within=("labels", _words("request_id type")),
        conversation=("session_id", "trace"),
        unpack=dialogflow_answer,
        text=("resolved_query",),
        answer=("speech",),
        time=("timestamp",),
        message_labels={"intent": ("intent_name",)},
    ),
    # https://learn.microsoft.com/microsoft-copilot-studio/analytics-transcripts-powerapps
    "Copilot Studio": Names(
        keys=_words("conversationtranscriptid content"),
        conversation=("conversationtranscriptid",),
        messages=("content.activities",),
        text=("text",),
        side="from.role",
        asking=_words("1 user"),
        said=("type", _words("message")),
        time=("timestamp",),
    ),
}
