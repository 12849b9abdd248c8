import pytest

from turnlens.papers.triple_encoders.collator import C3L_COLUMNS, CCL_COLUMNS, TurnOrderCollator
from turnlens.papers.triple_encoders.views import view_prompt


def needed(texts: list[str], speakers: list[str], window: int, triple: bool, directional: bool) -> set[tuple[int, str]]:
    """Turn and view, literally from the pairs of each window."""
    pairs = set()
    for start in range(len(texts) - window + 1):
        turns = list(range(start, start + window))
        if triple:
            pairs |= {(turn, turns[-1]) for turn in turns[:-1]}
        else:
            pairs |= {(turns[0], turn) for turn in turns[1:]}
        if directional:
            pairs |= {(turn, turns[0]) for turn in turns[1:]}
    found = {(later, "after") for _, later in pairs}
    for earlier, later in pairs:
        ending = "_same" if speakers[earlier] == speakers[later] else "_other"
        found |= {(earlier, view + ending) for view in (("before1", "before2") if triple else ("before",))}
    return found


@pytest.mark.parametrize("directional", [False, True])
@pytest.mark.parametrize("views", ["ccl", "c3l"])
def test_each_text_is_tokenised_once_in_each_view_it_is_needed_in(
    tiny_encoder, with_views, conversations, views, directional
) -> None:
    with_views(tiny_encoder, views)
    batch = TurnOrderCollator(tiny_encoder, window=3, directional=directional)(list(conversations))
    columns = C3L_COLUMNS if views == "c3l" else CCL_COLUMNS
    names = [view_prompt(tiny_encoder, *column) for column in columns]
    rows, turn, seen = batch["messages_rows"], 0, {}
    for row in conversations:
        texts = [message["content"] for message in row["messages"]]
        speakers = [message["role"] for message in row["messages"]]
        expected = needed(texts, speakers, 3, views == "c3l", directional)
        for place, text in enumerate(texts):
            for column, name in enumerate(names):
                number = int(rows[turn, column])
                assert (number >= 0) == ((place, name) in expected)
                if number >= 0:
                    assert seen.setdefault((text, name), number) == number
            turn += 1
    assert turn == len(rows)
    assert sorted(seen.values()) == list(range(len(batch["messages_input_ids"])))
    for (text, name), number in seen.items():
        stock = tiny_encoder.tokenize([tiny_encoder.prompts[name] + text])
        length = int(batch["messages_attention_mask"][number].sum())
        assert batch["messages_input_ids"][number, :length].tolist() == stock["input_ids"][0].tolist()


def test_without_speaker_tokens_one_before_view_serves_all(tiny_encoder, with_views, conversations) -> None:
    with_views(tiny_encoder, "c3l", speakers=False)
    batch = TurnOrderCollator(tiny_encoder, window=3)(list(conversations))
    assert (batch["messages_rows"][:, [1, 3]] == -1).all()
    assert (batch["messages_speaker"] == 0).all()


def test_speakers_and_texts_are_told_apart(tiny_encoder, with_views, conversations) -> None:
    with_views(tiny_encoder, "ccl")
    batch = TurnOrderCollator(tiny_encoder, window=3)(list(conversations))
    last = batch["messages_conversation"] == 4
    assert batch["messages_speaker"][last].tolist() == [0, 1, 2, 0, 1, 2]
    texts = [message["content"] for row in conversations for message in row["messages"]]
    keys = batch["messages_text_key"].tolist()
    assert len(set(texts)) == len(set(keys)) == len(set(zip(texts, keys)))


def test_long_utterances_are_cut(tiny_encoder, with_views) -> None:
    with_views(tiny_encoder, "ccl")
    row = {"id": "x", "messages": [{"role": "ab"[turn % 2], "content": "pizza " * 50} for turn in range(3)]}
    batch = TurnOrderCollator(tiny_encoder, window=3, max_length=10)([row])
    assert batch["messages_input_ids"].shape[1] == 10


def test_bad_settings_are_errors(tiny_encoder, with_views, conversations) -> None:
    with pytest.raises(ValueError, match="an encoder with views"):
        TurnOrderCollator(tiny_encoder)
    with_views(tiny_encoder, "ccl")
    with pytest.raises(ValueError, match="window must be at least 2, got 1"):
        TurnOrderCollator(tiny_encoder, window=1)
    with pytest.raises(ValueError, match="max_length"):
        TurnOrderCollator(tiny_encoder, max_length=5)
    with pytest.raises(ValueError, match="no conversation of this batch has 5 turns"):
        TurnOrderCollator(tiny_encoder)(list(conversations.select([0, 2])))
