import pytest
from datasets import Dataset
from torch.utils.data import DataLoader

from turnlens.encoders.forward import padded
from turnlens.encoders.rendering import Renderer, make_conversational
from turnlens.papers.dial2vec.collator import ConversationCollator
from turnlens.papers.dial2vec.loss import Dial2vecLoss


@pytest.fixture
def encoder(tiny_encoder):
    return make_conversational(tiny_encoder, 48)


@pytest.fixture
def dialogues(conversations) -> Dataset:
    return conversations.filter(lambda row: len(row["messages"]) > 1)


def decoded(encoder, ids) -> str:
    return encoder.tokenizer.decode(ids).replace("[PAD]", "").strip()


@pytest.mark.parametrize("separate_turns", [True, False])
def test_rows_are_what_the_chat_template_renders(tiny_encoder, dialogues, separate_turns) -> None:
    encoder = make_conversational(tiny_encoder, 48, separate_turns)
    rows = padded(Renderer(encoder).rows(dialogues["messages"]))
    for messages, ids, mask in zip(dialogues["messages"], rows.input_ids, rows.attention_mask):
        rendered = encoder.tokenizer.apply_chat_template(messages, tokenize=True, return_dict=True)["input_ids"]
        assert ids[mask.bool()].tolist() == rendered
        assert rendered == encoder.preprocess([messages])["input_ids"][0].tolist()


def test_tokens_know_their_speaker_and_turn(encoder, dialogues) -> None:
    rows = padded(Renderer(encoder).rows([dialogues[3]["messages"]]))  # three speakers
    ends = (rows.input_ids[0] == encoder.tokenizer.sep_token_id).nonzero().squeeze(1).tolist()
    assert rows.speaker[0, ends].tolist() == [0, 1, 2, 0, 1, 2]
    assert rows.turn[0, ends].tolist() == [0, 1, 2, 3, 4, 5]
    assert rows.speaker[0, 0] == rows.turn[0, 0] == -1


def test_mixed_dialogues_keep_one_speaker_and_draw_the_rest_by_role(encoder, dialogues) -> None:
    collate = ConversationCollator(encoder, dialogues, negatives_per_dialogue=8)
    batch = collate([dialogues[0]])
    assert batch["messages_is_real"].tolist() == [True] + [False] * 8
    turns = dialogues[0]["messages"]
    elsewhere = {
        role: {m["content"] for row in dialogues.select(range(1, 4)) for m in row["messages"] if m["role"] == role}
        for role in ("user", "assistant")
    }
    kept_roles = set()
    for ids in batch["messages_input_ids"][1:]:
        texts = [text.strip() for text in decoded(encoder, ids).removeprefix("[CLS]").split("[SEP]")][:-1]
        kept = {m["role"] for m, text in zip(turns, texts) if decoded_equal(encoder, m["content"], text)}
        kept_roles |= kept
        for message, text in zip(turns, texts):
            if not decoded_equal(encoder, message["content"], text):
                drawn = {
                    decoded(encoder, encoder.tokenizer(t, add_special_tokens=False)["input_ids"])
                    for t in elsewhere[message["role"]]
                }
                assert text in drawn
        assert kept
    assert kept_roles == {"user", "assistant"}


def decoded_equal(encoder, content: str, text: str) -> bool:
    return decoded(encoder, encoder.tokenizer(content, add_special_tokens=False)["input_ids"]) == text


def test_more_than_two_speakers_are_kept_in_turn(encoder, dialogues) -> None:
    batch = ConversationCollator(encoder, dialogues, negatives_per_dialogue=3)([dialogues[3]])
    assert batch["messages_speakers"].tolist() == [3]
    real, *mixed = batch["messages_input_ids"]
    speaker = batch["messages_speaker"]
    first_turn = {who: real[speaker[0] == who][:3].tolist() for who in range(3)}
    kept = [
        who
        for who in range(3)
        for row, ids in enumerate(mixed, 1)
        if ids[speaker[row] == who][:3].tolist() == first_turn[who]
    ]
    assert set(kept) == {0, 1, 2}


def test_the_same_seed_gives_the_same_negatives_whatever_the_number_of_workers(encoder, dialogues) -> None:
    collate = ConversationCollator(encoder, dialogues, seed=5)

    def batches(workers: int, batch_size: int) -> dict[str, list]:
        loader = DataLoader(dialogues, batch_size, collate_fn=collate, num_workers=workers)
        vectors: dict[str, list] = {}
        for start, batch in enumerate(loader):
            for number in range(len(batch["messages_speakers"])):
                rows = batch["messages_input_ids"][batch["messages_conversation"] == number]
                vectors[dialogues[start * batch_size + number]["id"]] = [decoded(encoder, ids) for ids in rows]
        return vectors

    alone = batches(0, 2)
    assert alone == batches(2, 2) == batches(0, 3)
    collate.set_epoch(1)
    other = batches(0, 2)
    assert other != alone and {key: rows[0] for key, rows in other.items()} == {
        key: rows[0] for key, rows in alone.items()
    }


def test_conversations_without_interaction_give_no_rows(encoder, conversations, dialogues) -> None:
    collate = ConversationCollator(encoder, dialogues)
    alone = {"id": "alone", "messages": [{"role": "user", "content": "hello"}, {"role": "user", "content": "thanks"}]}
    batch = collate([alone, conversations[3], dialogues[0]])
    assert batch["messages_speakers"].tolist() == [2] and batch["messages_conversation"].unique().tolist() == [0]
    with pytest.raises(ValueError, match="no conversation of this batch has two speakers"):
        collate([alone])


def test_a_role_that_nobody_else_has_is_filled_with_others_words(encoder, dialogues) -> None:
    row = {"id": "new", "messages": [{"role": "anna", "content": "hello"}, {"role": "ben", "content": "thanks"}]}
    corpus = Dataset.from_list([*dialogues.select_columns(["id", "messages"]), row])
    batch = ConversationCollator(encoder, corpus, negatives_per_dialogue=4)([row])
    assert len(batch["messages_input_ids"]) == 5


@pytest.mark.parametrize(("keep", "expected"), [("head", [0, 1, 2]), ("tail", [5, 6, 7]), ("both", [0, 1, 7])])
def test_long_conversations_keep_whole_turns(encoder, caplog, keep, expected) -> None:
    messages = [{"role": "ab"[turn % 2], "content": f"a {turn} card"} for turn in range(8)]
    renderer = Renderer(encoder, max_length=14, keep=keep)  # 4 tokens a turn, and the first
    fitting = renderer.fitting(renderer.tokenize([messages, messages[:2]]))
    assert [[turn for turn, _ in pieces] for pieces in fitting] == [expected, [0, 1]]
    assert renderer.warn_of_cuts() and "1 of 2 conversations have more than 14 tokens" in caplog.text


def test_training_tells_once_that_conversations_are_cut(encoder, dialogues, caplog) -> None:
    collate = ConversationCollator(encoder, dialogues, max_length=11)
    for _ in range(2):
        collate(list(dialogues))
    assert len(caplog.records) == 1 and "4 of 4 conversations have more than 11 tokens" in caplog.text


def test_both_ends_of_a_long_conversation_have_two_speakers(encoder, dialogues) -> None:
    # The ends are of one speaker, and two turns are all that fits.
    messages = [{"role": "aba"[turn], "content": "card " * 40} for turn in range(3)]
    collate = ConversationCollator(encoder, dialogues, max_length=20, keep="both")
    assert collate([{"id": "new", "messages": messages}])["messages_speakers"].tolist() == [2]


def test_two_turns_always_fit(encoder) -> None:
    messages = [{"role": "a", "content": "card " * 100}, {"role": "b", "content": "pizza " * 100}]
    rows = padded(Renderer(encoder, max_length=11).rows([messages]))
    assert rows.input_ids.shape == (1, 11) and rows.turn.max() == 1


def test_training_steps_move_the_encoder_and_lower_the_loss(encoder, dialogues, check_learning) -> None:
    check_learning(Dial2vecLoss(encoder), ConversationCollator(encoder, dialogues)(list(dialogues)))


def test_bad_settings_are_refused(encoder, dialogues) -> None:
    with pytest.raises(ValueError, match="negatives_per_dialogue"):
        ConversationCollator(encoder, dialogues, negatives_per_dialogue=0)
    with pytest.raises(ValueError, match="at least 2 conversations"):
        ConversationCollator(encoder, dialogues.select([0]))
    with pytest.raises(ValueError, match="'head', 'tail' or 'both'"):
        Renderer(encoder, keep="middle")
    with pytest.raises(ValueError, match="ids must be unique"):
        ConversationCollator(encoder, Dataset.from_list([dialogues[0], dialogues[0]]))
