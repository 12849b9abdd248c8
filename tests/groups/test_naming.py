import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

import numpy as np
import pytest

from turnlens._utils.vectors import FloatArray, unit_vectors
from turnlens.groups.courtesies import courtesy_name
from turnlens.groups.group_model import StoredGroup
from turnlens.groups.naming import name_sentences
from turnlens.groups.naming_endpoint import Endpoint
from turnlens.groups.phrases import distinct_names, name_phrases, told_apart, without_placeholders


def test_phrases_are_of_one_group_only() -> None:
    texts = ["i want my money back", "give me the money back please", "my money back now"] * 4
    texts += ["where is my parcel", "the parcel is late", "please find my parcel"] * 4
    phrases = name_phrases(texts, np.repeat([0, 1], 12))
    assert phrases[0][0] == "money back" and phrases[1][0] == "parcel"
    assert not any(one in ("the", "my", "i") for own in phrases for one in own)


def test_phrases_cross_no_full_stop_or_number() -> None:
    phrases = name_phrases(["sounds good. thanks 9", "sounds good! thanks 8"] * 3, np.zeros(6, int))
    assert set(phrases[0]) == {"sounds good", "thanks"}


def test_chinese_texts_are_named_by_runs_of_characters() -> None:
    texts = ["我要退款谢谢", "请给我退款", "退款什么时候到"] * 3 + ["酒店电话是多少", "这家酒店的电话", "酒店电话"] * 3
    phrases = name_phrases(texts, np.repeat([0, 1], 9))
    assert "退款" in phrases[0][0] and any("酒店" in one for one in phrases[1])
    pairs = [{one[place : place + 2] for place in range(len(one) - 1)} for one in phrases[0]]
    assert all(not a & b for place, a in enumerate(pairs) for b in pairs[:place])


def test_stop_words_are_found_in_any_language() -> None:
    texts = [f"ich möchte {was} der rechnung {number}" for number in range(4) for was in ("das geld", "die summe")]
    texts += [f"ich möchte {was} des pakets {number}" for number in range(4) for was in ("das gewicht", "die größe")]
    texts += [f"ich möchte {was} des fluges {number}" for number in range(4) for was in ("das ziel", "die zeit")]
    phrases = name_phrases(texts, np.repeat([0, 1, 2], 8))
    assert "rechnung" in phrases[0][0] and "pakets" in phrases[1][0] and "fluges" in phrases[2][0]
    assert not {"ich", "möchte", "das", "die"} & {word for own in phrases for word in own}


def test_common_phrases_of_a_part_describe_no_group() -> None:
    texts = ["my flight is late", "my flight is gone"] * 3 + ["my flight and bag", "my flight, two bags"] * 3
    answers = ["we see", "we know", "oh dear"] * 6
    labels = np.concatenate([np.repeat([0, 1], 6), np.repeat([2, 3, 4], 6)])
    among_all = name_phrases([*texts, *answers], labels)
    by_part = name_phrases([*texts, *answers], labels, np.asarray([0, 0, 1, 1, 1]))
    assert any("flight" in phrase for phrase in among_all[0])
    assert by_part[0] and not any(word in ("my", "flight") for phrase in by_part[0] for word in phrase.split()[::2])


def test_answers_with_the_same_words_hide_no_phrase_of_a_request() -> None:
    requests = [
        text
        for verb, part in (("freeze", "knee"), ("cancel", "trip"))
        for text in [f"will you {verb}"] * 3 + [f"do {verb}"] * 3 + [f"my {part}"] * 4 + [f"she {part}s", "it"]
    ]
    answers = ["to freeze takes a day", "freeze now", "freeze", "to cancel takes a day", "cancel now", "cancel"] * 12
    labels, parts = np.repeat([0, 1, 2], [12, 12, 72]), np.asarray([0, 0, 1])
    assert [own[0] for own in name_phrases([*requests, *answers], labels, parts)[:2]] == ["freeze", "cancel"]
    assert name_phrases([*requests, *answers], labels, parts)[2]  # a group alone in its part is told from all others


def test_phrases_are_of_several_wordings() -> None:
    texts = ["my knee will have surgery today"] * 5 + ["pause me"] * 4 + ["hold on"] * 3 + ["other things"] * 30
    phrases = name_phrases(texts, np.repeat([0, 1], [12, 30]))[0]
    assert phrases[1:3] == ["pause me", "hold on"]


def test_no_two_phrases_of_a_name_are_pieces_of_one() -> None:
    texts = [f"selfie scan fails again {word}" for word in ("now", "here", "there")] * 4 + ["pay the bill"] * 12
    names = [set(phrase.split()) for phrase in name_phrases(texts, np.repeat([0, 1], 12))[0]]
    assert names and all(len(one & other) < 2 for at, one in enumerate(names) for other in names[:at])


def test_phrases_rank_by_how_near_they_are_to_their_group() -> None:
    texts = ["bag, minutes", "minutes: bag", "bag? minutes!"] * 3 + ["seat", "a seat", "my seat"] * 3
    labels, vectors = np.repeat([0, 1], 9), unit_vectors(np.repeat(np.eye(2, dtype=np.float32), 9, axis=0))
    assert set(name_phrases(texts, labels)[0]) == {"bag", "minutes"}
    for near, far in (("bag", "minutes"), ("minutes", "bag")):
        places = {near: (4, 1), far: (3, 2)}

        def embed(phrases: Sequence[str], places: dict[str, tuple[int, int]] = places) -> FloatArray:
            return unit_vectors(np.asarray([places.get(phrase, (0, 1)) for phrase in phrases], np.float32))

        assert name_phrases(texts, labels, vectors=vectors, embed=embed)[0] == [near, far]
        # There are no others, so that nothing is nearer to this one.
        assert name_phrases(["the", "the"], np.asarray([0, 0]), None, vectors[:2], embed) == [["the"]]


def test_a_sentence_is_near_to_its_group_itself() -> None:
    texts = ["Where is my bag? I am in Rome.", "I am in Rome. Where is my bag?"] * 3 + ["Any seat left?"] * 6
    vectors = unit_vectors(np.repeat(np.eye(2, dtype=np.float32), 6, axis=0))

    def embed(clauses: Sequence[str]) -> FloatArray:
        return unit_vectors(np.asarray([(4, 1) if "Rome" not in clause else (1, 4) for clause in clauses], np.float32))

    assert name_sentences(texts, vectors, np.repeat([0, 1], 6), embed=embed)[0] == "Where is my bag?"
    turned = name_sentences(texts, vectors, np.repeat([0, 1], 6), embed=lambda clauses: embed(clauses)[:, ::-1])[0]
    assert "Rome" in turned


def test_texts_without_words_have_no_phrases() -> None:
    assert name_phrases(["?", "!!"], np.asarray([0, 0])) == [[]]
    assert name_phrases(["the", "the"], np.asarray([0, 0])) == [["the"]]
    assert name_phrases([], np.zeros(0, int)) == []


def test_phrases_need_three_texts() -> None:
    texts = ["anna", "bert", "carl", "dora", "call anna", "pay my bill", "the bill", "my bill"]
    assert name_phrases(texts, np.repeat([0, 1], [5, 3])) == [[], ["bill"]]


def test_similar_names_get_a_phrase_of_their_own() -> None:
    phrases = [["change", "aisle", "seat"], ["change", "middle"], ["bag"], ["bag", "lost"]]
    names = ["I want to change my seat", "I want to change my seat.", "Where is my bag?", ""]
    assert told_apart(names, phrases) == [
        "I want to change my seat (aisle)",
        "I want to change my seat. (middle)",
        "Where is my bag?",
        "",
    ]


def test_names_are_distinct() -> None:
    assert distinct_names([["a", "b"], ["a", "b"], ["x"], ["x"], []]) == ["a", "b", "x", "x (2)", "no words in common"]
    assert distinct_names([["x"]], taken=["x", "x (2)"]) == ["x (3)"]


def sentences(texts: list[str], labels: list[int]) -> list[str]:
    """Names of texts that are all as near to the middle of their group."""
    return name_sentences(texts, np.eye(2, dtype=np.float32)[np.asarray(labels)], np.asarray(labels))


def test_sentences_are_clauses_without_greetings_and_values() -> None:
    texts = [
        f"Hi, I want to book a bus{where}." for where in ("", *(f" to city{sign}" for sign in "abcdefghijklmnopqrs"))
    ]
    others = [f"Hi, is my parcel{number} late?" for number in ("", *(f" {number}" for number in range(19)))]
    assert sentences(texts + others, [0] * 20 + [1] * 20) == ["I want to book a bus.", "Is my parcel late?"]


def test_a_name_neither_begins_with_a_greeting_nor_ends_with_a_signature() -> None:
    long = "the ride that I ended at the market square yesterday is still running and I am being charged for it"
    rides = [
        f"{opening}{long}{end}" for opening in ("", "Hi, ", "Hello there! ") for end in ("", "\nKind regards, Sanne")
    ]
    dogs = [
        f"{opening}Can we bring our dog?{end}" for opening in ("", "Hello. ") for end in ("", "\nKind regards, Luc")
    ]
    first, second = sentences(rides + dogs, [0] * 6 + [1] * 4)
    assert second == "Can we bring our dog?"
    assert first.startswith("The ride") and "Hi" not in first.split() and "regards" not in first


def test_names_hold_no_numbers_and_no_person() -> None:
    own = ["Refund my order 48113", "Refund for Zoltan Nagy, please", *["I would like a refund of it all"] * 3]
    assert sentences(own + ["Where is my bag ? ? ?"] * 3, [0] * 5 + [1] * 3) == [
        "I would like a refund of it all",
        "Where is my bag?",
    ]


def test_a_sentence_that_a_number_cuts_names_a_group_only_last() -> None:
    own = [
        *(f"The refund is late for booking {number}" for number in (48113, 48114, 48115)),
        *["My refund is late"] * 3,
    ]
    assert sentences(own + ["Where is my bag?"] * 3, [0] * 6 + [1] * 3)[0] == "My refund is late"
    own = [text.replace("booking 48", "KX48") for text in own[:3]] * 2 + ["My refund is late"] * 3
    assert sentences(own + ["Where is my bag?"] * 3, [0] * 9 + [1] * 3)[0] == "My refund is late"


def test_macros_are_names_without_long_numbers_or_quotes() -> None:
    macro = "I am sorry for the trouble. One moment, please."
    texts = [macro, *(f"my number is {number}." for number in ("82517392", "R-B55523", "RB66666")), "“what now please”"]
    names = name_sentences(texts, np.eye(5, dtype=np.float32), np.asarray([0, 1, 1, 1, 2]))
    assert names == [macro, "My number is", "What now please"]


def test_mere_names_and_numbers_are_no_names() -> None:
    texts = [f"{chr(97 + number) * 4} {number}" for number in range(20)]
    assert sentences(texts + ["Where is my bag?"] * 3, [0] * 20 + [1] * 3) == ["", "Where is my bag?"]


def test_rare_words_name_a_group_only_last() -> None:
    own = ["Thanks to Laura for the help", *["Thanks to you for the help"] * 40]
    others = [f"Laura {what} my bag" for what in ("lost", "found", "took")]
    vectors = np.eye(2, dtype=np.float32)[np.repeat([0, 1], [41, 3])]
    vectors[0] = [1, 0]
    vectors[1:41] = [0.99, np.sqrt(1 - 0.99**2)]
    assert name_sentences(own + others, vectors, np.repeat([0, 1], [41, 3]))[0] == "Thanks to you for the help"


def test_a_greeting_names_the_group_of_greetings() -> None:
    texts = ["hello", "Hello to you all"] * 4 + ["pay my bill"] * 6 + ["Hello, pay my bill"] * 2
    assert sentences(texts, [0] * 8 + [1] * 8) == ["Hello to you all", "Pay my bill"]


def test_names_are_whole_sentences_without_handles_and_signatures() -> None:
    own = ["@AcmeHelp Thanks for reaching to Acme on here ^JS"] * 20 + ["Thanks", "thanks!"] * 9
    others = ["where is my bag"] * 9
    texts = [without_placeholders(text) for text in own + others]
    assert sentences(texts, [0] * 38 + [1] * 9)[0] == "Thanks for reaching to Acme on here"
    phrases = name_phrases(texts, np.repeat([0, 1], [38, 9]))
    assert not any("acmehelp" in phrase or "js" in phrase.split() for phrase in phrases[0])
    assert without_placeholders("write to ann@acme.org *now* 5 ^ 2") == "write to ann@acme.org *now* 5 ^ 2"


def test_a_sentence_that_most_share_names_their_group() -> None:
    shared = "We are here. You can follow us"
    texts = [shared] * 26 + ["aaaa 5"] + ["you are here, we can follow us"] * 27
    assert sentences(texts, [0] * 27 + [1] * 27)[0].startswith("We are here")


def test_groups_without_a_matter_say_so() -> None:
    assert courtesy_name(["Thanks!", "thank you so much", "bye", "where is it"]) == "thanks and goodbyes"
    assert courtesy_name(["hi", "Hello there @acme"]) == "greetings"
    assert courtesy_name(["hi", "where is it"]) == ""


def test_chinese_sentences_are_cut_at_their_own_punctuation() -> None:
    thanks = "谢谢你，" + "我没有其他的问题了，" * 4
    texts = [f"您好，我要退款。{thanks}"] * 3 + [f"您好，酒店电话是多少？{thanks}"] * 3
    assert sentences(texts, [0] * 3 + [1] * 3) == ["我要退款。", "酒店电话是多少？"]


def test_sentences_need_words_and_are_cut_between_them() -> None:
    assert sentences(["?", "!!"], [0, 0]) == [""]
    (name,) = sentences(["word " * 100], [0])
    assert len(name) <= 122 and name.endswith("word …")


class Model(BaseHTTPRequestHandler):
    """An endpoint that remembers what it was sent."""

    received: ClassVar[list[tuple[str, dict[str, Any], str | None]]] = []
    status, answer = 200, '{"choices": [{"message": {"content": "\\n \\"Money back\\" \\nmore"}}]}'

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.received.append((self.path, body, self.headers.get("Authorization")))
        self.send_response(self.status)
        if self.status // 100 == 3:
            self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(self.answer.encode())

    def do_GET(self) -> None:
        self.received.append((self.path, {}, self.headers.get("Authorization")))
        self.send_error(404)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def served() -> Iterator[tuple[str, type[Model]]]:
    handler = type("Handler", (Model,), {"received": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", handler
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_endpoint_names_groups_from_their_examples_only(served: tuple[str, type[Model]]) -> None:
    url, handler = served
    assert Endpoint(url, "small", "secret")([["refund"]], [["a" * 1000, "money back"]]) == ["Money back"]
    path, body, key = handler.received[0]
    assert (path, key, body["model"]) == ("/v1/chat/completions", "Bearer secret", "small")
    assert body["messages"][1]["content"] == f"Phrases: refund\n\nTexts:\n- {'a' * 300}\n- money back"
    assert "secret" not in repr(Endpoint(url, "small", "secret"))


def test_an_endpoint_that_says_nothing_leaves_the_phrases(served: tuple[str, type[Model]]) -> None:
    url, handler = served
    handler.answer = '{"choices": [{"message": {"content": null}}]}'
    assert Endpoint(url, "small")([["refund", "back"]], [["text"]]) == ["refund, back"]
    assert handler.received[0][2] is None


@pytest.mark.parametrize(
    ("status", "answer", "said"),
    [
        (500, "broken", "status 500$"),
        (200, '{"error": "broken secret"}', "without choices"),
        (200, "broken secret", "not answer in JSON"),
        (200, "[" * 100_000, "not answer in JSON"),
        (200, "[" + " " * 1_000_000 + "]", "more than 1,000,000 bytes"),
    ],
)
def test_what_is_wrong_with_an_endpoint_is_said(
    served: tuple[str, type[Model]], status: int, answer: str, said: str
) -> None:
    url, handler = served
    handler.status, handler.answer = status, answer
    with pytest.raises(ValueError, match=said) as error:
        Endpoint(url, "small", "secret")([["refund"]], [["text"]])
    assert "broken" not in str(error.value) and "secret" not in str(error.value)
    with pytest.raises(ValueError, match="expected an address"):
        Endpoint("file:///etc/passwd", "small")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_keys_and_texts_follow_no_redirect(served: tuple[str, type[Model]], status: int) -> None:
    url, handler = served
    handler.status = status
    with pytest.raises(ValueError, match=f"status {status}; a redirect is not followed"):
        Endpoint(url, "small", "secret")([["refund"]], [["text"]])
    assert [path for path, _, _ in handler.received] == ["/v1/chat/completions"]


def test_names_of_groups_can_be_printed() -> None:
    assert StoredGroup(" lost\x1b[2J\n \u202ecards ").name == "lost\ufffd[2J \ufffdcards"
