"""Inputs of kinds that users of other tools reported as read wrongly; all are invented.

Each case is a file, and the speakers and texts that are in it; above those of `REPORTS` stands the public report."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from format_cases import read, write
from samples import lines

Talks = list[str]


def said(path: Path) -> Talks:
    """Each conversation as ``speaker: text | speaker: text``."""
    return [" | ".join(f"{said['role']}: {said['content']}" for said in row["messages"]) for row in read(path)]


def _slack(**message: Any) -> list[dict[str, Any]]:
    return [{"type": "message", "subtype": "bot_message", "username": "app", "ts": "1700000000.1", **message}]


def _rich(*elements: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "rich_text", "elements": list(elements)}]


def _section(*texts: str) -> dict[str, Any]:
    return {"type": "rich_text_section", "elements": [{"type": "text", "text": text} for text in texts]}


def _block(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def _discord(**message: Any) -> dict[str, Any]:
    plain = {"id": "1", "type": "Default", "timestamp": "2026-01-01T10:00:00+00:00", "content": ""}
    return {"guild": {}, "channel": {"id": "1"}, "messages": [{**plain, "author": {"name": "ann"}, **message}]}


def _claude(text: str, *files: tuple[str, str]) -> list[dict[str, Any]]:
    attached = [{"file_name": name, "file_type": "txt", "extracted_content": content} for name, content in files]
    message = {"uuid": "m", "sender": "human", "text": text, "content": [], "attachments": attached}
    return [{"uuid": "k", "chat_messages": [message]}]


def _gemini(contents: Any) -> dict[str, Any]:
    answer = {"candidates": [{"content": {"parts": [{"text": "Here."}], "role": "model"}}]}
    call = {"id": "o", "traceId": "t", "type": "GENERATION", "startTime": "2026-01-01T10:00:00.000Z"}
    call |= {"input": {"model": "m", "contents": contents}, "output": answer}
    trace = {"id": "t", "name": "n", "sessionId": "s", "timestamp": call["startTime"], "input": None, "output": None}
    return {"trace": trace, "observations": [call | {"name": "n", "parentObservationId": None}]}


def _webui(current: str | None, **more: Any) -> dict[str, Any]:
    messages = {
        "q": {"id": "q", "parentId": None, "role": "user", "content": "mount it?"},
        "a": {"id": "a", "parentId": "q", "role": "assistant", "content": "so"},
        **more,
    }
    return {"id": "w", "title": "t", "chat": {"history": {"currentId": current, "messages": messages}}}


def _librechat(*texts: str, time: str | None, back: bool = False) -> dict[str, Any]:
    """A chat in which each answers the one before it, all of the same time."""
    messages = [
        {"messageId": str(n), "parentMessageId": str(n - 1), "isCreatedByUser": n % 2 == 0, "text": text}
        for n, text in enumerate(texts)
    ]
    timed = [{**message, "createdAt": time} for message in messages]
    return {"conversationId": "l", "messages": timed[::-1] if back else timed}


_AT = "2026-01-01T10:00:00.000Z"


def _queued(prompt: Any, mode: str) -> dict[str, Any]:
    typed = {"type": "queued_command", "prompt": prompt, "commandMode": mode}
    return {"type": "attachment", "sessionId": "s", "uuid": "q", "timestamp": _AT, "attachment": typed}


def _line(kind: str, **payload: Any) -> dict[str, Any]:
    """A line of a session of Codex."""
    return {"timestamp": _AT, "type": kind, "payload": payload}


def _meta_line(session: str) -> dict[str, Any]:
    return _line("session_meta", id=session, timestamp=_AT, cwd="/w")


def _event(kind: str, **more: Any) -> dict[str, Any]:
    return _line("event_msg", type=kind, **more)


def _item(kind: str, part: str, text: str) -> dict[str, Any]:
    return _event("item_completed", item={"type": kind, "id": "1", "content": [{"type": part, "text": text}]})


def _kept(who: str, text: str) -> dict[str, Any]:
    content = [{"type": "input_text" if who == "user" else "output_text", "text": text}]
    return _line("response_item", type="message", role=who, content=content)


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


def _meta(*messages: tuple[str, str], **names: str) -> dict[str, Any]:
    speaker, time, text = names.get("speaker", "sender_name"), names.get("time", "timestamp_ms"), "content"
    rows = [{speaker: who, time: 1700000009000 - place, text: content} for place, (who, content) in enumerate(messages)]
    return {"participants": [], "messages": rows}


_PASTE, _LEEDS = "compare these two lists", "Hi,\n\nFrom Leeds I wrote\nFrom: nobody: at all"
_ENVELOPE = "From a@x.org Mon Jan  5 10:00:00 2026\nFrom: Ann <a@x.org>\nMessage-ID: <{}@x>\n\n"
_SPOKEN_TO = {"role": "user", "content": "open?"}
_OUTPUT = [
    {"type": "reasoning", "summary": None, "content": [{"type": "output_text", "text": "Hm."}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "No."}]},
]
_CLAUDE_CODE = [
    {"type": who, "sessionId": "s", "uuid": who, "timestamp": _AT, "message": {"role": who, "content": text}}
    for who, text in (("user", "a"), ("assistant", "b"))
]
_THOUGHT = '<details type="reasoning" done="true">\n<summary>Thought</summary>\n> Hm.\n</details>\n'
_CALLED = (
    '<details type="tool_calls" done="true" id="x" name="sum" arguments="&quot;{\\&quot;a\\&quot;: 2}&quot;" '
    'result="&quot;5&quot;">\n<summary>Tool Executed</summary>\n</details>'
)
_CALCULATED = (
    '<details type="code_interpreter" done="true" output="{&quot;stdout&quot;: &quot;1&quot;}">\n'
    "<summary>Analyzed</summary>\n```python\nprint(1 &lt; 2)\n```\n</details>\n"
)
_ANSWERED = "user: open? | assistant: Yes."
_ASKED = {"sender": "human", "text": "open?"}
_ASKED_TWICE = "user: open? | assistant: Yes. | user: late? | assistant: No."
_UNANSWERED = {"o": {"id": "o", "content": "", "done": True}}

# name of the file, content, and what is in it
CASES: list[tuple[str, Any, Talks]] = [
    # text in a newer or second field
    ("d.json", _slack(text="", blocks=[{"type": "header", "text": {"text": "Down"}}]), ["app: Down"]),
    ("d.json", _slack(text="", blocks=_rich(_section("it ", "broke"))), ["app: it broke"]),
    (
        "d.json",
        _slack(blocks=_rich({"type": "rich_text_list", "elements": [_section("one"), _section("two")]})),
        ["app: one\ntwo"],
    ),
    (
        "d.json",
        _slack(text="", blocks=[{"type": "section", "fields": [{"text": "Name"}, {"text": "Kim"}]}]),
        ["app: Name\nKim"],
    ),
    (
        "d.json",
        _slack(text="", attachments=[{"pretext": "Alert", "fields": [{"title": "disk", "value": "full"}]}]),
        ["app: Alert\ndisk\nfull"],
    ),
    ("d.json", _slack(text="own", blocks=_rich(_section("other"))), ["app: own"]),
    # a second text beside a filled one
    ("d.json", _slack(text="Down", blocks=[_block("*Down*"), _block("db1 is full")]), ["app: Down\ndb1 is full"]),
    ("d.json", _slack(text="Down at <https://a.b|db1>", blocks=[_block("<https://a.b|db1>")]), ["app: Down at db1"]),
    ("d.json", _slack(text="Down", attachments=[{"title": "db1", "text": "full"}]), ["app: Down\ndb1\nfull"]),
    ("d.json", _slack(text="", attachments=[{"title": "Down", "text": "db1"}]), ["app: Down\ndb1"]),
    ("d.json", _slack(text="see", attachments=[{"from_url": "https://a.b", "text": "A page"}]), ["app: see"]),
    ("d.json", _slack(text="", attachments=[{"is_share": True, "text": "Shared"}]), ["app: Shared"]),
    ("d.json", _discord(forwardedMessage={"content": "restart it"}), ["ann: restart it"]),
    *(("d.json", _discord(type=type, content="done"), ["ann: done"]) for type in ("0", "19", "20", "23")),
    ("d.json", _discord(type="7", content="done"), ["ann: "]),
    (
        "result.json",
        _telegram(
            todo_list={"title": ["My ", {"type": "bold", "text": "list"}], "answers": [{"id": 1, "text": "tea"}]}
        ),
        ["Ann: My list\ntea"],
    ),
    ("d.json", _discord(embeds=[{"title": "CI", "description": "build failed"}]), ["ann: build failed"]),
    ("conversations.json", _claude("", ("", _PASTE)), [f"user: {_PASTE}"]),
    ("conversations.json", _claude("please", ("paste.txt", _PASTE)), [f"user: please\n\n{_PASTE}"]),
    ("conversations.json", _claude("please", ("plan.pdf", "chapter 1")), ["user: please"]),
    *(
        ("trace.json", _gemini(contents), ["user: Where is it? | assistant: Here."])
        for contents in (
            "Where is it?",
            ["Where is it?"],
            {"parts": [{"text": "Where is it?"}]},
            [{"parts": [{"text": "Where is it?"}]}],
            [{"text": "Where is it?"}],
        )
    ),
    ("result.json", _telegram(**{"from": None}, from_id="user9", text="open?"), ["user9: open?"]),
    # bytes and characters
    *(
        ("in.mbox", _mail(f'"{name}"', text.encode(encoding)), [f"a@example.org: {text}"])
        for encoding, name, text in (
            ("iso-8859-8", "iso-8859-8-i", "שלום לכולם"),
            ("cp850", "cp-850", "Grüße aus Köln"),
            ("cp1252", "", "Grüße aus Köln, schöne Tage"),
            ("cp1252", "unknown", "Grüße aus Köln, schöne Tage"),
            ("cp1251", "x-cp1251", "Где мой заказ?"),
            ("utf-8", "klingon", "Grüße aus Köln 🙂"),
            ("cp1252", "us-ascii", "Grüße aus Köln, schöne Tage"),
        )
    ),
    ("message_1.json", _meta(("Zo\u00c3\u00ab", "ok \u00f0\u009f\u0091\u008d")), ["Zoë: ok 👍"]),
    ("message_1.json", _meta(("Zoë", "Ã bientôt — déjà"), ("B", "é")), ["B: é | Zoë: Ã bientôt — déjà"]),
    ("c.jsonl", '{"messages": [{"role": "user", "content": "hi \\ud83d"}]}\n', ["user: hi �"]),
    ("conversations.json", _tree(_plain("Shut. \ue200cite\ue202turn0search1\ue201 Ask.")), ["assistant: Shut. Ask."]),
    ("conversations.json", _tree(_plain('At \ue200entity\ue202["city","Oslo"]\ue201!')), ["assistant: At Oslo!"]),
    ("conversations.json", _tree(_plain("\ue203Open\ue204 \ue200filecite\ue202f1\ue201.")), ["assistant: Open."]),
    # separators and boundaries
    ("t.csv", "sep=;\nconversation_id;role;content\n1;user;a, b\n", ["user: a, b"]),
    ("t.csv", '"sep=|"\r\nconversation_id|role|content\r\n1|user|a;b,c\r\n', ["user: a;b,c"]),
    ("t.csv", "\ufeffsep=,\nconversation_id,role,content\n1,user,a\n", ["user: a"]),
    ("in.mbox", f"{_ENVELOPE.format(1)}{_LEEDS}\n\n{_ENVELOPE.format(2)}Yes\n", [f"Ann: {_LEEDS}", "Ann: Yes"]),
    ("in.mbox", f"{_ENVELOPE.format(1)}>From here\n", ["Ann: From here"]),
    (
        "a.vtt",
        "WEBVTT\n\n00:01.000 --> 00:02.000\n\nhello\n\n00:03.000 --> 00:04.000\n\n\n2\n00:05.000 --> 00:06.000\nyes\n",
        ["speaker: hello | speaker: yes"],
    ),
    (
        "a.vtt",
        "WEBVTT\n\n00:01.000 --> 00:02.000\none<00:01.500><c> two</c>\n\n00:02.000 --> 00:02.010\none two\n \n\n"
        "00:02.010 --> 00:04.000\none two\nthree\n\n00:04.000 --> 00:05.000\nthree\none two\n",
        ["speaker: one two | speaker: three | speaker: one two"],
    ),
    (
        "a.vtt",
        "WEBVTT\n\n00:01.000 --> 00:02.000\n<v A>yes\n\n00:02.000 --> 00:03.000\n<v B>yes\n",
        ["A: yes | B: yes"],
    ),
    # one bad or accompanying element
    *(
        ("chats.json", [_webui(current, **more)], ["user: mount it? | assistant: so"])
        for current, more in (
            ("o", _UNANSWERED),
            ("o", {"o": {"id": "o", "parentId": "gone", "content": ""}}),
            (None, {"s": "text"}),
            ("gone", {"s": None}),
        )
    ),
    # a text that is null is an empty one, and costs nothing else
    *(
        ("conversations.json", [{"uuid": "k", "chat_messages": [_ASKED, message]}], [_ANSWERED])
        for message in (
            {"sender": "assistant", "content": [{"type": "text", "text": None}, {"type": "text", "text": "Yes."}]},
            {"sender": "assistant", "text": None, "content": ["Yes.", None]},
        )
    ),
    ("conversations.json", [{"uuid": "k", "chat_messages": [_ASKED, {**_ASKED, "text": None}]}], ["user: open?"]),
    *(
        ("conversations.json", _tree(_plain("open?", role="user"), empty, _plain("Yes.")), [_ANSWERED])
        for empty in ({"parts": [None]}, {"parts": None}, {"content_type": "text", "text": None}, {})
    ),
    (
        "conversations.json",
        [{"title": "t", "mapping": {"a": {"message": {"author": None, "content": _plain("open?")}}}, "create_time": 1}],
        ["unknown: open?"],
    ),
    *(
        (
            "c.jsonl",
            json.dumps({"messages": [{"role": "user", "content": "open?"}, {"role": "assistant", "content": content}]}),
            ["user: open? | assistant: "],
        )
        for content in (None, [None], [{"type": "text", "text": None}])
    ),
    # text in a second field
    *(
        ("chats.json", [_webui("o", o={"id": "o", "parentId": "q", "role": "assistant", **said})], [expected])
        for said, expected in (
            ({"content": "", "output": _OUTPUT}, "user: mount it? | assistant: No."),
            ({"content": "Yes.", "output": _OUTPUT}, "user: mount it? | assistant: Yes."),
        )
    ),
    *(
        (
            "s.jsonl",
            lines(*_CLAUDE_CODE[:1], _queued(prompt, mode), *_CLAUDE_CODE[1:]),
            [f"user: a{read} | assistant: b"],
        )
        for prompt, mode, read in (
            ("and c", "prompt", " | user: and c"),
            ([{"type": "text", "text": "and c"}], "prompt", " | user: and c"),
            ("<task-notification>done</task-notification>", "task-notification", ""),
        )
    ),
    *(
        ("s.jsonl", lines(_meta_line("new"), *events), [_ANSWERED])
        for events in (
            (_item("UserMessage", "text", "open?"), _item("AgentMessage", "Text", "Yes.")),
            (_event("user_message", message="open?"), _event("agent_message", message="Yes.")),
            (
                _event("item_started", item={"type": "UserMessage", "content": [{"type": "text", "text": "open?"}]}),
                *(_item("UserMessage", "text", "open?"), _event("user_message", message="open?")),
                *(_item("AgentMessage", "Text", "Yes."), _event("agent_message", message="Yes.")),
            ),
            (_kept("user", "open?"), _item("UserMessage", "text", "open?"), _kept("assistant", "Yes.")),
        )
    ),
    (
        "c.jsonl",
        lines(
            {
                "messages": [
                    _SPOKEN_TO,
                    {"role": "assistant", "content": None, "audio": {"id": "x", "transcript": "Yes."}},
                ]
            }
        ),
        [_ANSWERED],
    ),
    *(
        ("c.jsonl", lines({"messages": [_SPOKEN_TO], "choices": choices}), [expected])
        for choices, expected in (
            ([{"index": 0, "message": {"role": "assistant", "content": "Yes."}}], _ANSWERED),
            (["Yes.", "No."], "user: open?"),  # of a quiz
            (["Yes."], "user: open?"),
        )
    ),
    (
        "c.jsonl",
        lines(
            {
                "messages": [
                    {"role": "user", "parts": [{"text": "open?"}]},
                    {"role": "model", "parts": [{"text": "Yes."}]},
                ]
            }
        ),
        [_ANSWERED],
    ),
    # marks in a text
    *(
        ("chats.json", [_webui("o", o={"id": "o", "parentId": "q", "role": "assistant", "content": text})], [expected])
        for text, expected in (
            (f"{_THOUGHT}So.", "user: mount it? | assistant: So."),
            (f"First.\n{_THOUGHT}\nThen.\n{_THOUGHT}", "user: mount it? | assistant: First.\nThen."),
            (f"Let me see.\n{_CALLED}\n\nIt is 5.", "user: mount it? | assistant: Let me see.\nIt is 5."),
            (f"{_CALCULATED}Done.", "user: mount it? | assistant: Done."),
            ("<details open>\na\n</details>", "user: mount it? | assistant: <details open>\na\n</details>"),
            ('So <details type="reasoning">', 'user: mount it? | assistant: So <details type="reasoning">'),
            (
                'Ok.\n<details type="reasoning">\ncut',
                'user: mount it? | assistant: Ok.\n<details type="reasoning">\ncut',
            ),
        )
    ),
    # order by what a message answers
    *(
        ("chat.json", _librechat("open?", "Yes.", "late?", "No.", time=time, back=back), [_ASKED_TWICE])
        for time in (None, "2026-01-01T10:00:00.000Z")
        for back in (False, True)
    ),
    *(
        ("chats.json", [{"id": "w", "title": "t", "chat": {"messages": messages}}], [_ANSWERED])
        for messages in (
            [{"role": "user", "content": "open?"}, {"role": "assistant", "content": "Yes."}],
            [{"id": "1", "role": "user", "content": "open?"}, {"id": "2", "role": "assistant", "content": "Yes."}],
        )
    ),
    ("chats.json", [_webui("e", e={"parentId": None, "role": "user", "content": "anew"})], ["user: anew"]),
]


def test_a_session_that_continues_another_has_its_own_id(tmp_path: Path) -> None:
    said = _kept("user", "open?"), _kept("assistant", "Yes.")
    path = write(tmp_path / "s.jsonl", lines(_meta_line("new"), _meta_line("old"), *said, _meta_line("next"), *said))
    assert [row["id"] for row in read(path)] == ["new", "next"]


def test_blocks_in_an_answer_become_its_labels(tmp_path: Path) -> None:
    text = f"{_THOUGHT}See.\n{_CALLED}\n{_THOUGHT}{_CALCULATED}Done."
    chat = _webui("o", o={"id": "o", "parentId": "q", "role": "assistant", "content": text})
    (row,) = read(write(tmp_path / "chats.json", [chat]))
    answer = row["messages"][1]
    thought = "<summary>Thought</summary>\n> Hm."
    assert (answer["content"], answer["thinking"]) == ("See.\nDone.", f"{thought}\n{thought}")
    assert json.loads(answer["tool_calls"]) == [
        {"id": "x", "name": "sum", "arguments": {"a": 2}},
        {"name": "code_interpreter", "arguments": "```python\nprint(1 < 2)\n```"},
    ]
    assert [result["content"] for result in json.loads(answer["tool_results"])] == ["5", '{"stdout": "1"}']


def test_ids_that_a_spreadsheet_rounded_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number, (identifier, count) in enumerate(
        {"1.06E+18": 1, "1,06499e+18": 1, "2E+17": 1, "1E5": 0, "106": 0}.items()
    ):
        caplog.clear()
        rows = f'conversation_id,speaker,text\n"{identifier}",a,hi\n"{identifier}",b,yes\n'
        read(write(tmp_path / str(number) / "t.csv", rows))
        assert len(caplog.messages) == count
        assert all("a spreadsheet rounded them" in message for message in caplog.messages)


def test_what_lies_beside_parts_of_an_export_is_passed_over(tmp_path: Path) -> None:
    files = {f"conversations-00{part}.json": _tree(_plain(f"part {part}")) for part in (0, 1)}
    files["conversations-001.json"][0]["conversation_id"] = "d"
    beside = {"export_manifest.json": {"version": 1}, "user.json": {"id": "u"}, "shared_conversations.json": []}
    for name, content in {**files, **beside}.items():
        write(tmp_path / "export" / name, content)
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as packed:
        for path in (tmp_path / "export").iterdir():
            packed.write(path, path.name)
    for path in (tmp_path / "export", tmp_path / "export.zip"):
        assert said(path) == ["assistant: part 0", "assistant: part 1"]


_NODE = {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": ["Yes."]}}


_TIMES = "00:01.000 --> 00:02.000"
_GRUSS = "Grüße aus Köln, schöne Tage"

# the public report, name of the file, content, and what is in it
REPORTS: list[tuple[str, Any, Talks]] = [
    # anthropics/claude-plugins-official#1411
    ("d.json", _slack(text="", attachments=[{"text": "disk is full"}]), ["app: disk is full"]),
    # open-cli-collective/slack-chat-api#142
    (
        "d.json",
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
    # Tyrrrz/DiscordChatExporter#165
    ("d.json", _discord(embeds=[{"fields": [{"name": "disk", "value": "is full"}]}]), ["ann: disk\nis full"]),
    # Tyrrrz/DiscordChatExporter#527
    ("d.json", _discord(embeds=[{"title": "Build failed", "description": ""}]), ["ann: Build failed"]),
    # hfaran/slack-export-viewer#186
    ("d.json", [*_slack(text="", files=[{"name": "a.pdf"}]), *_slack(text="hi")], ["app:  | app: hi"]),
    # rusq/slackdump#222
    ("d.json", [{"type": "message", "subtype": "bot_message", "text": "hi", "ts": "1700000000.1"}], ["slack: hi"]),
    # mlomb/chat-analytics#11
    ("d.json", _discord(stickers=[{"id": "1", "name": "Hello", "format": "Lottie"}]), ["ann: "]),
    # mlomb/chat-analytics#62
    ("d.json", _discord(), ["ann: "]),
    # pigpagnet/save-telegram-chat-history#10
    ("result.json", _telegram(photo="a.jpg", text="This is a lynx."), ["Ann: This is a lynx."]),
    # MasterScrat/Chatistics#61
    ("result.json", _telegram(text=["see ", {"type": "bold", "text": "page two"}]), ["Ann: see page two"]),
    # daugaard47/ChatGPT_Conversations_To_Markdown#6
    (
        "conversations.json",
        _tree(
            _plain("why?", role="user"),
            {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "t"}]},
            {"content_type": "reasoning_recap", "content": "Thought for 7 seconds"},
            _plain("So."),
        ),
        ["user: why? | assistant:  | assistant:  | assistant: So."],
    ),
    # elizaOS/eliza#12007
    (
        "conversations.json",
        _tree(
            _plain("code?", role="user"),
            {"content_type": "code", "language": "python", "text": "print(1)"},
            _plain("Ok."),
        ),
        ["user: code? | assistant: print(1) | assistant: Ok."],
    ),
    # ha0xin/chatgpt-multimodal-exporter#8
    ("conversations.json", _tree(_plain("a", role="user"), _plain("b"), current="gone"), ["user: a | assistant: b"]),
    # vana-com/personal-server#18
    (
        "conversations.json",
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
    # Nwflower/dsh-chat-import#62
    (
        "conversations.json",
        [{"title": "deleted", "conversation_id": "x"}, *_tree(_plain("a", role="user"), _plain("b"))],
        ["user: a | assistant: b"],
    ),
    # yetanotherchris/openwebui-importer#17
    ("conversations.json", [*_claude("one"), {"uuid": "l", "chat_messages": []}], ["user: one"]),
    # NVIDIA-NeMo/Automodel#2375
    (
        "s.json",
        [{"conversations": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]}],
        ["user: hi | assistant: yes"],
    ),
    # ai-dynamo/aiperf#798
    (
        "s.json",
        _sharegpt(("human", "a"), ("gpt", "b"), ("human", "c"), ("gpt", "d")),
        ["user: a | assistant: b | user: c | assistant: d"],
    ),
    # Tencent/AngelSlim#345
    ("s.json", _sharegpt(("human", "a"), ("gpt", "b"), system="be kind"), ["user: a | assistant: b"]),
    # martinrusev/imbox#169
    ("in.mbox", _mail('"utf-8  euao6y"', _GRUSS.encode()), [f"a@example.org: {_GRUSS}"]),
    # martinrusev/imbox#177
    ("in.mbox", _mail('""', _GRUSS.encode("cp1252")), [f"a@example.org: {_GRUSS}"]),
    # nodemailer/mailparser#167
    ("in.mbox", _mail("%CHARSET", _GRUSS.encode()), [f"a@example.org: {_GRUSS}"]),
    # coddingtonbear/django-mailbox#34
    ("in.mbox", _mail("_iso-2022-jp$esc", b"plain text"), ["a@example.org: plain text"]),
    # modoboa/modoboa#944
    ("in.mbox", _mail("windows-874", "สวัสดีครับ".encode("cp874")), ["a@example.org: สวัสดีครับ"]),
    # ReDASers/PhishBench#138
    ("in.mbox", _mail('"', _GRUSS.encode()), [f"a@example.org: {_GRUSS}"]),
    # meh/ruby-mbox#15
    ("in.mbox", _mail("iso-8859-1", _GRUSS.encode("latin-1")), [f"a@example.org: {_GRUSS}"]),
    # Belphemur/vue-json-csv#43
    ("t.csv", "\ufeffsep=;\r\nconversation_id;role;content\r\n1;user;čau\r\n".encode(), ["user: čau"]),
    # javiertelioz/angular2-csv#10
    ("t.csv", "\ufeffconversation_id\trole\tcontent\n1\tuser\tčau\n".encode("utf-16"), ["user: čau"]),
    # OpenCTI-Platform/connectors#7365
    ("t.csv", "\ufeffconversation_id,role,content\n1,user,مرحبا بكم\n".encode(), ["user: مرحبا بكم"]),
    # getodk/central#752
    ("t.csv", f'conversation_id,role,content\n1,user,"{_GRUSS}"\n'.encode("cp1252"), [f"user: {_GRUSS}"]),
    # gr8b/zabbix-module-sqlexplorer#18
    ("t.csv", 'conversation_id,role,content\r\n1,user,"a\r\n\r\nb"\r\n', ["user: a\r\n\r\nb"]),
    # Pustur/whatsapp-chat-parser#248
    ("c.txt", "1/4/23, 7:02\u202fPM - Ann: hi\n1/14/23, 2:51\u202fAM - Ben: yes\n", ["Ann: hi | Ben: yes"]),
    # Pustur/whatsapp-chat-parser#224
    ("c.txt", "20/6/2017 8:28 p.\u00a0m. - Ann: hi\n20/6/2017 8:29 p.\u00a0m. - Ben: yes\n", ["Ann: hi | Ben: yes"]),
    # joweich/chat-miner#42
    ("c.txt", "[31/12/23, 21:05:59] Ann: hi\n\u200e[31/12/23, 21:06:00] Ben: yes\n", ["Ann: hi | Ben: yes"]),
    # BryceStevenWilley/visioning_texts#24
    ("c.txt", "[31/12/2019, 2:14:40 a.m.] Ann: hi\n[31/12/2019, 2:15:40 p.m.] Ben: yes\n", ["Ann: hi | Ben: yes"]),
    # lucasrodes/whatstk#139
    (
        "c.txt",
        "[12/27/20, 18:51:14] ~ Ann: hi\n[7/18/21, 18:34:07] Ben - French: yes\n",
        ["Ann: hi | Ben - French: yes"],
    ),
    # gesiscss/WhatsR#32
    ("c.txt", "[01-29-2018, 23:33:00] Ann: hi\n[01-29-2018, 23:45:01] Ben: yes\n", ["Ann: hi | Ben: yes"]),
    # glut23/webvtt-py#46
    ("a.vtt", f"WEBVTT\n\n{_TIMES} line:79% align:center\n\nthe bridge\nwas open\n", ["speaker: the bridge\nwas open"]),
    # glut23/webvtt-py#2
    ("a.vtt", "WEBVTT\n\n01:11.913 --> 01:13.346\nhi\n", ["speaker: hi"]),
    # glut23/webvtt-py#49
    ("a.vtt", f"\ufeffWEBVTT\n\n{_TIMES}\nthe last one", ["speaker: the last one"]),
    # w3c/webvtt#224
    ("a.vtt", f"WEBVTT\n{_TIMES}\n\nTest it\n", ["speaker: Test it"]),
    # osk/node-webvtt#16
    ("a.vtt", f"WEBVTT\n\n{_TIMES}\n\n\n00:03.000 --> 00:04.000\nyes\n", ["speaker: yes"]),
    # comet-ml/opik#3580
    (
        "c.json",
        [
            {
                "messages": [
                    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "a.png"}}]},
                    {"role": "assistant", "content": "A cat."},
                ]
            }
        ],
        ["user:  | assistant: A cat."],
    ),
    # miscord/miscord#68
    ("message_1.json", _meta(("A", "hi"), ("B", "")), ["B:  | A: hi"]),
]


def test_every_text_is_read(tmp_path: Path) -> None:
    for number, (name, content, expected) in enumerate(CASES + REPORTS):
        assert said(write(tmp_path / str(number) / name, content)) == expected, content
