from __future__ import annotations

from sentence_transformers import SentenceTransformer

from turnwise.encoders.rendering import Renderer
from turnwise.papers.tried.parts_collator import PartsCollator


def numbered(conversations) -> list[dict]:
    return [{**row, "conversation": 7 * number} for number, row in enumerate(conversations)]


def test_some_messages_of_each_conversation_in_their_order(tiny_encoder: SentenceTransformer) -> None:
    texts = ["my card", "yes", "no", "pizza", "thanks", "hello", "the order", "is lost", "a card", "bye"]
    roles = ["anna", "ben", "carla"]  # any number of speakers
    messages = [{"role": roles[turn % 3], "content": text} for turn, text in enumerate(texts)]
    collator, renderer, counts = PartsCollator(tiny_encoder), Renderer(tiny_encoder), set()
    of_text = dict(zip(texts, (ids for (ids,) in renderer.tokenize([[message] for message in messages]))))
    for epoch in range(20):
        collator.set_epoch(epoch)
        part = collator._part({"id": "a", "messages": messages})
        assert part == [message for message in messages if message in part]
        counts.add(len(part))
        batch = collator([{"id": "a", "messages": messages, "conversation": 3}])
        expected = [token for message in part for token in of_text[message["content"]]]
        row = batch["messages_input_ids"][0, batch["messages_turn"][0] >= 0]
        assert row.tolist() == expected and batch["messages_conversation"].tolist() == [3]
    assert counts == {3, 4, 5, 6}


def test_a_part_of_little_is_one_message(tiny_encoder: SentenceTransformer) -> None:
    messages = [{"role": "user", "content": "hello"}, {"role": "agent", "content": "yes"}]
    assert len(PartsCollator(tiny_encoder)._part({"id": "a", "messages": messages})) == 1


def test_parts_differ_between_epochs_only(tiny_encoder: SentenceTransformer, conversations) -> None:
    rows = numbered(conversations)
    collator, again, other = (PartsCollator(tiny_encoder, seed=seed) for seed in (0, 0, 1))

    def drawn(collator: PartsCollator) -> list[list[int]]:
        return collator(rows)["messages_input_ids"].tolist()

    assert drawn(collator) == drawn(again) == drawn(collator) != drawn(other)
    again.set_epoch(1)
    assert drawn(again) != drawn(collator)
