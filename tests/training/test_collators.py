from turnlens.papers.in_batch import JoinedContextCollator
from turnlens.training.collators import TextCollator


def row(*texts: str) -> dict:
    return {"id": "x", "messages": [{"role": "user", "content": text} for text in texts]}


def test_every_distinct_text_is_tokenised_once(tiny_encoder) -> None:
    batch = TextCollator(tiny_encoder)([row("hello", "a card", "hello"), row("a card", "thanks")])
    assert batch["messages_turn_text"].tolist() == [0, 1, 0, 1, 2]
    assert batch["messages_conversation"].tolist() == [0, 0, 0, 1, 1]
    keys = batch["messages_text_key"].tolist()
    assert keys[0] == keys[2] and keys[1] == keys[3] and len(set(keys)) == 3
    texts = [
        tiny_encoder.tokenizer.decode(ids[mask.bool()], skip_special_tokens=True)
        for ids, mask in zip(batch["messages_input_ids"], batch["messages_attention_mask"])
    ]
    assert texts == ["hello", "a card", "thanks"]


def test_texts_are_cut_at_both_limits(tiny_encoder) -> None:
    long = row("card " * 100, "hello")
    assert TextCollator(tiny_encoder, max_length=10)([long])["messages_input_ids"].shape == (2, 10)
    assert TextCollator(tiny_encoder, max_length=500)([long])["messages_input_ids"].shape == (2, 64)


def test_joined_contexts_hold_the_preceding_turns_most_recent_last(tiny_encoder) -> None:
    collate = JoinedContextCollator(tiny_encoder, max_length=32, context_turns=2)
    batch = collate([row("hello", "a card", "thanks", "to"), row("hello", "to")])
    contexts = batch["messages_context_text"].tolist()
    assert contexts[0] == -1 and contexts[4] == -1
    decoded = [
        tiny_encoder.tokenizer.decode(batch["messages_input_ids"][text]).replace("[PAD]", "").strip()
        for text in contexts
        if text >= 0
    ]
    assert decoded == [
        "[CLS] hello [SEP]",
        "[CLS] hello [SEP] a card [SEP]",
        "[CLS] a card [SEP] thanks [SEP]",
        "[CLS] hello [SEP]",
    ]
    assert contexts[1] == contexts[5] == batch["messages_turn_text"][0]


def test_long_joined_contexts_keep_the_newest_words(tiny_encoder) -> None:
    collate = JoinedContextCollator(tiny_encoder, max_length=4, context_turns=2)
    batch = collate([row("a a a a a a a a", "to my card", "is is is is is is")])
    turn, context = (
        tiny_encoder.tokenizer.decode(batch["messages_input_ids"][batch[f"messages_{name}_text"][2]])
        for name in ("turn", "context")
    )
    assert turn.startswith("[CLS] is is [SEP]") and context == "[CLS] a a [SEP] to my card [SEP]"
