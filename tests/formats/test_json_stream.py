import io
import json
from pathlib import Path
from typing import Any

import pytest

from format_cases import doc2dial_dialogue, multiwoz_dialogue, read, turns, write
from turnlens.errors import ConversationError
from turnlens.formats.json_stream import JsonText


def test_an_object_larger_than_a_chunk(tmp_path: Path) -> None:
    many = {f"{i}.json": multiwoz_dialogue("an inn", "sure " * 9000, hotel={"info": {"a": 1}}) for i in range(30)}
    assert len(read(write(tmp_path / "data.json", many))) == 30
    by_document = {"dmv": {"d": [doc2dial_dialogue(str(i), "where?", "there " * 7500) for i in range(30)]}}
    assert len(read(write(tmp_path / "dial.json", {"dial_data": by_document}))) == 30
    chat = {"notes": "word " * 250_000, "messages": turns("hello")}
    assert read(write(tmp_path / "chat.json", chat))[0]["messages"] == turns("hello")


@pytest.mark.parametrize(
    "text",
    [
        '{"a": {"goal": {}, "log": [',
        '{"a": {"goal": {}, "log": [{"text": "x"}]} "b"}',
        '{"a": {"goal": {}, "log": [{"text": "x"}]}}}',
        "{1: 2}",
        '{"a"',
    ],
)
def test_malformed_objects(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "data.json", text)
    for format in ("auto", "multiwoz"):
        with pytest.raises(ConversationError, match=r"data\.json: row \d: malformed JSON"):
            read(path, format)


@pytest.mark.parametrize("chunk", [1, 2, 3, 4, 5, 1000])
def test_values_may_lie_across_chunks(chunk: int) -> None:
    values = [123456, -1.25e-17, "a\u00e9\n", [True, None], {"key": 12345678}, 7]
    for text in (json.dumps(values), json.dumps(values, indent=2), "\n".join(map(json.dumps, values))):
        assert list(JsonText(io.StringIO(text), chunk).values()) == values
    assert list(JsonText(io.StringIO('{"a": 123456, "b": 2}'), chunk).members(1)) == [(("a",), 123456), (("b",), 2)]


def test_malformed_json_is_told_without_reading_on() -> None:
    text = io.StringIO('[{"a": 1}, {"a": oops}' + ', {"a": 2}' * 1000 + "]")
    values = JsonText(text, chunk=100).values()
    assert next(values) == {"a": 1}
    with pytest.raises(json.JSONDecodeError, match="Expecting value"):
        next(values)
    assert text.tell() <= 200


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1000])
def test_json_members_do_not_depend_on_the_chunks(chunk: int) -> None:
    value = {"a": {"b": [{"x": '}"\\]'}, {"y": 1}], "c": {"d": {"z": None}}, "e": {}}, "f": "text"}

    def members(depth: int) -> list[tuple[tuple[str, ...], Any]]:
        return list(JsonText(io.StringIO(json.dumps(value, indent=1)), chunk).members(depth))

    assert members(0) == [((), value)]
    assert members(1) == [(("a",), value["a"]), (("f",), "text")]
    assert members(3) == [
        (("a", "b"), {"x": '}"\\]'}),
        (("a", "b"), {"y": 1}),
        (("a", "c", "d"), {"z": None}),
        (("f",), "text"),
    ]
