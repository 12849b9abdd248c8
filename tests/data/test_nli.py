from __future__ import annotations

import gzip

import pytest

from turnwise.data.nli import read_nli

EXPECTED = [
    {"premise": "a, man", "hypothesis": "a person", "label": 1},
    {"premise": "a man", "hypothesis": "a cat", "label": 0},
]


def test_csv_and_jsonl_give_the_same_pairs(tmp_path) -> None:
    csv = 'id,premise,hypothesis,label\n1,"a, man",a person,entailment\n2,a man,it,-\n3,a man,a cat,contradiction\n'
    (tmp_path / "pairs.csv").write_text(csv)
    lines = '{"premise": "a, man", "hypothesis": "a person", "label": "entailment"}\n'
    lines += '{"premise": "a man", "hypothesis": "a cat", "label": "neutral"}\n'
    (tmp_path / "pairs.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    assert list(read_nli(tmp_path / "pairs.csv")) == EXPECTED
    assert list(read_nli(tmp_path / "pairs.jsonl.gz")) == EXPECTED


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("pairs.tsv", "", r"a \.jsonl or \.csv file"),
        ("pairs.jsonl", "", "holds no pairs"),
        ("pairs.jsonl", "{}\nno\n", r"pairs\.jsonl:1: expected texts premise and hypothesis"),
        ("pairs.jsonl", "no", r"pairs\.jsonl:1: not JSON"),
        ("pairs.jsonl", "[1]", r"pairs\.jsonl:1: expected texts"),
        ("pairs.jsonl", '{"premise": "a", "hypothesis": "b", "label": ["x"]}', r"pairs\.jsonl:1: expected texts"),
        ("pairs.csv", "premise,hypothesis,label\na,b,yes\n", r"pairs\.csv:2: .* among entailment"),
    ],
)
def test_bad_files_are_named(tmp_path, name, text, message) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        read_nli(tmp_path / name)
