import pytest

from turnlens.store import SQL, FilterError
from turnlens.store.filters import CONVERSATION_COLUMNS, MESSAGE_COLUMNS, read_filter

# what is written, and the messages that fulfil it, as conversation and turn
MESSAGES = [
    ("role = 'agent'", {("refund", 1)}),
    ("speaker != 'user'", {("refund", 1), ("it's lost", 1)}),
    ("conversation = 'it''s lost' and turn >= 1", {("it's lost", 1), ("it's lost", 2)}),
    ("conversation in (\"it's lost\", 'nobody')", {("it's lost", 0), ("it's lost", 1), ("it's lost", 2)}),
    ("label.intent = 'refund'", {("refund", 0)}),
    ("label.intent in ('refund', 'lost card') and not role = 'bot'", {("refund", 0), ("it's lost", 0)}),
    ("label.domain = 'shop'", {("refund", 0), ("refund", 1)}),  # the conversation's
    ("label.tags = 'new' and role = 'user'", {("refund", 0)}),
    ("label.sure = true or label.stars = 5", {("it's lost", 1), ("silent", 0)}),
    ("label.\"sure\" == 'false'", {("it's lost", 2)}),
    ("label.domain not in ('shop', 'bank')", {("silent", 0)}),
    ("time >= 2024-03-01", {("refund", 0), ("refund", 1)}),
    ("time < 2024-03-01T12:00:10Z and time > '2024-02-01T00:00:00+01:00'", {("refund", 0)}),
    ("text contains 'lost' and turn <> 0", {("it's lost", 1), ("it's lost", 2)}),
    ("text CONTAINS '''now'''", {("silent", 0)}),
    ("NOT (role = 'user' OR role = 'bot')", {("refund", 1)}),
    ("role = 'x'' or ''1''=''1'", set()),
    ("turn = 0 and role = 'user' or role = 'agent'", {("refund", 0), ("it's lost", 0), ("silent", 0), ("refund", 1)}),
    # Of an empty time no comparison is true, and no contrary of one.
    ("not time >= 2024-03-01", {("it's lost", 0)}),
    ("not (time >= 2024-03-01 or role = 'bot')", {("it's lost", 0)}),
    ("not not not time < 2024-03-01", {("refund", 0), ("refund", 1)}),
    ("not (not label.intent = 'refund' and not label.tags in ('new', 'old'))", {("refund", 0), ("refund", 1)}),
    ("not (turn > 0 or not role in ('user', 'x'))", {("refund", 0), ("it's lost", 0), ("silent", 0)}),
    ("not " * 49 + "role = 'user'", {("refund", 1), ("it's lost", 1)}),
    ("(" * 10 + "role = 'agent'" + ")" * 10, {("refund", 1)}),
    ("not (turn = 0 or " * 10 + "role = 'agent'" + ")" * 10, {("refund", 1)}),
    ("turn = 1 and not (label.a in (1, 2) or " * 10 + "role = 'agent'" + ")" * 10, {("refund", 1)}),
    ("turn in (0, 1) and turn not in (+1) and time not in (2024-03-02)", {("refund", 0), ("it's lost", 0)}),
    # A date alone is the whole day.
    ("time = 2024-03-01", {("refund", 0), ("refund", 1)}),
    ("time = '2024-03-01T12:00:30Z'", {("refund", 1)}),
    ("time != 2024-03-01", {("it's lost", 0)}),
    ("time <= 2024-03-01", {("refund", 0), ("refund", 1), ("it's lost", 0)}),
    ("time > 2024-03-01 or time < 2024-03-01 and not time != 2024-01-23", {("it's lost", 0)}),
    ("time in (2024-03-01, 2024-01-01T00:00:00) and turn = 0", {("refund", 0)}),
    ("not time not in (2024-03-01, 2023-03-01)", {("refund", 0), ("refund", 1)}),
    ("(" * 10 + "time in (" + "2023-03-01, " * 800 + "2024-03-01)" + ")" * 10, {("refund", 0), ("refund", 1)}),
    ("text contains 'LOST'", set()),
    ("turn = 1 and (role = 'x' or " * 10 + "role = 'bot'" + ")" * 10, {("it's lost", 1)}),
    ("conversation in (" + "'x', " * 1000 + "'refund')", {("refund", 0), ("refund", 1)}),
    (SQL("turn = 2 OR role LIKE 'ag%'"), {("it's lost", 2), ("refund", 1)}),
]
CONVERSATIONS = [
    ("turns > 1", {"refund", "it's lost"}),
    ("speaker = 'bot'", {"it's lost"}),
    ("speaker not in ('bot', 'agent')", {"silent"}),
    ("label.domain = 'bank' or label.tags = 'angry'", {"refund", "it's lost"}),
    ("last_time >= 2024-03-01T12:00:30Z", {"refund"}),
    ("first_time < 2024-02-01", {"it's lost"}),
]
MISTAKES = [
    ("", 1, "expected one of conversation, turn, role, speaker, text, time, label.NAME, got the end"),
    ("rolle = 'user'", 1, "expected one of .*, got 'rolle'"),
    (
        "role = user",
        8,
        "expected a text in quotes, which a shell takes away unless .* are around the filter, got 'user'",
    ),
    ("role = 'user", 8, "this quote is never closed"),
    ("role = 'user' role = 'x'", 15, "expected 'and', 'or' or the end, got 'role'"),
    ("role = 'a' and", 15, "expected one of"),
    ("role = 'a'; drop table messages", 11, "found a stray character"),
    ("role = 'a' -- x", 12, "found a stray character"),
    ("turn = 'two'", 8, "expected a whole number of at most 9 digits, got \"'two'\""),
    ("turn < 1.5", 8, "expected a whole number"),
    ("turn = " + "9" * 5000, 8, "expected a whole number"),
    ("turn = 3000000000", 8, "expected a whole number"),
    ("time > 2024-13-01", 8, "expected a time"),
    ("label = 'x'", 1, "expected the name of a label"),
    ("label.intent < 'x'", 14, "compared with =, != and in only"),
    ("label.intent = refund", 16, "expected a number, true, false or a text in quotes, which a shell takes away"),
    ("turn contains 'x'", 6, "'contains' belongs to texts"),
    ("role.name = 'x'", 1, "expected one of"),
    ("role in 'x'", 9, "expected '\\('"),
    ("role in ('x'", 13, "expected '\\)', got the end"),
    ("(role = 'x'", 12, "expected '\\)'"),
    ("role like 'x'", 6, "expected =, !="),
    ("(" * 60 + "role = 'x'" + ")" * 60, 12, "at most 10 levels"),
    ("role = '" + "x" * 10_000 + "'", 10_001, "at most 10,000 characters"),
    ("role = 'a\0'", 10, "NUL"),
    ("role = 'a\ud800'", 10, "half of a surrogate pair"),
    ("time > 0001-01-01T00:00:00+14:00", 8, "years 1 to 9999 in UTC as well"),
    ("time < '9999-12-31T23:59:59-01:00'", 8, "years 1 to 9999 in UTC as well"),
    ("turn = 1 or " * 256 + "turn = 1", 256 * 12 + 1, "at most 256 comparisons"),
]


def test_a_filter_finds_the_messages_that_fulfil_it(labelled_store) -> None:
    for filter, expected in MESSAGES:
        hits = labelled_store.search_messages("my card", where=filter, limit=100)
        assert {(hit.conversation, hit.turn) for hit in hits} == expected, filter


def test_a_filter_finds_the_conversations_that_fulfil_it(labelled_store) -> None:
    for filter, expected in CONVERSATIONS:
        hits = labelled_store.search_conversations("my card", where=filter, limit=100)
        assert {hit.conversation for hit in hits} == expected, filter


def test_a_mistake_is_shown_with_its_place() -> None:
    for filter, character, problem in MISTAKES:
        with pytest.raises(FilterError, match=problem) as caught:
            read_filter(filter, MESSAGE_COLUMNS)
        assert caught.value.position == character - 1, filter
        assert f"character {character}" in str(caught.value), filter


def test_columns_belong_to_their_table() -> None:
    with pytest.raises(FilterError, match="conversation, turns"):
        read_filter("turn = 1", CONVERSATION_COLUMNS)


def test_nothing_of_a_text_leaves_its_quotes() -> None:
    nasty = "a' OR 1=1 --"
    assert read_filter(f'role = "{nasty}"', MESSAGE_COLUMNS) == "role = 'a'' OR 1=1 --'"
    assert read_filter(f'label."{nasty}" = "{nasty}"', MESSAGE_COLUMNS) == (
        "array_has_any(labels, make_array('a'' OR 1=1 --=a'' OR 1=1 --'))"
    )
