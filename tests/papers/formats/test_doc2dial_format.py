"""Doc2Dial and MultiDoc2Dial."""

from pathlib import Path

import pytest

from format_cases import doc2dial_dialogue, read, turns, write
from turnlens.errors import ConversationError


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
