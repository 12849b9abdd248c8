"""A small export of every product in `EXPORTS`, each of the same two conversations.

In the first, a customer asks and an agent answers; where the product knows them, there is a note between agents, too.
"""

from __future__ import annotations

from typing import Any

ASKED, ANSWERED, NOTE = "Où est ma commande ?", "Elle arrive demain.", "call her"
_BEGIN, _LATER = "2023-11-14T22:13:20Z", "2023-11-14T22:15:20Z"
_SECONDS = 1700000000


def _page(name: str, rows: list[Any]) -> dict[str, Any]:
    return {"count": len(rows), name: rows, "next": None}


def _both(asked: dict[str, Any], answered: dict[str, Any]) -> list[dict[str, Any]]:
    """The answer first, as many APIs give it; then the question."""
    return [answered, asked]


def _freshdesk(note: dict[str, Any]) -> dict[str, Any]:
    reply = {"body": f"<div>{ANSWERED}</div>", "body_text": ANSWERED, "incoming": False, "private": False}
    return {
        "id": 7,
        "subject": "Commande",
        "status": 5,
        "description": f"<div>{ASKED}</div>",
        "description_text": ASKED,
        "requester_id": 1,
        "created_at": _BEGIN,
        "conversations": [{**reply, "created_at": _LATER}, {**note, "created_at": _LATER}],
    }


_TICKET = {"id": 7, "raw_subject": "Commande"}
_NOTE = {"body": NOTE, "body_text": NOTE, "incoming": False, "private": True}
_FRESHDESK_OLD = {
    "display_id": 7,
    "subject": "Commande",
    "description": ASKED,
    "created_at": _BEGIN,
    "notes": [{"note": {"body": ANSWERED, "incoming": False, "private": False, "created_at": _LATER}}],
}
_GORGIAS = _both(
    {"ticket_id": 7, "from_agent": False, "public": True, "stripped_text": ASKED, "created_datetime": _BEGIN},
    {"ticket_id": 7, "from_agent": True, "public": True, "stripped_text": ANSWERED, "created_datetime": _LATER},
)
_GORGIAS[0] |= {"sender": {"name": "Max"}, "body_text": f"{ANSWERED}\n> {ASKED}"}
_FRONT = {"_links": {"related": {"conversation": "https://a.api.frontapp.com/conversations/7"}}, "type": "email"}
_FRONT_FROM = [{"handle": "zoe@a.b", "role": "from", "name": "Zoé"}]
_HUBSPOT = {"conversationsThreadId": "7", "type": "MESSAGE"}
_LIVECHAT_EVENTS = [
    {"type": "message", "text": ASKED, "author_id": "c", "created_at": _BEGIN},
    {"type": "message", "text": ANSWERED, "author_id": "a@b.c", "created_at": _LATER},
]
_TELEGRAM = {
    "name": "Zoé",
    "type": "personal_chat",
    "id": 7,
    "messages": [
        {"id": 1, "type": "message", "date": "2023-11-14T23:13:20", "date_unixtime": str(_SECONDS), "from": "Zoé"},
        {"id": 2, "type": "message", "date": "2023-11-14T23:15:20", "from": "Max", "text": ANSWERED},
    ],
}
_TELEGRAM["messages"][0]["text"] = ["Où est ", {"type": "bold", "text": "ma commande"}, " ?"]  # type: ignore[index]
_TEAMS = {"chatId": "7", "messageType": "message"}
_SKYPE_MESSAGES = _both(
    {"displayName": "Zoé", "originalarrivaltime": _BEGIN, "messagetype": "RichText", "content": ASKED, "from": "8:z"},
    {"displayName": None, "originalarrivaltime": _LATER, "messagetype": "Text", "content": ANSWERED, "from": "Max"},
)
_RASA = [
    {"event": "action", "timestamp": _SECONDS, "name": "action_listen"},
    {"event": "user", "timestamp": _SECONDS, "text": ASKED, "parse_data": {"intent": {"name": "where"}}},
    {"event": "bot", "timestamp": _SECONDS + 120, "text": ANSWERED},
]
_CX = {"labels": {"session_id": "7", "agent_id": "a"}, "logName": "projects/p/logs/l"}
_CX_RESULT = {
    "text": ASKED,
    "responseMessages": [{"payload": {}}, {"text": {"text": [ANSWERED]}}],
}
_ES_ANSWER = (
    f'Dialogflow Response : id: "r"\nsession_id: "7"\nresult {{\n  resolved_query: "{ASKED}"\n  metadata {{\n'
    f'    intent_name: "where"\n  }}\n  fulfillment {{\n    speech: "{ANSWERED}"\n  }}\n}}\n'
).replace("ù", r"\303\271")

# product -> file, content. Where speakers have names and no sides, they are Zoé and Max.
FILES: dict[str, tuple[str, Any]] = {
    "Freshdesk": ("tickets.json", [_freshdesk(_NOTE)]),
    "Freshdesk's export": ("Tickets0.json", [{"helpdesk_ticket": _FRESHDESK_OLD}]),
    "Zendesk without comments": (
        "tickets.json",
        _page(
            "tickets", [{"id": 7, "raw_subject": "x", "description": ASKED, "requester_id": 1, "created_at": _BEGIN}]
        ),
    ),
    "Gorgias": ("tickets.json", _page("data", [{"id": 7, "assignee_user": None, "messages": _GORGIAS}])),
    "Gorgias' messages": ("messages.json", _page("data", _GORGIAS)),
    "Front": (
        "messages.json",
        _page(
            "_results",
            _both(
                {**_FRONT, "is_inbound": True, "recipients": _FRONT_FROM, "body": ASKED, "created_at": _SECONDS + 0.5},
                {**_FRONT, "is_inbound": False, "recipients": [], "body": ANSWERED, "created_at": _SECONDS + 120.5},
            ),
        ),
    ),
    "HubSpot": (
        "messages.json",
        _page(
            "results",
            [
                {**_HUBSPOT, "direction": "OUTGOING", "text": ANSWERED, "createdAt": _LATER},
                {**_HUBSPOT, "direction": "INCOMING", "text": ASKED, "createdAt": _BEGIN},
                {**_HUBSPOT, "type": "COMMENT", "text": NOTE, "createdAt": _LATER},
                {**_HUBSPOT, "type": "ASSIGNMENT", "createdAt": _LATER},
            ],
        ),
    ),
    "Help Scout": (
        "conversations.json",
        {
            "_embedded": {
                "conversations": [
                    {
                        "id": 7,
                        "mailboxId": 1,
                        "_embedded": {
                            "threads": [
                                {"type": "note", "body": NOTE, "createdAt": _LATER},
                                {"type": "message", "body": f"<p>{ANSWERED}</p>", "createdAt": _LATER},
                                {"type": "customer", "body": f"{ASKED}<br>", "createdAt": _BEGIN},
                            ]
                        },
                    }
                ]
            },
            "page": {"number": 1},
        },
    ),
    "LiveChat": (
        "archives.json",
        _page(
            "chats",
            [
                {
                    "id": "c7",
                    "users": [{"id": "c", "type": "customer", "name": "Zoé"}, {"id": "a@b.c", "type": "agent"}],
                    "thread": {"id": "7", "events": _LIVECHAT_EVENTS},
                }
            ],
        ),
    ),
    "LiveChat 2": (
        "chats.json",
        _page(
            "chats",
            [
                {
                    "id": "7",
                    "visitor_name": "Zoé",
                    "agents": [],
                    "messages": [
                        {"user_type": "visitor", "author_name": "Zoé", "text": ASKED, "timestamp": _SECONDS},
                        {"user_type": "agent", "author_name": "Max", "text": ANSWERED, "timestamp": _SECONDS + 120},
                    ],
                }
            ],
        ),
    ),
    "Chatwoot": (
        "messages.json",
        _page(
            "payload",
            [
                {"conversation_id": 7, "inbox_id": 1, "message_type": 0, "content": ASKED, "created_at": _SECONDS},
                {"conversation_id": 7, "inbox_id": 1, "message_type": 1, "content": ANSWERED, "created_at": _SECONDS},
            ],
        ),
    ),
    "Salesforce's EmailMessage": (
        "EmailMessage.csv",
        "Id,ParentId,TextBody,HtmlBody,FromName,Incoming,MessageDate\n"
        f"1,7,{ASKED},<p>{ASKED}</p>,Zoé,TRUE,{_BEGIN}\n"
        f'2,7,"{ANSWERED}\n\nLe 14 nov. 2023, Zoé <zoe@a.b> a écrit :\n> {ASKED}",,Max,FALSE,{_LATER}\n',
    ),
    "Salesforce's LiveChatTranscript": (
        "LiveChatTranscript.csv",
        "Id,Body,ChatKey,Status,StartTime\n"
        '7,"<p align=""center"">Chat Started: Tuesday</p><p align=""center"">Agent Max</p>'
        f'( 0s ) Zoé: {ASKED}<br>( 2m 0s ) Max: {ANSWERED}<br>",k,Completed,2023-11-14T22:13:20.000Z\n',
    ),
    "Discord's CSV": (
        "7.csv",
        "AuthorID,Author,Date,Content,Attachments,Reactions\n"
        f'"1","Zoé","2023-11-14T22:13:20.0000000+00:00","{ASKED}","https://a.b/c.png","👍 (1)"\n'
        f'"2","Max","2023-11-14T22:15:20.0000000+00:00","{ANSWERED}","",""\n',
    ),
    "Telegram": ("result.json", _TELEGRAM),
    "Teams": (
        "messages.json",
        _page(
            "value",
            _both(
                {
                    **_TEAMS,
                    "from": {"user": {"displayName": "Zoé"}},
                    "body": {"content": f"<p>{ASKED}</p>"},
                    "createdDateTime": _BEGIN,
                },
                {
                    **_TEAMS,
                    "from": {"user": {"displayName": "Max"}},
                    "body": {"content": ANSWERED},
                    "createdDateTime": _LATER,
                },
            ),
        ),
    ),
    "Skype": (
        "messages.json",
        {"userId": "8:max", "conversations": [{"id": "7", "displayName": "Zoé", "MessageList": _SKYPE_MESSAGES}]},
    ),
    "OpenAI's threads": (
        "messages.json",
        _page(
            "data",
            [
                {
                    "object": "thread.message",
                    "thread_id": "7",
                    "role": role,
                    "content": [{"type": "text", "text": {"value": text, "annotations": []}}],
                    "created_at": _SECONDS + seconds,
                }
                for role, text, seconds in (("assistant", ANSWERED, 120), ("user", ASKED, 0))
            ],
        ),
    ),
    "Vercel's table of messages": (
        "messages.json",
        _both(
            {"chatId": "7", "role": "user", "parts": [{"type": "text", "text": ASKED}], "createdAt": _BEGIN},
            {"chatId": "7", "role": "assistant", "parts": [{"type": "text", "text": ANSWERED}], "createdAt": _LATER},
        ),
    ),
    "Dify": (
        "messages.json",
        _page("data", [{"conversation_id": "7", "query": ASKED, "answer": ANSWERED, "created_at": _SECONDS}]),
    ),
    "Flowise": (
        "messages.json",
        _both(
            {"chatflowid": "f", "sessionId": "7", "role": "userMessage", "content": ASKED, "createdDate": _BEGIN},
            {"chatflowid": "f", "sessionId": "7", "role": "apiMessage", "content": ANSWERED, "createdDate": _LATER},
        ),
    ),
    "Botpress": (
        "messages.json",
        _page(
            "messages",
            _both(
                {"conversationId": "7", "direction": "incoming", "payload": {"text": ASKED}, "createdAt": _BEGIN},
                {"conversationId": "7", "direction": "outgoing", "payload": {"text": ANSWERED}, "createdAt": _LATER},
            ),
        ),
    ),
    "Rasa": ("tracker.json", {"sender_id": "7", "slots": {}, "events": _RASA}),
    "Rasa's events": ("events.json", [{"sender_id": "7", **event} for event in _RASA]),
    "Dialogflow CX": (
        "interactions.json",
        [
            {
                "conversation_name": "7",
                "turn_position": 1,
                "request_time": "2023-11-14 22:13:20 UTC",
                "request": {"queryInput": {"text": {"text": ASKED}}},
                "response": {"queryResult": {"responseMessages": [{"text": {"text": [ANSWERED]}}]}},
            }
        ],
    ),
    "Dialogflow CX's log": (
        "logs.json",
        _both(
            {**_CX, "timestamp": _BEGIN, "jsonPayload": {"queryInput": {"text": {"text": ASKED}}}},
            {**_CX, "timestamp": f"{_BEGIN[:-1]}.5Z", "jsonPayload": {"responseId": "r", "queryResult": _CX_RESULT}},
        ),
    ),
    "Dialogflow ES' log": (
        "logs.json",
        [
            {**entry, "timestamp": _BEGIN, "trace": "7", "labels": {"type": "…", "request_id": "r", "protocol": "V2"}}
            for entry in ({"textPayload": _ES_ANSWER}, {"textPayload": 'Dialogflow Request : {"session":"7"}'})
        ],
    ),
    "Copilot Studio": (
        "transcripts.csv",
        "conversationtranscriptid,content\n"
        '7,"{""activities"": [{""type"": ""trace"", ""from"": {""role"": 0}}, '
        f'{{""type"": ""message"", ""from"": {{""role"": 1}}, ""text"": ""{ASKED}"", ""timestamp"": {_SECONDS}}}, '
        f'{{""type"": ""message"", ""from"": {{""role"": 0}}, ""text"": ""{ANSWERED}"", ""timestamp"": {_SECONDS}}}'
        ']}"\n',
    ),
}
