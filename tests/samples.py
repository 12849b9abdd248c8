"""A small file of every layout, written by hand after the published descriptions, in several scripts.

`SAMPLES` holds ``(format, name of the file, content)``; content that is no text is written as JSON. They are used
together, to see that every layout is detected among all others, and each by the test of its format.
"""

import json
from pathlib import Path
from typing import Any

from call_logs import LOGS
from format_cases import doc2dial_dialogue, multiwoz_file, turns, write
from traces import TRACES

HELLO, SALAM, SHALOM, NIHAO = "Grüße 🙂", "مرحبا، كيف الحال؟", "שלום, מה שלומך?", "你好，请问订单在哪里？"


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _node(name: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"id": name, "author": {"role": role, "name": None}, "content": content, "create_time": 1700000000.5}
    message |= {"recipient": "all", "metadata": {}} | more
    return {"id": name, "parent": parent, "children": [], "message": message}


def said(text: str) -> dict[str, Any]:
    return {"content_type": "text", "parts": [text]}


CHATGPT = [
    {
        "title": "Ordering 🍰",
        "create_time": 1700000000.0,
        "update_time": 1700000100.0,
        "mapping": {
            "root": {"id": "root", "message": None, "parent": None, "children": ["s"]},
            "s": _node("s", "root", "system", said("secret"), metadata={"is_visually_hidden_from_conversation": True}),
            "q": _node(
                "q",
                "s",
                "user",
                {
                    "content_type": "multimodal_text",
                    "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file-service://a"}, SHALOM],
                },
                metadata={"attachments": [{"name": "cake.png"}]},
            ),
            "old": _node("old", "q", "assistant", said("regenerated away")),
            "think": _node(
                "think", "q", "assistant", {"content_type": "thoughts", "thoughts": [{"summary": "Hm", "content": "x"}]}
            ),
            "call": _node("call", "think", "assistant", {"content_type": "code", "text": "1+1"}, recipient="python"),
            "tool": _node("tool", "call", "tool", {"content_type": "execution_output", "text": "2"}),
            "new": _node("new", "tool", "assistant", said(HELLO), metadata={"model_slug": "gpt-4o"}),
        },
        "current_node": "new",
        "conversation_id": "c-1",
    },
    {"title": "opened only", "create_time": 1.0, "mapping": {}, "current_node": None, "id": "c-2"},
]

CHATGPT_OLD = {  # 2023: no id but the one of the file's owner, the tool and its answer as text
    "title": "t",
    "create_time": 1700000000.0,
    "id": "c-0",
    "current_node": "new",
    "moderation_results": [],
    "plugin_ids": None,
    "mapping": {
        "s": _node("s", None, "system", said("")),
        "q": _node("q", "s", "user", said(SHALOM)),
        "call": _node("call", "q", "assistant", {"content_type": "code", "text": "1+1"}, recipient="browser"),
        "tool": _node("tool", "call", "tool", {"content_type": "tether_browsing_display", "result": "2"}),
        "new": _node("new", "tool", "assistant", said(HELLO), metadata={"model_slug": "gpt-4"}),
    },
}

CLAUDE_OLD = {  # before 2024
    "uuid": "u-0",
    "name": "t",
    "created_at": "2023-05-01T10:00:00Z",
    "chat_messages": [
        {"uuid": "1", "sender": "human", "text": NIHAO, "created_at": "2023-05-01T10:00:00Z"},
        {"uuid": "2", "sender": "assistant", "text": HELLO, "created_at": "2023-05-01T10:01:00Z"},
    ],
}
CLAUDE = [
    {
        "uuid": "u-1",
        "name": "נסיון",
        "created_at": "2024-05-01T10:00:00Z",
        "updated_at": "2024-05-01T10:05:00Z",
        "account": {"uuid": "me"},
        "chat_messages": [
            {
                "uuid": "1",
                "text": NIHAO,
                "content": [{"type": "text", "text": NIHAO}],
                "sender": "human",
                "created_at": "2024-05-01T10:00:00Z",
                "attachments": [{"file_name": "plan.txt", "extracted_content": "…"}],
                "files": [],
                "parent_message_uuid": "0",
            },
            {
                "uuid": "2",
                "text": "This block is not supported",
                "content": [
                    {"type": "thinking", "thinking": "Hm."},
                    {"type": "tool_use", "name": "search", "input": {"q": "订单"}},
                    {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "found"}]},
                    {"type": "text", "text": HELLO},
                    {"type": "token_budget"},
                ],
                "sender": "assistant",
                "created_at": "2024-05-01T10:01:00Z",
                "attachments": [],
                "files": [],
                "parent_message_uuid": "1",
            },
        ],
    },
    {"uuid": "u-2", "name": "", "created_at": "2024-05-02T10:00:00Z", "chat_messages": []},
]


def _discord(name: str, text: str, **more: Any) -> dict[str, Any]:
    author = {"id": "9", "name": name, "nickname": f"{name} 🌸", "isBot": False, "roles": [], "avatarUrl": "x"}
    message = {"id": "1", "type": "Default", "timestamp": "2024-05-01T10:00:00+02:00", "isPinned": False}
    return message | {"content": text, "author": author, "attachments": [], "embeds": [], "stickers": []} | more


DISCORD = {
    "guild": {"id": "1", "name": "Gärtner", "iconUrl": ""},
    "channel": {"id": "77", "type": "GuildTextChat", "category": "talk", "name": "allgemein", "topic": None},
    "dateRange": {"after": None, "before": None},
    "exportedAt": "2024-06-01T00:00:00+00:00",
    "messages": [
        _discord("ann", HELLO),
        _discord("ben", "Joined the server.", id="2", type="GuildMemberJoin"),
        _discord("ben", SALAM, id="3", type="Reply", reference={"messageId": "1", "channelId": "77"}),
        _discord("ann", "", id="4", attachments=[{"fileName": "rose.png"}], stickers=[{"name": "wave"}]),
    ],
    "messageCount": 4,
}

SLACK_DAY = [
    {"type": "message", "subtype": "channel_join", "user": "U1", "text": "<@U1> has joined", "ts": "1700000000.000100"},
    {"type": "message", "user": "U1", "text": "Who? <@U2> &amp; <https://a.b|you> 🙂", "ts": "1700000001.000100"},
    {
        "type": "message",
        "user": "U1",
        "text": SHALOM,
        "ts": "1700000002.000100",
        "thread_ts": "1700000002.000100",
        "reply_count": 1,
        "files": [{"id": "F1", "name": "a.pdf"}],
        "reactions": [{"name": "tada", "count": 2, "users": ["U1", "U2"]}],
    },
]
SLACK_NEXT_DAY = [
    {"type": "message", "user": "U2", "text": HELLO, "ts": "1700090000.000100", "thread_ts": "1700000002.000100"},
    {"type": "message", "subtype": "bot_message", "bot_id": "B1", "username": "robot", "text": "", "ts": "1700090001.1"}
    | {"attachments": [{"fallback": "built 📦"}]},
]
SLACK_USERS = [
    {"id": "U1", "name": "ann.b", "profile": {"display_name": "Änn", "real_name": "Ann B."}},
    {"id": "U2", "name": "ben", "real_name": "بن", "profile": {"display_name": ""}},
]


def write_slack_export(folder: Path) -> Path:
    write(folder / "users.json", SLACK_USERS)
    write(folder / "channels.json", [{"id": "C1", "name": "general", "members": ["U1", "U2"]}])
    write(folder / "integration_logs.json", [])
    write(folder / "general" / "2023-11-14.json", SLACK_DAY)
    write(folder / "general" / "2023-11-15.json", SLACK_NEXT_DAY)
    return folder


TELEGRAM = {
    "name": "Zoé",
    "type": "personal_chat",
    "id": 7,
    "messages": [
        {"id": 2, "type": "message", "date": "2023-11-14T23:15:20", "from": "Max", "text": SALAM},
        {
            "id": 1,
            "type": "message",
            "date": "2023-11-14T22:13:20",
            "from": "Zoé",
            "text": ["Où est ", {"type": "bold", "text": "ma commande"}, " ?"],
        },
        {"id": 3, "type": "message", "date": "2023-11-15T00:00:00", "from": "Max", "photo": "a.jpg", "text": ""},
        {"id": 4, "type": "service", "date": "2023-11-15T00:00:01", "actor": "Zoé", "action": "pin_message"},
    ],
}
TELEGRAM_ALL = {
    "about": "…",
    "personal_information": {},
    "chats": {"about": "…", "list": [TELEGRAM, {**TELEGRAM, "id": 8, "messages": []}]},
    "left_chats": {"about": "…", "list": [{**TELEGRAM, "id": 9}]},
}

INTERCOM = {
    "type": "conversation",
    "id": "215",
    "created_at": 1700000000,
    "title": None,
    "state": "closed",
    "source": {
        "type": "conversation",
        "subject": "<p>Commande</p>",
        "body": '<p>Où est ma commande&nbsp;? 📦</p><img src="https://a.b/c.png">',
        "author": {"type": "user", "id": "5", "name": "Zoé"},
        "attachments": [],
    },
    "tags": {"type": "tag.list", "tags": [{"name": "orders"}]},
    "conversation_parts": {
        "type": "conversation_part.list",
        "conversation_parts": [
            {
                "part_type": "assignment",
                "body": None,
                "author": {"type": "bot", "name": "Fin"},
                "created_at": 1700000001,
            },
            {"part_type": "note", "body": "<p>call her</p>", "author": {"type": "admin", "name": "Max"}},
            {
                "part_type": "comment",
                "body": "<p>En route.</p><p>Demain.</p>",
                "author": {"type": "admin", "name": "Max"},
                "created_at": 1700000002,
                "attachments": [{"type": "upload", "name": "suivi.pdf"}],
            },
        ],
    },
}

ZENDESK = {
    "id": 35,
    "subject": "طلب",
    "status": "solved",
    "tags": ["orders"],
    "requester_id": 10,
    "created_at": "2024-05-01T10:00:00Z",
    "comments": [
        {
            "id": 1,
            "author_id": 10,
            "body": SALAM,
            "plain_body": SALAM,
            "public": True,
            "created_at": "2024-05-01T10:00:00Z",
        },
        {"id": 2, "author_id": 11, "body": "VIP!", "public": False, "created_at": "2024-05-01T10:01:00Z"},
        {
            "id": 3,
            "author_id": 11,
            "html_body": "<p>On its way 🚚</p>",
            "public": True,
            "created_at": "2024-05-01T10:02:00Z",
            "attachments": [{"file_name": "label.pdf"}],
        },
    ],
}

WHISPERX = {
    "segments": [
        {"start": 0.5, "end": 1.25, "text": f" {NIHAO}", "speaker": "SPEAKER_00", "words": []},
        {"start": 1.5, "end": 2, "text": " Ja. 🙂", "speaker": "SPEAKER_01", "words": []},
        {"start": 2, "end": 3, "text": " "},
    ],
    "language": "zh",
}
WHISPER = {
    "text": " Grüße. Ja.",
    "segments": [{"id": 0, "seek": 0, "start": 0.0, "end": 1.0, "text": " Grüße.", "tokens": [1], "temperature": 0.0}],
    "language": "de",
}
WHISPER_CPP = {
    "systeminfo": "AVX = 1",
    "result": {"language": "he"},
    "transcription": [
        {
            "timestamps": {"from": "00:00:00,000", "to": "00:00:01,500"},
            "offsets": {"from": 0, "to": 1500},
            "text": SHALOM,
        }
    ],
}
VTT = f"""WEBVTT

NOTE made by hand

00:00:01.000 --> 00:00:02.500
<v Änn>{HELLO} &amp; <i>welcome</i></v>

2
00:00:03.000 --> 00:01:04.000 align:start
<v דן>{SHALOM}</v>
"""
SRT = f"""1
00:00:01,000 --> 00:00:02,500
Änn: {HELLO}

2
00:00:03,000 --> 00:00:04,000
which goes on: here

3
00:00:05,000 --> 00:00:06,000
دان: {SALAM}
Änn: Ja.

4
01:00:07,000 --> 01:00:08,000
دان: 👍
"""

WHATSAPP_IOS = (
    "[25/12/2023, 21:05:59] Änn 🌸: \u200eMessages are end-to-end encrypted.\n"
    f"[25/12/2023, 21:06:10] Änn 🌸: {HELLO}\nAddress: Long Road\n"
    f"\u200e[25/12/2023, 21:07:00] ~\u202fدان: \u200e<attached: 00001-PHOTO.jpg>\n"
    f"[26/12/2023, 09:00:00] ~\u202fدان: {SALAM}\n"
    "[26/12/2023, 09:01:00] Änn 🌸: so: yes \u200e<This message was edited>\n"
)
WHATSAPP_ANDROID = (
    "12/24/23, 9:05\u202fPM - Messages and calls are end-to-end encrypted.\n"
    f"12/24/23, 9:06\u202fPM - דן: {SHALOM}\n"
    "12/24/23, 9:07\u202fPM - Ann: <Media omitted>\n"
    "12/24/23, 12:08\u202fAM - Ann: IMG-1.jpg (file attached)\nlook 👀\n"
)

MBOX = """From ann@example.com Wed May  1 10:00:00 2024
From: =?utf-8?q?=C3=84nn?= <ann@example.com>
To: ben@example.com
Subject: =?utf-8?b?8J+NsCBjYWtl?=
Message-ID: <1@example.com>
Date: Wed, 01 May 2024 10:00:00 +0200
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit

Grüße 🙂
-- 
Änn

From ben@example.com Wed May  1 12:00:00 2024
From: ben@example.com
Subject: Re: cake
Message-ID: <3@example.com>
In-Reply-To: <2@example.com>
References: <1@example.com> <2@example.com>
Date: Wed, 01 May 2024 12:00:00 +0200
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="b"

--b
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: 8bit

<p>שלום</p><blockquote>Grüße</blockquote>
--b
Content-Type: application/pdf; name="plan.pdf"
Content-Disposition: attachment; filename="plan.pdf"

x
--b--

From ann@example.com Wed May  1 11:00:00 2024
From: Änn <ann@example.com>
Subject: Re: cake
Message-ID: <2@example.com>
In-Reply-To: <1@example.com>
Date: Wed, 01 May 2024 11:00:00 +0200
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit

مرحبا

On Wed, 1 May 2024 at 10:00, Änn
<ann@example.com> wrote:
> Grüße 🙂
> --
> Änn

From cy@example.com Thu May  2 11:00:00 2024
From: Cy <cy@example.com>
Subject: else
Date: Thu, 02 May 2024 11:00:00 +0000

Hello?
"""

OPENAI_PARTS = {
    "messages": [
        {"role": "system", "content": "Be kind."},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is this? "},
                {"type": "text", "text": "🙂"},
                {"type": "image_url", "image_url": {"url": "https://a.b/c.png"}},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
                {"type": "text", "text": SALAM},
            ],
        },
        {"role": "assistant", "content": None, "tool_calls": [{"id": "t", "function": {"name": "look"}}]},
        {"role": "tool", "tool_call_id": "t", "content": [{"type": "text", "text": "a cake"}]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I may not."}], "tool_calls": []},
        {"role": "assistant", "content": None, "refusal": "No."},
        {"role": "assistant", "content": [{"type": "output_text", "text": "蛋糕"}]},
    ]
}
ANTHROPIC = {
    "system": "Be kind.",
    "messages": [
        {"role": "user", "content": SHALOM},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "x"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t", "name": "look", "input": {"at": "蛋糕"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t",
                    "content": [
                        {"type": "text", "text": "a cake"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                    ],
                }
            ],
        },
        {"role": "assistant", "content": "A cake 🍰"},
    ],
}

CALLS = [
    {
        "session_id": "s",
        "timestamp": f"2024-05-01T10:0{minute}:00Z",
        "request": {"model": "m", "messages": [{"role": "system", "content": "Be kind."}, *history]},
        "response": {
            "choices": [{"message": {"role": "assistant", "content": reply}}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 2},
        },
    }
    for minute, history, reply in (
        (2, turns(HELLO, SALAM, SHALOM), NIHAO),
        (1, turns(HELLO), SALAM),
    )
]

TRANSCRIPT = f"""Interview, 1 May

Änn: {HELLO}
**דן:** {SHALOM}
and more
[00:01:05] Änn: Address: Long Road
客服：你好
客服 (00:02:00): 再见
"""

_WEBUI_MESSAGES: dict[str, dict[str, Any]] = {
    "q": {"id": "q", "parentId": None, "childrenIds": ["old", "new"], "role": "user", "content": HELLO},
    "old": {"id": "old", "parentId": "q", "childrenIds": [], "role": "assistant", "content": "regenerated away"},
    "new": {"id": "new", "parentId": "q", "childrenIds": [], "role": "assistant", "content": NIHAO}
    | {"model": "m", "timestamp": 1700000001, "annotation": {"rating": 1}},
}
_WEBUI_SHOWN = [_WEBUI_MESSAGES["q"], _WEBUI_MESSAGES["new"]]  # all that there was before answers had branches
_WEBUI_CHAT = {"title": "t", "models": ["m"], "history": {"messages": _WEBUI_MESSAGES, "currentId": "new"}}
_OPEN_WEBUI = {
    "id": "s",
    "user_id": "u",
    "title": "t",
    "created_at": 1700000000,
    "updated_at": 1700000001,
    "chat": _WEBUI_CHAT,
}
_LIBRE_MESSAGES: list[dict[str, Any]] = [
    {"messageId": "1", "parentMessageId": "0", "isCreatedByUser": True, "sender": "User", "text": HELLO}
    | {"createdAt": "2023-11-14T10:00:00Z"},
    {"messageId": "2", "parentMessageId": "1", "isCreatedByUser": False, "sender": "M", "text": "regenerated away"}
    | {"createdAt": "2023-11-14T10:00:01Z"},
    {"messageId": "3", "parentMessageId": "1", "isCreatedByUser": False, "sender": "M", "text": ""}
    | {"content": [{"type": "think", "think": "Hm."}, {"type": "text", "text": {"value": NIHAO}}]}
    | {"createdAt": "2023-11-14T10:00:02Z", "feedback": {"rating": "thumbsUp"}},
]
_LIBRECHAT = {"conversationId": "s", "title": "t", "endpoint": "openAI", "options": {"model": "m"}}


def _claude_code(number: int, role: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": content}
    message |= {"id": f"m{number}", "model": "m", "usage": {"input_tokens": 5}} if role == "assistant" else {}
    row = {"parentUuid": f"u{number - 1}" if number else None, "isSidechain": False, "sessionId": "s", "version": "2"}
    return {
        **row,
        "type": role,
        "uuid": f"u{number}",
        "message": message,
        "timestamp": f"2023-11-14T10:00:0{number}Z",
    } | more


_CLAUDE_CODE = [
    _claude_code(0, "user", HELLO),
    _claude_code(1, "user", "<command-name>", isMeta=True),
    _claude_code(2, "assistant", [{"type": "thinking", "thinking": "Hm.", "signature": "x"}]),
    _claude_code(3, "assistant", [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}]),
    _claude_code(4, "user", [{"type": "tool_result", "tool_use_id": "t", "content": "a cake"}], toolUseResult={}),
    _claude_code(5, "assistant", [{"type": "text", "text": "aside"}], isSidechain=True),
    _claude_code(6, "assistant", [{"type": "text", "text": NIHAO}]),
]
_CODEX_ITEMS: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>…"}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": HELLO}]},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "x"},
    {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "t"},
    {"type": "function_call_output", "call_id": "t", "output": "a cake"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": NIHAO}]},
]
_CODEX = [
    {"type": "session_meta", "payload": {"id": "s", "cwd": "/", "cli_version": "0.46.0"}},
    {"type": "turn_context", "payload": {"cwd": "/", "model": "m"}},
    {"type": "event_msg", "payload": {"type": "user_message", "message": HELLO}},
    *({"type": "response_item", "payload": item} for item in _CODEX_ITEMS),
]
_CODEX_OLD = [{"record_type": "state"}, *_CODEX_ITEMS, {"record_type": "state"}]  # before 0.32
_VERCEL = {
    "id": "v",
    "messages": [
        {"id": "1", "role": "user", "parts": [{"type": "text", "text": HELLO}]},
        {
            "id": "2",
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "Hm.", "state": "done"},
                {"type": "tool-look", "toolCallId": "t", "state": "output-available", "input": {}, "output": "a cake"},
                {"type": "source-url", "sourceId": "x", "url": "https://a.b"},
                {"type": "text", "text": NIHAO, "state": "done"},
            ],
        },
    ],
}
_INVOKED = {"state": "result", "toolCallId": "t", "toolName": "look", "args": {}, "result": "a cake"}
_VERCEL_4 = {
    "id": "v",
    "messages": [
        {"id": "1", "role": "user", "content": HELLO, "parts": [{"type": "text", "text": HELLO}]},
        {
            "id": "2",
            "role": "assistant",
            "content": "",
            "parts": [
                {"type": "reasoning", "reasoning": "Hm.", "details": []},
                {"type": "tool-invocation", "toolInvocation": _INVOKED},
                {"type": "text", "text": NIHAO},
            ],
        },
    ],
}
MESSENGER = {
    "participants": [{"name": "Ann"}, {"name": "Shop"}],
    "messages": [
        {"sender_name": "Shop", "timestamp_ms": 1700000300000, "content": NIHAO.encode().decode("latin-1")},
        {"sender_name": "Ann", "timestamp_ms": 1700000200000, "photos": [{"uri": "photos/1.jpg"}]},
        {"sender_name": "Ann", "timestamp_ms": 1700000100000, "content": HELLO.encode().decode("latin-1")},
    ],
    "title": "Ann",
    "thread_path": "inbox/ann_1",
}
ASSISTANTS: list[tuple[str, str, Any]] = [
    ("open_webui", "chats.json", [_OPEN_WEBUI]),
    ("open_webui", "chat.jsonl", lines({**_OPEN_WEBUI, "share_id": None, "archived": False, "meta": {"tags": []}})),
    ("open_webui", "old.json", [{**_OPEN_WEBUI, "chat": {"models": ["m"], "messages": _WEBUI_SHOWN}}]),
    ("open_webui", "of_database.json", {**_WEBUI_CHAT, "id": "s", "timestamp": 1700000000000}),
    ("librechat", "chat.json", {**_LIBRECHAT, "branches": True, "recursive": False, "messages": _LIBRE_MESSAGES}),
    (
        "librechat",
        "older_tree.json",
        {**_LIBRECHAT, "messagesTree": [{**_LIBRE_MESSAGES[0], "children": _LIBRE_MESSAGES[1:]}]},
    ),
    (
        "librechat",
        "tree.json",
        {**_LIBRECHAT, "recursive": True, "messages": [{**_LIBRE_MESSAGES[0], "children": _LIBRE_MESSAGES[1:]}]},
    ),
    ("claude_code", "s.jsonl", lines(*_CLAUDE_CODE)),
    ("claude_code", "summary.jsonl", lines({"type": "summary", "summary": "x", "leafUuid": "u6"}, *_CLAUDE_CODE)),
    ("codex", "rollout.jsonl", lines(*({"timestamp": "2023-11-14T10:00:00Z", **line} for line in _CODEX))),
    (
        "codex",
        "rollout-old.jsonl",
        lines({"id": "s", "timestamp": "2023-11-14T10:00:00Z", "instructions": None, "git": {}}, *_CODEX_OLD),
    ),
    ("chat", "vercel.json", [_VERCEL]),
    ("chat", "vercel4.jsonl", lines(_VERCEL_4)),
]

_EXPORTS: list[tuple[str, str, Any]] = [
    *ASSISTANTS,
    *(("spans", name, content) for name, content in TRACES.values()),
    ("chatgpt", "conversations.json", CHATGPT),
    ("chatgpt", "one.json", CHATGPT[0]),
    ("chatgpt", "old.json", [CHATGPT_OLD]),
    ("claude", "conversations.json", CLAUDE),
    ("claude", "old.json", [CLAUDE_OLD]),
    ("discord", "channel.json", DISCORD),
    ("slack", "2023-11-14.json", SLACK_DAY),
    ("intercom", "conversations.jsonl", lines(INTERCOM)),
    ("intercom", "page.json", {"type": "conversation.list", "pages": {}, "conversations": [INTERCOM]}),
    ("messenger", "message_1.json", MESSENGER),
    ("telegram", "result.json", TELEGRAM),
    ("telegram", "all.json", TELEGRAM_ALL),
    ("zendesk", "tickets.json", lines(ZENDESK, ZENDESK)),
    ("zendesk", "page.json", {"tickets": [ZENDESK], "users": [{"id": 11, "name": "Max", "role": "agent"}]}),
    ("whisper", "x.json", WHISPERX),
    ("whisper", "whisper.json", WHISPER),
    ("whisper", "cpp.json", WHISPER_CPP),
    ("subtitles", "meeting.vtt", VTT),
    ("subtitles", "meeting.srt", SRT),
    ("whatsapp", "_chat.txt", WHATSAPP_IOS),
    ("whatsapp", "WhatsApp Chat with Ann.txt", WHATSAPP_ANDROID),
    ("mbox", "inbox.mbox", MBOX),
    ("calls", "calls.jsonl", lines(*CALLS)),
    *(("calls", name, content) for name, content in LOGS.values()),
    ("chat", "parts.jsonl", lines(OPENAI_PARTS)),
    ("chat", "snapshots.jsonl", lines(*({"session_id": "s", "messages": turns(HELLO, NIHAO)[:n]} for n in (1, 2)))),
    ("chat", "anthropic.jsonl", lines(ANTHROPIC)),
    ("chat", "lists.jsonl", lines(turns(HELLO, SALAM), turns(SHALOM))),
    ("chat", "lists.json", [turns(HELLO, SALAM), turns(SHALOM)]),
    ("chat", "one.json", turns(HELLO, SALAM)),
    ("chat", "wrapped.json", {"version": 1, "conversations": [{"id": "a", "messages": turns(HELLO, NIHAO)}]}),
    ("chat", "sharegpt.json", {"conversations": [{"from": "human", "value": HELLO}, {"from": "gpt", "value": NIHAO}]}),
    ("pairs", "completions.jsonl", lines({"prompt": HELLO, "completion": NIHAO})),
    ("pairs", "faq.csv", f"question,answer\n{HELLO},{NIHAO}\n"),
    ("transcript", "interview.txt", TRANSCRIPT),
]

_RESEARCH: list[tuple[str, str, Any]] = [
    (
        "sgd",
        "dialogues.json",
        [{"dialogue_id": "1", "services": ["a"], "turns": [{"speaker": "USER", "utterance": "x"}]}],
    ),
    ("multiwoz", "data.json", multiwoz_file()),
    (
        "bitod",
        "zh_train.json",
        {"1": {"Scenario": {"WizardCapabilities": []}, "Events": [{"Agent": "User", "Actions": [], "Text": NIHAO}]}},
    ),
    ("jddc", "chat.txt", f"session_id\tuser_id\twaiter_send\tcontent\ns1\tu1\t0\t{NIHAO}\n"),
    ("doc2dial", "dial.json", {"dial_data": {"dmv": {"d": [doc2dial_dialogue("1", "where?")]}}}),
    ("metalwoz", "SKI.txt", lines({"id": "1", "domain": "SKI", "task_id": "t", "turns": ["Hello"]})),
    (
        "taskmaster",
        "data.json",
        [{"conversation_id": "1", "utterances": [{"index": 0, "speaker": "USER", "text": "x", "segments": []}]}],
    ),
    ("self_dialogue", "a.csv", "AssignmentId,Answer.sentence1,Answer.sentence2\n1,a,b\n"),
    (
        "mdc",
        "movie.tsv",
        "session.ID\tMessage.ID\tMessage.Timestamp\tMessage.From\tMessage.Text\n1\t1\t2024\tuser\thello\n",
    ),
    ("dailydialog", "dialogues_text.txt", "Hi : there . __eou__ Yes . __eou__\n"),
    ("ecd", "train.txt", "你好|在的\t明天发货\t0|1-0-1\t1\t几时发货|不要了\t1|0\n"),
    ("jddc", "chat.txt", f"session_id\twaiter_send\tcontent\ns\t0\t{NIHAO}\ns\t1\t明天发货\n"),
    ("dial2vec", "train.tsv", "01\ta#b|a#c\t0\n"),
    ("personachat", "valid.txt", "1 your persona: i ski.\n2 hello\thi\n"),
    ("cbt", "book.txt", "_BOOK_TITLE_ : A.txt.out\nCHAPTER I\nA sentence .\n"),
    ("table", "t.csv", f"conversation_id,speaker,text\n1,a,{SALAM}\n"),
    ("table", "t.txt", f"conversation_id\tspeaker\ttext\n1\ta\t{SALAM}\n"),
]

SAMPLES = _EXPORTS + _RESEARCH
