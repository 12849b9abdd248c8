from functools import partial

import numpy as np
import pytest
from datasets import Dataset

from turnlens.encoders.reply_model import ReplyModel
from turnlens.store import SQL, ConversationStore, hits_table


def test_messages_by_vector(store, conversations, tiny_encoder) -> None:
    texts = [message["content"] for row in conversations for message in row["messages"]]
    vectors = tiny_encoder.encode_messages(texts)
    query = tiny_encoder.encode_messages(["a pizza please"])[0]
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    hits = store.search_messages("a pizza please", limit=30)
    np.testing.assert_allclose([hit.score for hit in hits], np.sort(cosines)[::-1], atol=1e-5)
    for hit in hits:
        assert conversations[int(hit.conversation[-1])]["messages"][hit.turn] == {"role": hit.role, "content": hit.text}
    assert store.search_messages(query) == hits[:10]
    assert [hit.score for hit in store.search_messages(query, limit=3, offset=4)] == [h.score for h in hits[4:7]]


def test_messages_by_text_and_by_both(store) -> None:
    hits = store.search_messages("cards lost", mode="text", limit=20)  # stems
    assert {hit.text for hit in hits} == {"cancel my card", "is it lost", "my card is lost", "i cancel the card"}
    assert hits[0].text == "my card is lost"
    for nothing in ("zebra", "!?", "the"):
        assert not store.search_messages(nothing, mode="text")
    for mode in ("text", "hybrid"):
        hits = store.search_messages("card", mode=mode, where="role = 'user'")
        assert hits and {hit.role for hit in hits} == {"user"}
    by_vector = store.search_messages("my card is lost", limit=20)
    by_text = store.search_messages("my card is lost", mode="text", limit=20)
    fused = store.search_messages("my card is lost", mode="hybrid", limit=20)
    assert fused[0].text == "my card is lost"
    assert fused[0].score == pytest.approx(2 / 61)
    assert len({(hit.conversation, hit.turn) for hit in fused}) == len(fused) == len(by_vector)
    both = {(hit.conversation, hit.turn) for hit in by_text}
    assert all(((hit.conversation, hit.turn) in both) or hit.score <= 1 / 61 for hit in fused)


def test_chinese_is_found_by_pairs_of_characters(filled) -> None:
    talk = [{"role": "user", "content": "我想订一张去北京的机票"}, {"role": "agent", "content": "好的，什么时候出发"}]
    store = filled([{"id": "zh", "messages": talk}])
    assert store.stats().tokenizer == "ngram"
    assert [hit.turn for hit in store.search_messages("北京机票", mode="text")] == [0]


@pytest.mark.parametrize(
    ("texts", "tokenizer", "found"),
    [
        (["where is my order", "我的包裹在哪里", *["I lost my card and I need a new one"] * 7], "icu", "包裹"),
        (["where are my orders", "我的包裹在哪里", *["I lost my card and I need a new one"] * 9], "simple", "order"),
        (["Wo ist mein Paket geblieben?", "Ich habe meine Karte verloren und brauche eine neue."], "icu", "paket"),
        (["where are my orders?", "I lost my card and I need a new one"], "simple", "order"),
        (["ฉันทำบัตรหาย", "ขอบคุณมาก"], "ngram", "บัตร"),
    ],
)
def test_the_tokenizer_fits_the_languages(filled, texts: list[str], tokenizer: str, found: str) -> None:
    store = filled([{"id": "a", "messages": [{"role": "user", "content": text} for text in texts]}])
    assert store.stats().tokenizer == tokenizer
    place = next(turn for turn, text in enumerate(texts) if found in text.lower())
    assert [hit.turn for hit in store.search_messages(found, mode="text")] == [place]


def test_settings_that_do_not_fit(store) -> None:
    with pytest.raises(ValueError, match="mode must be one of"):
        store.search_messages("x", mode="words")
    with pytest.raises(ValueError, match="expected a text"):
        store.search_messages(np.ones(32), mode="hybrid")
    with pytest.raises(ValueError, match="expected a vector of 32 numbers"):
        store.search_messages(np.ones(31))
    with pytest.raises(ValueError, match="limit must be 1 or more"):
        store.search_messages("x", limit=0)
    for empty in ("", " \n"):
        said = [{"role": "user", "content": empty}]
        for search in (store.search_messages, partial(store.search_messages, mode="text"), store.search_conversations):
            with pytest.raises(ValueError, match="expected one or more words"):
                search(empty)
        for messages in ([], said):
            with pytest.raises(ValueError, match="one or more"):
                store.next_replies(messages)


def test_an_empty_store_finds_nothing(tmp_path, tiny_encoder) -> None:
    store = ConversationStore.open(tmp_path / "empty", encoder=tiny_encoder)
    for mode in ("vector", "text", "hybrid"):
        assert store.search_messages("x", mode=mode) == []
    messages = [{"role": "user", "content": "x"}]
    assert store.search_conversations("x") == store.next_replies(messages) == []


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("plain", {}),
        ("plain", {"mode": "joined"}),
        ("head", {}),
        ("ccl", {}),
        ("c3l", {}),
        ("c3l", {"mode": "last-1"}),
        ("c3l", {"mode": "bi"}),
    ],
)
def test_next_replies_are_those_of_the_reply_model(
    filled, own_encoder, add_head, with_views, conversations: Dataset, kind: str, settings: dict
) -> None:
    if kind == "head":
        encoder = add_head(own_encoder)
    else:
        encoder = own_encoder if kind == "plain" else with_views(own_encoder, kind)
    store = filled(conversations, encoder=encoder)
    said = [message for row in conversations for message in row["messages"]]
    model = ReplyModel(encoder)
    for speaker in ("user", "assistant"):
        texts = list(dict.fromkeys(message["content"] for message in said if message["role"] == speaker))
        context = conversations[4]["messages"][:4]
        running = model.start(speaker)
        for message in context:
            running.add(message["content"], message["role"])
        scores = running.score(model.encode_candidates(texts), settings.get("mode"))
        expected = sorted(zip(scores, texts), reverse=True)
        hits = store.next_replies(context, limit=len(texts), speaker=speaker, **settings)
        assert [hit.text for hit in hits] == [text for _, text in expected]
        np.testing.assert_allclose([hit.score for hit in hits], [score for score, _ in expected], atol=1e-5)
    everything = store.next_replies(context, where="role != 'nobody'", limit=50, distinct=False, **settings)
    assert len(everything) == store.stats().messages


def test_next_replies_are_said_by_whoever_speaks_next(store) -> None:
    def roles(said: list[str], **settings) -> set[str]:
        messages = [{"role": role, "content": "hello"} for role in said]
        return {hit.role for hit in store.next_replies(messages, limit=50, **settings)}

    everyone = {"user", "assistant", "supervisor"}
    assert roles(["user"]) == {"assistant", "supervisor"}  # someone else
    assert roles(["assistant", "user", "user"]) == {"assistant"}
    assert roles(["user", "assistant"], where="label.none = 'x' or turn < 9") == {"user"}
    assert roles(["user"], speaker="supervisor") == {"supervisor"}
    for names_a_role in ("role != 'nobody'", "speaker in ('user', 'assistant', 'supervisor')", SQL("role <> ''")):
        assert roles(["user"], where=names_a_role) == everyone
    assert roles(["assistant", "user"], where="text != 'role'") == {"assistant"}
    with pytest.raises(
        ValueError, match="no message has the role \"it's me\" or 'me'; there are assistant, supervisor, user"
    ):
        roles(["me", "it's me"])
    assert roles(["me"], speaker="user") == {"user"}
    # all messages where the one who speaks next has said nothing
    assert roles(["it's me", "user"]) == everyone
    assert roles(["user"], where="conversation = 'talk-3'") == {"user"}


def test_distinct_replies_are_as_many_as_asked_for(filled) -> None:
    rows = [{"id": str(n), "messages": [{"role": "user", "content": "thanks"}]} for n in range(40)]
    store = filled([*rows, {"id": "x", "messages": [{"role": "user", "content": w} for w in ("hello", "pizza")]}])
    hits = store.next_replies([{"role": "user", "content": "thanks"}], limit=3)
    assert {hit.text for hit in hits} == {"thanks", "hello", "pizza"}
    assert hits[0].text == "thanks"


ASKED = [["Hello!", "Where is my parcel?"], ["How can I help?", "I'd like to cancel my flight."]]
USUAL = "Your parcel will arrive tomorrow."
CANCELLED = [
    "Which flight is it?",
    "That costs 80 dollars.",
    "Sorry, our office is closed.",
    "Anything else?",
    "Goodbye!",
]
SITUATIONS = [*([*ASKED[0], USUAL] for _ in range(6)), *([*ASKED[1], reply] for reply in CANCELLED)]


def said(texts: list[str]) -> list[dict[str, str]]:
    return [{"role": role, "content": text} for role, text in zip(("assistant", "user", "assistant"), texts)]


@pytest.fixture
def served(filled) -> ConversationStore:
    """A store of situations, with the encoder that ships: one has a usual reply, the other has not."""
    rows = [{"id": str(number), "messages": said(texts)} for number, texts in enumerate(SITUATIONS)]
    return filled(rows, encoder=None)


def test_the_usual_reply_is_suggested_first(served: ConversationStore) -> None:
    for settings in ({}, {"where": "turn > 0"}, {"distinct": False}):
        hits = served.next_replies(said(ASKED[0]), limit=4, **settings)
        assert hits[0].text == USUAL and 0.65 <= hits[0].probability < 1
        assert len({(hit.conversation, hit.turn) for hit in hits}) == 4
        assert {hit.probability for hit in hits[1:]} == {None}
        scores = [hit.score for hit in hits[1:]]
        assert scores == sorted(scores, reverse=True)
        assert served.next_replies(said(ASKED[0]), limit=3, offset=1, **settings) == hits[1:]


def test_replies_that_say_the_same_are_one(served: ConversationStore) -> None:
    named = [f"Hi {name}, your parcel will arrive tomorrow." for name in ("Ann", "Bob", "Zoltan", "Mei")]
    served.add([{"id": name, "messages": said([*ASKED[0], name])} for name in named])
    settings = {"limit": 4, "where": "turn = 2"}
    several = [hit.text for hit in served.next_replies(said(ASKED[0]), **settings)]
    assert len(several) == 4 and sum("parcel" in text for text in several) == 1
    every = served.next_replies(said(ASKED[0]), distinct=False, **settings)
    assert sum("parcel" in hit.text for hit in every) > 1


def talk_of(said: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"role": role, "content": text} for role, text in said]


def with_notices(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """The messages, each with two of the app's after it, which have no text."""
    notices = [{"role": role, "content": text} for role, text in (("assistant", ""), ("app", " "))]
    return [message for said in messages for message in (said, *notices)]


def test_messages_without_text_are_never_found(served: ConversationStore) -> None:
    rows = [{**row, "messages": with_notices(row["messages"])} for row in served.export()]
    for add in (lambda: served.add(rows[:3]), lambda: served.add(rows[3:]), served.compact):
        add()
        for where in (None, "turn >= 0", "role != 'user'"):
            hits = served.search_messages("x", where=where, limit=99) + served.search_messages(".", where=where)
            replies = served.next_replies(with_notices(said(ASKED[0])), where=where, limit=99)
            assert hits and all(hit.text.strip() for hit in [*hits, *replies])
            assert replies[0].text == USUAL and replies[0].probability >= 0.65


def test_nothing_is_suggested_where_replies_differ(served: ConversationStore) -> None:
    for asked, where in ((ASKED[1], None), (ASKED[0], "turn = 0"), (["What's the weather?"], None)):
        assert served.next_replies(said(asked), where=where)[0].probability is None


def test_nothing_is_suggested_if_all_cosines_are_high(served: ConversationStore, filled, tiny_encoder) -> None:
    other = filled(served.export(), name="other", encoder=tiny_encoder)
    assert other.next_replies(said(ASKED[0]))[0].probability is None


def test_hits_as_a_table(store) -> None:
    table = hits_table(store.search_messages("my card", limit=5))
    assert table.num_rows == 5
    assert {"score", "conversation", "turn", "role", "text", "labels", "time"} == set(table.column_names)


def test_somebody_new_may_begin_where_roles_are_names(served: ConversationStore) -> None:
    new = [{"role": "zoe", "content": "my card"}]
    with pytest.raises(ValueError, match="no message has the role 'zoe'"):
        served.next_replies(new)
    served.add([{"id": f"team-{n}", "messages": talk_of([(f"name {n}", "hello there")])} for n in range(20)])
    assert served.next_replies(new)


def test_automatic_replies_are_not_next_messages(served: ConversationStore) -> None:
    automatic = "Thank you for writing to us! Your case {} is open, and somebody will answer you within two days."
    talks = [[("user", ASKED[0][1]), ("assistant", automatic.format(n)), ("assistant", USUAL)] for n in range(8)]
    served.add([{"id": f"mail-{n}", "messages": talk_of(talk)} for n, talk in enumerate(talks)])
    for so_far in (talks[0][:1], [("user", ASKED[0][1]), ("assistant", automatic.format(99))]):
        hits = served.next_replies(talk_of(so_far), limit=5)
        assert hits[0].text == USUAL and hits[0].probability >= 0.65
        assert len(hits) == 5 and not any("Your case" in hit.text for hit in hits)
