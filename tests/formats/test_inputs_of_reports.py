"""Inputs written anew after public reports of users of other tools; each names the report. All texts are invented."""

from pathlib import Path
from typing import Any

from test_reported_cases import Talks, _claude, _discord, _meta, _rich, _section, _slack, said

from format_cases import write

_NODE = {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": ["Yes."]}}


def _tree(*contents: dict[str, Any], current: str | None = None) -> list[dict[str, Any]]:
    """An export of ChatGPT with messages of these contents in a row."""
    mapping = {
        str(n): {
            "id": str(n),
            "parent": str(n - 1) if n else None,
            "message": {"author": {"role": content.pop("role", "assistant")}, "content": content},
        }
        for n, content in enumerate(contents)
    }
    return [{"conversation_id": "c", "current_node": current or str(len(contents) - 1), "mapping": mapping}]


def _plain(text: str, **more: str) -> dict[str, Any]:
    return {"content_type": "text", "parts": [text], **more}


def _mail(charset: str, text: bytes) -> bytes:
    head = "From a@example.org Mon Jan  5 10:01:00 2026\nFrom: a@example.org\nMessage-ID: <1@x>\n"
    return f"{head}Content-Type: text/plain; charset={charset}\n\n".encode() + text + b"\n\n"


def _telegram(**message: Any) -> dict[str, Any]:
    plain = {"id": 1, "type": "message", "date": "2026-01-01T10:00:00", "from": "Ann", "from_id": "user1", "text": ""}
    return {"name": "Ann", "type": "personal_chat", "id": 7, "messages": [{**plain, **message}]}


def _sharegpt(*turns: tuple[str, Any], **more: Any) -> list[dict[str, Any]]:
    return [{"conversations": [{"from": who, "value": text} for who, text in turns], **more}]


_TIMES = "00:01.000 --> 00:02.000"
_GRUSS = "Grüße aus Köln, schöne Tage"

# name of the file -> reports, content, and what is in it
REPORTS: dict[str, list[tuple[str, Any, Talks]]] = {
    "d.json": [
        (
            "anthropics/claude-plugins-official#1411",
            _slack(text="", attachments=[{"text": "disk is full"}]),
            ["app: disk is full"],
        ),
        (
            "open-cli-collective/slack-chat-api#142",
            _slack(
                text="",
                blocks=_rich(
                    {"type": "rich_text_quote", "elements": [{"type": "text", "text": "why?"}]},
                    {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "a b"}]},
                    _section("so"),
                ),
            ),
            ["app: why?\na b\nso"],
        ),
        (
            "Tyrrrz/DiscordChatExporter#165",
            _discord(embeds=[{"fields": [{"name": "disk", "value": "is full"}]}]),
            ["ann: disk\nis full"],
        ),
        (
            "Tyrrrz/DiscordChatExporter#527",
            _discord(embeds=[{"title": "Build failed", "description": ""}]),
            ["ann: Build failed"],
        ),
        (
            "hfaran/slack-export-viewer#186",
            [*_slack(text="", files=[{"name": "a.pdf"}]), *_slack(text="hi")],
            ["app:  | app: hi"],
        ),
        (
            "rusq/slackdump#222",
            [{"type": "message", "subtype": "bot_message", "text": "hi", "ts": "1700000000.1"}],
            ["slack: hi"],
        ),
        ("mlomb/chat-analytics#11", _discord(stickers=[{"id": "1", "name": "Hello", "format": "Lottie"}]), ["ann: "]),
        ("mlomb/chat-analytics#62", _discord(), ["ann: "]),
    ],
    "result.json": [
        (
            "pigpagnet/save-telegram-chat-history#10",
            _telegram(photo="a.jpg", text="This is a lynx."),
            ["Ann: This is a lynx."],
        ),
        (
            "MasterScrat/Chatistics#61",
            _telegram(text=["see ", {"type": "bold", "text": "page two"}]),
            ["Ann: see page two"],
        ),
    ],
    "conversations.json": [
        (
            "daugaard47/ChatGPT_Conversations_To_Markdown#6",
            _tree(
                _plain("why?", role="user"),
                {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "t"}]},
                {"content_type": "reasoning_recap", "content": "Thought for 7 seconds"},
                _plain("So."),
            ),
            ["user: why? | assistant:  | assistant:  | assistant: So."],
        ),
        (
            "elizaOS/eliza#12007",
            _tree(
                _plain("code?", role="user"),
                {"content_type": "code", "language": "python", "text": "print(1)"},
                _plain("Ok."),
            ),
            ["user: code? | assistant: print(1) | assistant: Ok."],
        ),
        (
            "ha0xin/chatgpt-multimodal-exporter#8",
            _tree(_plain("a", role="user"), _plain("b"), current="gone"),
            ["user: a | assistant: b"],
        ),
        (
            "vana-com/personal-server#18",
            [
                {
                    "title": "old",
                    "create_time": 1,
                    "mapping": {
                        "r": {"id": "r", "parent": None, "message": None},
                        "a": {"id": "a", "parent": "r", "message": _NODE},
                    },
                }
            ],
            ["assistant: Yes."],
        ),
        (
            "Nwflower/dsh-chat-import#62",
            [{"title": "deleted", "conversation_id": "x"}, *_tree(_plain("a", role="user"), _plain("b"))],
            ["user: a | assistant: b"],
        ),
        ("yetanotherchris/openwebui-importer#17", [*_claude("one"), {"uuid": "l", "chat_messages": []}], ["user: one"]),
    ],
    "s.json": [
        (
            "NVIDIA-NeMo/Automodel#2375",
            [{"conversations": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]}],
            ["user: hi | assistant: yes"],
        ),
        (
            "ai-dynamo/aiperf#798",
            _sharegpt(("human", "a"), ("gpt", "b"), ("human", "c"), ("gpt", "d")),
            ["user: a | assistant: b | user: c | assistant: d"],
        ),
        (
            "Tencent/AngelSlim#345",
            _sharegpt(("human", "a"), ("gpt", "b"), system="be kind"),
            ["user: a | assistant: b"],
        ),
    ],
    "in.mbox": [
        ("martinrusev/imbox#169", _mail('"utf-8  euao6y"', _GRUSS.encode()), [f"a@example.org: {_GRUSS}"]),
        ("martinrusev/imbox#177", _mail('""', _GRUSS.encode("cp1252")), [f"a@example.org: {_GRUSS}"]),
        ("nodemailer/mailparser#167", _mail("%CHARSET", _GRUSS.encode()), [f"a@example.org: {_GRUSS}"]),
        ("coddingtonbear/django-mailbox#34", _mail("_iso-2022-jp$esc", b"plain text"), ["a@example.org: plain text"]),
        ("modoboa/modoboa#944", _mail("windows-874", "สวัสดีครับ".encode("cp874")), ["a@example.org: สวัสดีครับ"]),
        ("ReDASers/PhishBench#138", _mail('"', _GRUSS.encode()), [f"a@example.org: {_GRUSS}"]),
        ("meh/ruby-mbox#15", _mail("iso-8859-1", _GRUSS.encode("latin-1")), [f"a@example.org: {_GRUSS}"]),
    ],
    "t.csv": [
        (
            "Belphemur/vue-json-csv#43",
            "\ufeffsep=;\r\nconversation_id;role;content\r\n1;user;čau\r\n".encode(),
            ["user: čau"],
        ),
        (
            "javiertelioz/angular2-csv#10",
            "\ufeffconversation_id\trole\tcontent\n1\tuser\tčau\n".encode("utf-16"),
            ["user: čau"],
        ),
        (
            "OpenCTI-Platform/connectors#7365",
            "\ufeffconversation_id,role,content\n1,user,مرحبا بكم\n".encode(),
            ["user: مرحبا بكم"],
        ),
        (
            "getodk/central#752",
            f'conversation_id,role,content\n1,user,"{_GRUSS}"\n'.encode("cp1252"),
            [f"user: {_GRUSS}"],
        ),
        (
            "gr8b/zabbix-module-sqlexplorer#18",
            'conversation_id,role,content\r\n1,user,"a\r\n\r\nb"\r\n',
            ["user: a\r\n\r\nb"],
        ),
    ],
    "c.txt": [
        (
            "Pustur/whatsapp-chat-parser#248",
            "1/4/23, 7:02\u202fPM - Ann: hi\n1/14/23, 2:51\u202fAM - Ben: yes\n",
            ["Ann: hi | Ben: yes"],
        ),
        (
            "Pustur/whatsapp-chat-parser#224",
            "20/6/2017 8:28 p.\u00a0m. - Ann: hi\n20/6/2017 8:29 p.\u00a0m. - Ben: yes\n",
            ["Ann: hi | Ben: yes"],
        ),
        (
            "joweich/chat-miner#42",
            "[31/12/23, 21:05:59] Ann: hi\n\u200e[31/12/23, 21:06:00] Ben: yes\n",
            ["Ann: hi | Ben: yes"],
        ),
        (
            "BryceStevenWilley/visioning_texts#24",
            "[31/12/2019, 2:14:40 a.m.] Ann: hi\n[31/12/2019, 2:15:40 p.m.] Ben: yes\n",
            ["Ann: hi | Ben: yes"],
        ),
        (
            "lucasrodes/whatstk#139",
            "[12/27/20, 18:51:14] ~ Ann: hi\n[7/18/21, 18:34:07] Ben - French: yes\n",
            ["Ann: hi | Ben - French: yes"],
        ),
        (
            "gesiscss/WhatsR#32",
            "[01-29-2018, 23:33:00] Ann: hi\n[01-29-2018, 23:45:01] Ben: yes\n",
            ["Ann: hi | Ben: yes"],
        ),
    ],
    "a.vtt": [
        (
            "glut23/webvtt-py#46",
            f"WEBVTT\n\n{_TIMES} line:79% align:center\n\nthe bridge\nwas open\n",
            ["speaker: the bridge\nwas open"],
        ),
        ("glut23/webvtt-py#2", "WEBVTT\n\n01:11.913 --> 01:13.346\nhi\n", ["speaker: hi"]),
        ("glut23/webvtt-py#49", f"\ufeffWEBVTT\n\n{_TIMES}\nthe last one", ["speaker: the last one"]),
        ("w3c/webvtt#224", f"WEBVTT\n{_TIMES}\n\nTest it\n", ["speaker: Test it"]),
        ("osk/node-webvtt#16", f"WEBVTT\n\n{_TIMES}\n\n\n00:03.000 --> 00:04.000\nyes\n", ["speaker: yes"]),
    ],
    "c.json": [
        (
            "comet-ml/opik#3580",
            [
                {
                    "messages": [
                        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "a.png"}}]},
                        {"role": "assistant", "content": "A cat."},
                    ]
                }
            ],
            ["user:  | assistant: A cat."],
        )
    ],
    "message_1.json": [("miscord/miscord#68", _meta(("A", "hi"), ("B", "")), ["B:  | A: hi"])],
}


def test_inputs_of_reports_are_read_whole(tmp_path: Path) -> None:
    wrong = []
    cases = [(name, *case) for name, some in REPORTS.items() for case in some]
    for number, (name, report, content, expected) in enumerate(cases):
        path = write(tmp_path / str(number) / name, content)
        try:
            found: Any = said(path)
        except ValueError as error:
            found = str(error)
        wrong += [(report, found)] if found != expected else []
    assert not wrong
