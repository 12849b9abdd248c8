import gzip

import pytest

from turnlens.papers.triple_encoders.nli import read_nli

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


def test_all_nli_as_it_is_distributed(tmp_path) -> None:
    rows = [
        "split\tdataset\tfilename\tsentence1\tsentence2\tlabel",
        "train\tSNLI\tx.txt\ta, man\ta person\tentailment",
        'train\tMNLI\tx.txt\t"open\tto\tneutral',
        "dev\tSNLI\tx.txt\tno\tno\tentailment",
        "train\tSNLI\tx.txt\ta man\ta cat\tcontradiction",
    ]
    (tmp_path / "AllNLI.tsv.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    quoted = {"premise": '"open', "hypothesis": "to", "label": 0}
    assert list(read_nli(tmp_path / "AllNLI.tsv.gz")) == [EXPECTED[0], quoted, EXPECTED[1]]
    assert [pair["label"] for pair in read_nli(tmp_path / "AllNLI.tsv.gz", neutral=2)] == [1, 2, 0]
    (tmp_path / "bad.tsv").write_text("split\tsentence1\tlabel\ntrain\ta\tneutral\n")
    with pytest.raises(ValueError, match=r"bad\.tsv:2: expected texts premise and hypothesis"):
        read_nli(tmp_path / "bad.tsv")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("pairs.xml", "", r"a \.jsonl, \.csv or \.tsv file"),
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
