"""The formats of dial2vec and of the triple-encoders, and the files beside conversations, on rows written here."""

from __future__ import annotations

import gzip
import io
import json
import logging
from pathlib import Path
from typing import Any

import datasets
import pytest

from turnwise.data.conversations import read_conversations
from turnwise.data.formats import json_text
from turnwise.data.formats.json_text import JsonText
from turnwise.errors import ConversationError


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))


def read(path: Path, format: str = "auto", on_error: Any = "raise") -> list[dict[str, Any]]:
    """The rows, without the nulls that fill the columns."""
    rows = read_conversations(path, format, on_error).to_list()
    return [{key: value for key, value in row.items() if value is not None} for row in rows]


def turns(*contents: str, first: str = "user") -> list[dict[str, str]]:
    roles = ("user", "assistant") if first == "user" else ("assistant", "user")
    return [{"role": roles[i % 2], "content": text} for i, text in enumerate(contents)]


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
    return path


# MultiWOZ


def multiwoz_dialogue(*texts: str, **goal: Any) -> dict[str, Any]:
    log = [{"text": text, "metadata": {"hotel": {}} if i % 2 else {}} for i, text in enumerate(texts)]
    return {"goal": goal, "log": log}


def multiwoz_file() -> dict[str, Any]:
    one = multiwoz_dialogue(
        "a cheap inn please",
        "try the Mill",
        "thanks",
        taxi={},
        hotel={"info": {"price": "cheap"}},
        message=["find an inn"],
        topic={"hotel": True},
        messageLen=1,
    )
    two = multiwoz_dialogue(
        "an inn and a train", "sure", hotel={"info": {"area": "east"}}, train={"info": {"day": "?"}}
    )
    return {"SNG1.json": one, "MUL2.json": two}


MULTIWOZ_ROWS = [
    {"id": "SNG1.json", "messages": turns("a cheap inn please", "try the Mill", "thanks"), "domains": ["hotel"]},
    {"id": "MUL2.json", "messages": turns("an inn and a train", "sure"), "domains": ["hotel", "train"]},
]


def test_multiwoz(tmp_path: Path) -> None:
    path = write(tmp_path / "data.json", multiwoz_file())
    assert read(path) == read(path, "multiwoz") == MULTIWOZ_ROWS
    with gzip.open(tmp_path / "data.json.gz", "wt", encoding="utf-8") as file:
        json.dump(multiwoz_file(), file)
    assert read(tmp_path / "data.json.gz") == MULTIWOZ_ROWS


def test_multiwoz_2_2_is_read_like_sgd(tmp_path: Path) -> None:
    state = {"active_intent": "find_hotel", "requested_slots": [], "slot_values": {}}
    dialogue = {
        "dialogue_id": "SNG1.json",
        "services": ["hotel", "taxi"],
        "turns": [
            {
                "turn_id": "0",
                "speaker": "USER",
                "utterance": "an inn",
                "frames": [
                    {"service": "hotel", "slots": [], "actions": [], "state": state},
                    {"service": "taxi", "slots": [], "actions": [], "state": {**state, "active_intent": "NONE"}},
                ],
            },
            {"turn_id": "1", "speaker": "SYSTEM", "utterance": "the Mill", "frames": []},
        ],
    }
    path = write(tmp_path / "dialogues_001.json", [dialogue])
    messages: list[dict[str, str]] = turns("an inn", "the Mill")
    messages[0]["intent"] = "hotel:find_hotel"
    expected = [{"id": "SNG1.json", "messages": messages, "domains": ["hotel", "taxi"]}]
    found = [read(path, format) for format in ("auto", "sgd", "multiwoz")]
    for rows in found:
        rows[0]["messages"][1].pop("intent")  # null
    assert found == [expected] * 3


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ({"goal": {}, "log": [{"metadata": {}}]}, r"data\.json: row 2: .*missing: 'text'.*'multiwoz' expects"),
        ({"goal": {}, "log": [{"text": None}]}, r"data\.json: row 2: message 1 has null; expected a text"),
        ({"goal": {}}, r"data\.json: row 2: found the keys goal, id \(missing: 'log'\)"),
        (["hello"], r'data\.json: row 2: expected a JSON object, found \["hello"\]'),
    ],
)
def test_bad_multiwoz_dialogues(tmp_path: Path, bad: Any, problem: str) -> None:
    dialogues = multiwoz_file()
    path = write(tmp_path / "data.json", {"SNG1.json": dialogues["SNG1.json"], "bad": bad, **dialogues})
    with pytest.raises(ConversationError, match=problem):
        read(path)
    assert read(path, on_error="skip") == MULTIWOZ_ROWS


# BiToD


def bitod_dialogue(tasks: list[str], *texts: str) -> dict[str, Any]:
    events: list[dict[str, Any]] = []
    for i, text in enumerate(texts):
        if i % 2:
            events.append({"Agent": "Wizard", "Actions": "query", "API": tasks[0], "Constraints": [{"x": "y"}]})
            events.append({"Agent": "KnowledgeBase", "Item": {"name": "Mill"}, "TotalItems": 1, "Topic": tasks[0]})
        actions = [{"act": "inform", "slot": "", "relation": "", "value": []}]
        events.append({"Agent": "Wizard" if i % 2 else "User", "Actions": actions, "Text": text})
    scenario = {"UserTask": "t", "WizardCapabilities": [{"Task": task} for task in tasks], "User_Goal": {}}
    return {"Dialogue_id": "d", "Scenario": scenario, "Events": events}


def test_bitod(tmp_path: Path) -> None:
    tasks = ["hotels_en_US_search", "hotels_en_US_booking", "HKMTR_en"]
    english = {
        "1": bitod_dialogue(tasks, "a room", "the Mill?", "fine"),
        "2": bitod_dialogue(["weathers_en_US_search"], "rain?"),
    }
    assert read(write(tmp_path / "en_train.json", english)) == [
        {"id": "1", "messages": turns("a room", "the Mill?", "fine"), "domains": ["hotels", "HKMTR"]},
        {"id": "2", "messages": turns("rain?"), "domains": ["weathers"]},
    ]
    chinese = {"3": bitod_dialogue(["餐馆查询", "餐馆预订", "香港地铁"], "找一家餐馆", "好的")}
    assert read(write(tmp_path / "zh_train.json", chinese)) == [
        {"id": "3", "messages": turns("找一家餐馆", "好的"), "domains": ["restaurants", "HKMTR"]}
    ]


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        ({"Agent": "User", "Actions": []}, r"en_train\.json: row 2: .*missing: 'Text'.*'bitod' expects"),
        ({"Agent": "Wizard", "Actions": [], "Text": 7}, r"en_train\.json: row 2: message 1 has 7; expected a text"),
        ({"Agent": "Dog", "Text": "woof"}, r"en_train\.json: row 2: .*missing: 'Dog'"),
    ],
)
def test_bad_bitod_dialogues(tmp_path: Path, event: dict[str, Any], problem: str) -> None:
    good = bitod_dialogue(["HKMTR_en"], "to Central", "take the red line")
    bad = {**bitod_dialogue(["HKMTR_en"]), "Events": [event]}
    path = write(tmp_path / "en_train.json", {"good": good, "bad": bad})
    with pytest.raises(ConversationError, match=problem):
        read(path)
    assert [row["id"] for row in read(path, on_error="skip")] == ["good"]


# Doc2Dial


def doc2dial_dialogue(identifier: str, *texts: str) -> dict[str, Any]:
    roles = ("user", "agent")
    said = [{"turn_id": i + 1, "role": roles[i % 2], "da": "x", "utterance": text} for i, text in enumerate(texts)]
    return {"dial_id": identifier, "turns": said}


def test_doc2dial(tmp_path: Path) -> None:
    first, second, third = (doc2dial_dialogue(name, f"{name}?", "yes") for name in "abc")
    by_document = {"dmv": {"Plates#1": [first, second], "Plates#2": []}, "ssa": {"Card#1": [third]}}
    expected = [
        {"id": name, "messages": turns(f"{name}?", "yes"), "domain": domain}
        for name, domain in [("a", "dmv"), ("b", "dmv"), ("c", "ssa")]
    ]
    path = write(tmp_path / "doc2dial_dial_train.json", {"dial_data": by_document})
    assert read(path) == read(path, "doc2dial") == expected
    without_documents = {"dial_data": {"dmv": [first, second], "ssa": [third]}}
    assert read(write(tmp_path / "multidoc2dial_dial_train.json", without_documents)) == expected


def test_bad_doc2dial_files(tmp_path: Path) -> None:
    good = doc2dial_dialogue("good", "a?", "b")
    bad = {"dial_id": "bad", "turns": [{"role": "user", "utterance": "a?"}, {"role": "agent"}]}
    path = write(tmp_path / "dial.json", {"dial_data": {"dmv": {"d": [good, bad, "text"]}}})
    with pytest.raises(ConversationError, match=r"dial\.json: row 2: .*missing: 'utterance'.*'doc2dial' expects"):
        read(path)
    assert [row["id"] for row in read(path, on_error="skip")] == ["good"]
    documents = write(tmp_path / "doc.json", {"doc_data": {"dmv": {"d": {"doc_text": "plates"}}}})
    with pytest.raises(ConversationError, match=r"doc\.json: found the key 'doc_data'; expected .*dial_data"):
        read(documents, "doc2dial")
    array = write(tmp_path / "array.json", [good])
    with pytest.raises(ConversationError, match=r"array\.json: found no object of dialogues; expected .*dial_data"):
        read(array, "doc2dial")


# MetaLWOZ


def metalwoz_line(identifier: str, said: Any) -> str:
    ids = {"id": identifier, "user_id": "u", "bot_id": "b", "domain": "SKI", "task_id": "t1"}
    return json.dumps({**ids, "turns": said}) + "\n"


def test_metalwoz(tmp_path: Path) -> None:
    path = write(
        tmp_path / "SKI.txt", metalwoz_line("1", ["Hello", "is there snow?", "yes"]) + metalwoz_line("2", ["Hi"])
    )
    expected = [
        {"id": "1", "messages": turns("Hello", "is there snow?", "yes", first="assistant")},
        {"id": "2", "messages": turns("Hi", first="assistant")},
    ]
    assert read(path) == [{**row, "domain": "SKI", "task_id": "t1"} for row in expected]


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (metalwoz_line("2", ["Hello", None]), r"SKI\.txt:2: message 2 has null; expected a text"),
        (metalwoz_line("2", "Hello"), r"SKI\.txt:2: found str as 'turns'"),
        ('{"id": "2", "domain": "SKI"}\n', r"SKI\.txt:2: .*missing: 'turns'.*'metalwoz' expects"),
        ('{"id": "2"\n', r"SKI\.txt:2: malformed JSON"),
    ],
)
def test_bad_metalwoz_lines(tmp_path: Path, bad: str, problem: str) -> None:
    path = write(tmp_path / "SKI.txt", metalwoz_line("1", ["Hello", "hi"]) + bad)
    with pytest.raises(ConversationError, match=problem):
        read(path)
    assert [row["id"] for row in read(path, on_error="skip")] == ["1"]


# the files released with dial2vec


def test_dial2vec_clustering_file(tmp_path: Path) -> None:
    lines = '010\ta room#which "one?#the cheap one|a room#which "one?#the cheap one\t2\n10\thello#hi|hello#hi\t1\n'
    path = write(tmp_path / "clustering_test.tsv", lines)
    assert (
        read(path)
        == read(path, "dial2vec")
        == [
            {"id": "clustering_test-1", "messages": turns("a room", 'which "one?', "the cheap one"), "topics": ["2"]},
            {"id": "clustering_test-2", "messages": turns("hello", "hi", first="assistant"), "topics": ["1"]},
        ]
    )


def test_dial2vec_training_file_gives_every_dialogue_once_and_without_samples(tmp_path: Path) -> None:
    lines = ["01\ta#b|a#x\t0\n", "01\ta#b|a#y\t0\n", "01\tc#d|c#x\t0\n", "01\tc#d|c#z\t0\n"]
    assert read(write(tmp_path / "train.tsv", "".join(lines))) == [
        {"id": "train-1", "messages": turns("a", "b")},
        {"id": "train-3", "messages": turns("c", "d")},
    ]


def test_dial2vec_sessions(tmp_path: Path) -> None:
    lines = 's1\t0\ta "room\thotel|taxi\ns1\t1\tsure\thotel|taxi\ns1\t0\t \thotel|taxi\ns2\t1\thello\ttaxi\n'
    expected = [
        {"id": "s1", "messages": turns('a "room', "sure"), "topics": ["hotel", "taxi"]},
        {"id": "s2", "messages": turns("hello", first="assistant"), "topics": ["taxi"]},
    ]
    assert read(write(tmp_path / "preprocess_session_mwoz.txt", lines)) == expected
    assert read(write(tmp_path / "sessions.tsv", lines)) == expected
    assert read(write(tmp_path / "sessions", lines), "dial2vec") == expected


def test_dial2vec_sessions_with_a_header_are_a_table(tmp_path: Path) -> None:
    lines = "session\trole\ttext\ttopic\ns1\t0\ta room\thotel\ns1\t1\tsure\thotel\n"
    messages = [{"role": "0", "content": "a room"}, {"role": "1", "content": "sure"}]
    assert read(write(tmp_path / "t.tsv", lines)) == [{"id": "s1", "messages": messages, "topic": "hotel"}]


@pytest.mark.parametrize(
    ("good", "bad", "problem"),
    [
        ("01\ta#b\t1\n", "01\ta#b#c\t1\n", r":2: found 2 speakers for 3 turns"),
        ("01\ta#b\t1\n", "0x\ta#b\t1\n", r":2: found '0x' as speakers"),
        ("01\ta#b\t1\n", "01\ta#b\n", r":2: found 2 columns"),
        ("01\ta#b\t1\n", b"01\ta#\xff\t1\n", r":2: message 2 is not UTF-8"),
        ("s\t0\ta\tt\n", "r\t0\ta\tt\nr\t2\tb\tt\n", r":3: found '2' as speaker"),
        ("s\t0\ta\tt\n", "r\t0\ta\tt\nr\t1\tb\n", r":3: found 3 columns"),
        ("s\t0\ta\tt\n", "r\t0\t\tt\n", r":2: the conversation has no messages"),
    ],
)
def test_bad_dial2vec_lines(tmp_path: Path, good: str, bad: str | bytes, problem: str) -> None:
    path = tmp_path / "x.tsv"
    path.write_bytes(good.encode() + (bad if isinstance(bad, bytes) else bad.encode()))
    with pytest.raises(ConversationError, match=r"x\.tsv" + problem):
        read(path)
    assert len(read(path, on_error="skip")) == 1


# PersonaChat


PERSONACHAT = {
    "self": [
        "1 your persona: i like tea.",
        "2 your persona: i have a cat.",
        "3 hi , how are you ?\tfine . you ?\t\tno .|it rains .|fine . you ?",
        "4 good , thanks .\tdo you like tea ?\t\tbye .|do you like tea ?",
        "1 your persona: i ski.",
        "2 hello\thi",
    ],
    "both": ["1 your persona: i ski.", "2 partner's persona: i read.", "3 hello\thi"],
    "none": ["1 hello\thi\t\tno .|hi", "2 bye\tso long\t\tso long|hi", "1 yes ?\tno\t\tno"],
}
PERSONACHAT_ROWS = {
    "self": [
        {
            "id": "train-1",
            "messages": turns("hi , how are you ?", "fine . you ?", "good , thanks .", "do you like tea ?"),
            "persona": ["i like tea.", "i have a cat."],
        },
        {"id": "train-5", "messages": turns("hello", "hi"), "persona": ["i ski."]},
    ],
    "both": [
        {
            "id": "train-1",
            "messages": turns("hello", "hi"),
            "persona": ["i ski."],
            "partner_persona": ["i read."],
        }
    ],
    "none": [
        {"id": "train-1", "messages": turns("hello", "hi", "bye", "so long")},
        {"id": "train-3", "messages": turns("yes ?", "no")},
    ],
}


@pytest.mark.parametrize("kind", PERSONACHAT)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_personachat(tmp_path: Path, kind: str, end: str) -> None:
    path = write(tmp_path / "train.txt", end.join([*PERSONACHAT[kind], ""]))
    assert read(path) == read(path, "personachat") == PERSONACHAT_ROWS[kind]


def test_personachat_repetitions_with_the_sides_exchanged_are_left_out(tmp_path: Path) -> None:
    repeated = ["1 your persona: i read.", "2 __SILENCE__\thello\t\tno .|hello", "3 hi\tare you there ?\t\tyes"]
    path = write(tmp_path / "train.txt", "\n".join([*PERSONACHAT["self"], *repeated, *PERSONACHAT["none"][2:]]))
    last = {"id": "train-10", "messages": turns("yes ?", "no")}
    assert read(path) == [*PERSONACHAT_ROWS["self"], last]


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (b"1 hi\tyes\n2 bye\n", r":4: found 'bye' without a reply; expected lines numbered"),
        (b"1 hi\tyes\nbye\tso long\n", r":4: found 'bye\\tso long' without a number"),
        (b"1 your persona: i ski.\n", r":3: the conversation has no messages"),
        (b"1 hi\tyes \xff\n", r":3: message 2 is not UTF-8"),
    ],
)
def test_bad_personachat_lines(tmp_path: Path, bad: bytes, problem: str) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(b"1 a\tb\n2 c\td\n" + bad + b"1 e\tf\n")
    with pytest.raises(ConversationError, match=r"train\.txt" + problem):
        read(path)
    assert [row["messages"] for row in read(path, on_error="skip")] == [turns("a", "b", "c", "d"), turns("e", "f")]


# Children's Book Test


def story(*sentences: str) -> list[dict[str, str]]:
    return [{"role": "narrator", "content": sentence} for sentence in sentences]


CBT_BOOKS = """_BOOK_TITLE_ : A_Fox.txt.out
The fox lived in a wood .
It was `` old '' .
CHAPTER I. -LCB- Chapter heading -RCB- The Wood
One day it rained .

The fox ran .
CHAPTER II
_BOOK_TITLE_ : B_Hen.txt.out
The hen sat .
"""


def test_cbt_books(tmp_path: Path) -> None:
    path = write(tmp_path / "cbt_train.txt", CBT_BOOKS)
    fox, hen = "A_Fox.txt.out", "B_Hen.txt.out"
    expected = [
        {"id": "cbt_train-2", "messages": story("The fox lived in a wood .", "It was `` old '' ."), "book": fox},
        {
            "id": "cbt_train-5",
            "messages": story("One day it rained .", "The fox ran ."),
            "book": fox,
            "chapter": "CHAPTER I. -LCB- Chapter heading -RCB- The Wood",
        },
        {"id": "cbt_train-10", "messages": story("The hen sat ."), "book": hen},
    ]
    assert read(path) == read(path, "cbt") == expected
    with gzip.open(tmp_path / "cbt_train.txt.gz", "wt", encoding="utf-8") as file:
        file.write(CBT_BOOKS)
    assert read(tmp_path / "cbt_train.txt.gz") == expected


def cbt_question(name: str, query: str = "21 then XXXXX ran home .\tFox\t\tCat|Fox|Hen") -> str:
    return "\n".join([*(f"{i} {name} said {i} ." for i in range(1, 21)), query, "", ""])


def test_cbt_questions(tmp_path: Path) -> None:
    path = write(tmp_path / "cbtest_NE_test.txt", cbt_question("Hen") + cbt_question("Cat"))
    expected = [
        {
            "id": f"cbtest_NE_test-{line}",
            "messages": story(*(f"{name} said {i} ." for i in range(1, 21)), "then Fox ran home ."),
        }
        for line, name in ((1, "Hen"), (23, "Cat"))
    ]
    assert read(path) == read(path, "cbt") == expected


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (
            cbt_question("x", "21 then Fox ran home ."),
            r":43: found 'then Fox .*' as the last line; expected one",
        ),
        (cbt_question("x", "21 then XXXXX ran home ."), r":43: found 'then XXXXX"),
        (cbt_question("x", "21 then Fox ran .\tFox"), r":43: found 'then Fox ran"),
        (cbt_question("x", "then XXXXX ran home .\tFox"), r":43: .* without a number"),
    ],
)
def test_bad_cbt_questions(tmp_path: Path, bad: str, problem: str) -> None:
    path = write(tmp_path / "cbtest.txt", cbt_question("Hen") + bad + cbt_question("Cat"))
    with pytest.raises(ConversationError, match=r"cbtest\.txt" + problem):
        read(path)
    assert len(read(path, on_error="skip")) == 2


# detection


@pytest.mark.parametrize("content", [{"hotel-area": ["east", "west"]}, [{"service_name": "hotel"}], {"a": {"b": 1}}])
def test_other_json_is_not_taken_for_conversations(tmp_path: Path, content: Any) -> None:
    with pytest.raises(ConversationError, match="could not detect the format: found the columns or keys"):
        read(write(tmp_path / "x.json", content))


def test_an_object_of_many_unknown_keys_lists_some_of_them(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", {f"key{i:03}": 0 for i in range(300)})
    with pytest.raises(ConversationError, match=r"key018, key019, … \(300 in all\)"):
        read(path)


def test_an_object_larger_than_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "_CHUNK_CHARACTERS", 400)
    many = {f"{i}.json": multiwoz_dialogue("an inn", "sure " * 20, hotel={"info": {"a": 1}}) for i in range(30)}
    assert len(read(write(tmp_path / "data.json", many))) == 30
    by_document = {"dmv": {"d": [doc2dial_dialogue(str(i), "where?", "there " * 20) for i in range(30)]}}
    assert len(read(write(tmp_path / "dial.json", {"dial_data": by_document}))) == 30
    chat = {"notes": "word " * 200, "messages": turns("hello")}
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
def test_values_may_lie_across_chunks(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "_CHUNK_CHARACTERS", chunk)
    values = [123456, -1.25e-17, "a\u00e9\n", [True, None], {"key": 12345678}, 7]
    for text in (json.dumps(values), json.dumps(values, indent=2), "\n".join(map(json.dumps, values))):
        assert list(JsonText(io.StringIO(text)).values()) == values
    assert list(JsonText(io.StringIO('{"a": 123456, "b": 2}')).members(1)) == [(("a",), 123456), (("b",), 2)]


def test_what_is_malformed_is_told_before_the_rest_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "_CHUNK_CHARACTERS", 100)
    text = io.StringIO('[{"a": 1}, {"a": oops}' + ', {"a": 2}' * 1000 + "]")
    values = JsonText(text).values()
    assert next(values) == {"a": 1}
    with pytest.raises(json.JSONDecodeError, match="Expecting value"):
        next(values)
    assert text.tell() <= 200


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1000])
def test_json_members_do_not_depend_on_the_chunks(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "_CHUNK_CHARACTERS", chunk)
    value = {"a": {"b": [{"x": '}"\\]'}, {"y": 1}], "c": {"d": {"z": None}}, "e": {}}, "f": "text"}

    def members(depth: int) -> list[tuple[tuple[str, ...], Any]]:
        return list(JsonText(io.StringIO(json.dumps(value, indent=1))).members(depth))

    assert members(0) == [((), value)]
    assert members(1) == [(("a",), value["a"]), (("f",), "text")]
    assert members(3) == [
        (("a", "b"), {"x": '}"\\]'}),
        (("a", "b"), {"y": 1}),
        (("a", "c", "d"), {"z": None}),
        (("f",), "text"),
    ]


# what lies beside conversations


def test_companions_in_a_folder_are_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path / "data.json", multiwoz_file())
    write(tmp_path / "ontology.json", {"hotel-area": ["east"]})
    write(tmp_path / "valListFile.txt", "SNG1.json\n")
    write(tmp_path / "train" / "schema.json", [{"service_name": "hotel"}])
    write(tmp_path / "train" / "taxi_db.json", [{"phone": "1"}])
    write(tmp_path / "train" / "doc2dial_doc.json", {"doc_data": {}})
    with caplog.at_level(logging.INFO, logger="turnwise"):
        assert read(tmp_path) == MULTIWOZ_ROWS
    messages = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    passed = [message for message in messages if message.startswith("passed over ")]
    assert len(passed) == 5
    assert any(f"{tmp_path / 'ontology.json'}: slots and values" in message for message in passed)
    assert read(Path(f"{tmp_path}/*.json")) == MULTIWOZ_ROWS


def test_a_companion_named_directly_or_alone_is_read(tmp_path: Path) -> None:
    write(tmp_path / "a" / "chat.jsonl", json.dumps({"id": "1", "messages": turns("hello")}))
    named = write(tmp_path / "a" / "tasks.txt", json.dumps({"id": "2", "messages": turns("hello")}))
    assert [row["id"] for row in read(tmp_path / "a")] == ["1"]
    assert [row["id"] for row in read(named)] == ["2"]
    alone = write(tmp_path / "b" / "schema.json", [{"service_name": "hotel"}])
    with pytest.raises(ConversationError, match=r"schema\.json: could not detect the format"):
        read(alone.parent)


def test_other_files_in_a_folder_are_still_an_error(tmp_path: Path) -> None:
    write(tmp_path / "data.json", multiwoz_file())
    write(tmp_path / "mistake.json", {"alpha": 1})
    with pytest.raises(ConversationError, match=r"mistake\.json: could not detect the format"):
        read(tmp_path)
