from datasets import Dataset

from turnlens.papers.pieces import PieceCollator, cut_samples, cut_windows


def texts_of(pieces: Dataset, conversations: Dataset) -> list[tuple[str, list[str], int | None]]:
    seen = []
    collate = PieceCollator(lambda rows: seen.extend(rows), conversations)
    collate(list(pieces))
    return [(row["id"], [m["content"] for m in row["messages"]], row.get("response")) for row in seen]


def test_all_windows_of_all_conversations(conversations) -> None:
    some = conversations.select([4, 0, 3])  # of six, four and one messages
    expected = []
    for row in some:
        texts = [message["content"] for message in row["messages"]]
        expected += [(row["id"], texts[start : start + 3], None) for start in range(len(texts) - 2)]
    assert len(expected) == 6
    assert texts_of(cut_windows(some, 3), some) == expected


def test_each_message_as_a_response_with_its_context(conversations) -> None:
    some = conversations.select([1, 3, 2])
    expected = []
    for row in some:
        texts = [message["content"] for message in row["messages"]]
        if len(texts) > 1:
            for turn in range(len(texts)):
                start = max(0, turn - 2)
                expected.append((row["id"], texts[start : turn + 3], turn - start))
    assert texts_of(cut_samples(some, 2), some) == expected


def test_the_epoch_is_handed_on(conversations) -> None:
    class Collate:
        epoch = 0

        def set_epoch(self, epoch: int) -> None:
            self.epoch = epoch

    inner = Collate()
    PieceCollator(inner, conversations).set_epoch(3)
    PieceCollator(len, conversations).set_epoch(3)  # one that does not want to know
    assert inner.epoch == 3
