import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models

from turnlens.encoders.messages import encode_messages
from turnlens.encoders.vector_cache import VectorCache, forget_vectors
from turnlens.papers.triple_encoders.views import add_views, encode_view


class Counting:
    """Embeds a text as its length, and remembers what it was asked."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, texts: list[str]) -> np.ndarray:
        self.seen += texts
        return np.array([[len(text), 1] for text in texts], dtype=np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some folder" / "vectors.sqlite"


def test_a_text_is_embedded_once_ever(tiny_encoder, path) -> None:
    embed = Counting()
    first = VectorCache(tiny_encoder, path).embed(embed, ["a", "bcd", ""])
    again = VectorCache(tiny_encoder, path).embed(embed, ["bcd", "new", "a"])
    np.testing.assert_array_equal(first, [[1, 1], [3, 1], [0, 1]])
    np.testing.assert_array_equal(again, [[3, 1], [3, 1], [1, 1]])
    assert again.dtype == np.float32 and embed.seen == ["a", "bcd", "", "new"]
    assert b"bcd" not in path.read_bytes()  # hashes only


def test_utterances_are_the_same_with_and_without(tiny_encoder, path, monkeypatch) -> None:
    texts = ["hello", "my card", "hello", *(f"order {number}" for number in range(1500))]
    expected = encode_messages(tiny_encoder, texts)
    cache = VectorCache(tiny_encoder, path)
    np.testing.assert_array_equal(encode_messages(tiny_encoder, texts, cache=cache), expected)
    monkeypatch.setattr(tiny_encoder, "preprocess", None)  # nothing is embedded
    np.testing.assert_array_equal(encode_messages(tiny_encoder, texts[::-1], cache=cache), expected[::-1])


def longer(encoder: SentenceTransformer) -> None:
    encoder.max_seq_length = 5


def cut_left(encoder: SentenceTransformer) -> None:
    encoder.tokenizer.truncation_side = "left"


def trained(encoder: SentenceTransformer) -> None:
    encoder.transformers_model.get_input_embeddings().weight.data[7] += 1


@pytest.mark.parametrize(
    "change",
    [longer, cut_left, trained, lambda e: e.append(Normalize()), lambda e: e.tokenizer.add_tokens(["[NEW]"])],
)
def test_another_encoder_has_its_own_vectors(tiny_encoder, path, change) -> None:
    embed = Counting()
    VectorCache(tiny_encoder, path).embed(embed, ["a"])
    encode_messages(tiny_encoder, ["a", "a longer one"])  # what a tokenizer keeps of its last call does not count
    VectorCache(tiny_encoder, path).embed(embed, ["a"])
    assert embed.seen == ["a"]
    change(tiny_encoder)
    VectorCache(tiny_encoder, path).embed(embed, ["a"])
    assert embed.seen == ["a", "a"]


def test_prompts_and_precision_count(tiny_encoder, path) -> None:
    add_views(tiny_encoder, "ccl")
    cache = VectorCache(tiny_encoder, path)
    plain = encode_messages(tiny_encoder, ["hello"], cache=cache)
    after = encode_messages(tiny_encoder, ["hello"], prompt_name="after", cache=cache)
    half = encode_messages(tiny_encoder, ["hello"], dtype="bfloat16", cache=cache)
    np.testing.assert_array_equal(after, encode_view(tiny_encoder, ["hello"], "after"))
    assert not np.allclose(plain, after, atol=1e-3) and not np.array_equal(plain, half)


def test_the_file_stays_bounded_and_keeps_the_newest(tiny_encoder, path) -> None:
    cache, embed = VectorCache(tiny_encoder, path, max_bytes=200_000), Counting()
    batches = [[f"{batch} {number}" for number in range(500)] for batch in range(20)]
    for texts in batches:
        cache.embed(embed, texts)
    assert path.stat().st_size < 400_000
    embed.seen.clear()
    cache.embed(embed, batches[-1])
    assert not embed.seen
    cache.embed(embed, batches[0])
    assert embed.seen == batches[0]


def test_many_may_write_at_once(tiny_encoder, path) -> None:
    def fill(number: int) -> None:
        cache = VectorCache(tiny_encoder, path)
        for start in range(0, 200, 20):
            vectors = cache.embed(Counting(), [f"{'x' * text}" for text in range(start, start + 20 + number)])
            np.testing.assert_array_equal(vectors[:, 0], range(start, start + 20 + number))

    threads = [threading.Thread(target=fill, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with sqlite3.connect(path) as file:
        assert file.execute("SELECT count(*) FROM vectors").fetchone() == (203,)


def test_a_writer_killed_in_the_middle_leaves_whole_vectors(tiny_encoder, path) -> None:
    VectorCache(tiny_encoder, path).embed(Counting(), ["there"])
    script = (
        "import os, sqlite3, sys\n"
        "file = sqlite3.connect(sys.argv[1])\n"
        "file.execute('PRAGMA cache_size = 10')\n"  # so that unfinished pages reach the disk
        "for row in range(5000): file.execute('INSERT INTO vectors VALUES (?, ?)', (str(row).encode(), bytes(400)))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == -9
    embed = Counting()
    VectorCache(tiny_encoder, path).embed(embed, ["there", "new"])
    assert embed.seen == ["new"]
    with sqlite3.connect(path) as file:
        assert file.execute("SELECT count(*) FROM vectors").fetchone() == (2,)


@pytest.mark.parametrize("damage", ["garbage", "folder"])
def test_a_damaged_cache_warns_and_embeds_everything(tiny_encoder, path, damage, caplog) -> None:
    path.parent.mkdir()
    if damage == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"not a database " * 100)
    cache, embed = VectorCache(tiny_encoder, path), Counting()
    for _ in range(2):
        np.testing.assert_array_equal(cache.embed(embed, ["a", "bc"]), [[1, 1], [2, 1]])
    assert embed.seen == ["a", "bc", "a", "bc"]
    assert len(caplog.records) == 1 and "if the file is damaged, delete it" in caplog.text


def test_what_is_not_finite_is_not_kept(tiny_encoder, path) -> None:
    cache, embed = VectorCache(tiny_encoder, path), Counting()
    assert np.isnan(cache.embed(lambda texts: np.full((len(texts), 2), np.nan, np.float32), ["a"])).all()
    np.testing.assert_array_equal(cache.embed(embed, ["a"]), [[1, 1]])


def test_static_vectors_are_not_kept(path) -> None:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    encoder = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=4)], device="cpu")
    with pytest.raises(ValueError, match="embed without a cache"):
        VectorCache(encoder, path)


def test_all_vectors_are_forgotten(tiny_encoder, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path)
    path = tmp_path / "turnlens-vectors.sqlite"
    assert forget_vectors() == path and not path.exists()
    cache = VectorCache(tiny_encoder)
    vector = cache.embed(lambda texts: np.full((len(texts), 4), np.pi, np.float32), ["a"])[0].tobytes()
    assert vector in path.read_bytes()
    forget_vectors()
    assert vector not in path.read_bytes()
    embed = Counting()
    cache.embed(embed, ["a"])  # whoever has it open goes on
    assert embed.seen == ["a"]
    path.write_bytes(b"no database")
    forget_vectors()
    assert not path.exists()
