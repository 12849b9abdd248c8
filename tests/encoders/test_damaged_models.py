"""Damaged encoders are refused with one sentence, whoever loads them; intact ones load as they always did."""

import copy
import json
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding
from torch import Tensor
from transformers import PreTrainedModel
from typer.testing import CliRunner

import turnlens
from closeness import assert_same_vectors
from turnlens.cli.main import app
from turnlens.encoders.onnx_encoder import OnnxEncoder
from turnlens.encoders.reply_head import ReplyHead
from turnlens.errors import TokenizerError

Damage = Callable[[Path], object]

WORDS, POSITIONS = "embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"
QUERY = "encoder.layer.1.attention.self.query.weight"


def weights(change: Callable[[dict[str, Tensor]], Mapping[str, Tensor]], file: str = "model.safetensors") -> Damage:
    def damage(folder: Path) -> None:
        tensors = change(load_file(folder / file))
        save_file({name: tensor.clone() for name, tensor in tensors.items()}, folder / file, {"format": "pt"})

    return damage


def without(*parts: str) -> Damage:
    return weights(lambda tensors: {name: t for name, t in tensors.items() if not any(part in name for part in parts)})


def number(name: str, value: float) -> Damage:
    def put(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        tensors[name].view(-1)[3] = value
        return tensors

    return weights(put)


def settings(file: str = "config.json", **changes: Any) -> Damage:
    def damage(folder: Path) -> None:
        (folder / file).write_text(json.dumps(json.loads((folder / file).read_text()) | changes))

    return damage


def without_tokenizer(folder: Path) -> None:
    for file in folder.glob("tokenizer*"):
        file.unlink()


def vocabulary(change: Callable[[dict[str, int]], dict[str, int]]) -> Damage:
    def damage(folder: Path) -> None:
        tokenizer = json.loads((folder / "tokenizer.json").read_text())
        tokenizer["model"]["vocab"] = change(tokenizer["model"]["vocab"])
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))

    return damage


def shuffled(vocab: dict[str, int]) -> dict[str, int]:
    return dict(zip(vocab, [*list(vocab.values())[:5], *list(vocab.values())[:4:-1]]))


def flipped_bit(folder: Path) -> None:
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[-5] ^= 1
    (folder / "model.safetensors").write_bytes(data)


def cut_off(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:1000])


# Name -> the damage, and words of the sentence that refuses it.
DAMAGED: dict[str, tuple[Damage, str]] = {
    "no word embeddings": (without(WORDS), f"1 tensor ({WORDS}) is missing"),
    "no position embeddings": (without(POSITIONS), f"1 tensor ({POSITIONS}) is missing"),
    "no token types": (without("token_type"), "1 tensor (embeddings.token_type_embeddings.weight) is missing"),
    "no layer 2": (without("encoder.layer.2."), "16 tensors (encoder.layer.2.attention.output.LayerNorm.bias, "),
    "no last layers": (without("encoder.layer.2.", "encoder.layer.3."), "32 tensors"),
    "no LayerNorms": (without("LayerNorm"), "18 tensors (embeddings.LayerNorm.bias, "),
    "no biases": (without(".bias"), "are missing"),
    "no tensors": (without("."), "are missing"),
    "tensors under other names": (weights(lambda all_: {f"other.{key}": t for key, t in all_.items()}), "are missing"),
    "NaN": (number(WORDS, float("nan")), f"1 tensor (0.model.{WORDS}) is not finite"),
    "infinite": (number(QUERY, float("inf")), f"1 tensor (0.model.{QUERY}) is not finite"),
    "words cut off": (weights(lambda all_: all_ | {WORDS: all_[WORDS][:40].clone()}), f"({WORDS} (40, 32) for ("),
    "matrix of vectors": (
        weights(lambda all_: all_ | {QUERY: all_[QUERY][0].clone()}),
        f"{QUERY} (32,) for (32, 32)",
    ),
    "more weights than layers": (
        weights(lambda all_: all_ | {QUERY.replace("1", "9"): all_[QUERY]}),
        f"1 tensor ({QUERY.replace('1', '9')}) is not described by its config.json",
    ),
    "half of the layers": (settings(num_hidden_layers=2), "32 tensors (encoder.layer.2."),
    "more layers": (settings(num_hidden_layers=8), "64 tensors (encoder.layer.4."),
    "a million layers": (settings(num_hidden_layers=10**6), "num_hidden_layers in its config.json is 1,000,000"),
    "huge vocabulary": (settings(vocab_size=10**12), "vocab_size in its config.json is 1,000,000,000,000"),
    "huge table of positions": (settings(max_position_embeddings=10**9), "max_position_embeddings in its config.json"),
    "other width": (settings(hidden_size=48), "are of another shape than in its config.json"),
    "no tokenizer": (without_tokenizer, "its tokenizer has no words"),
    "tokenizer of another model": (
        vocabulary(lambda all_: all_ | {f"w{row}": row for row in range(100, 300)}),
        "its tokenizer has 280 words",
    ),
    "shuffled tokenizer": (vocabulary(shuffled), "1 file (tokenizer.json) is changed since it was saved"),
}
LENGTHS, DENSE = "sentence_bert_config.json", "2_Dense/model.safetensors"
FURTHER: dict[str, tuple[Damage, str]] = {
    "half a file": (cut_off, "Give the folder of a saved encoder"),
    "words of zeros": (
        weights(lambda all_: all_ | {WORDS: 0 * all_[WORDS]}),
        f"1 tensor (0.model.{WORDS}) is all zero",
    ),
    "no tokens are read": (settings(LENGTHS, max_seq_length=0), f"max_seq_length in its {LENGTHS} is 0, expected"),
    "length as text": (settings(LENGTHS, max_seq_length="64"), f"max_seq_length in its {LENGTHS} is '64'"),
    "layer of another width": (
        weights(lambda all_: all_ | {"linear.weight": torch.ones(8, 16)}, DENSE),
        "linear.weight",
    ),
    "layer of other outputs": (weights(lambda _: {"linear.weight": torch.ones(5, 32)}, DENSE), "linear."),
    "layer without bias": (weights(lambda all_: {"linear.weight": all_["linear.weight"]}, DENSE), "linear.bias"),
    "layer with more": (weights(lambda all_: all_ | {"x": torch.ones(2)}, DENSE), "x"),
}
# Shapes and names do not show these: only checksums do, which turnlens writes beside what it saves.
BY_CHECKSUM: dict[str, tuple[Damage, str]] = {
    "shuffled tokenizer": DAMAGED["shuffled tokenizer"],
    "a flipped bit": (flipped_bit, "1 file (model.safetensors) is changed since it was saved"),
    "another setting": (settings(layer_norm_eps=0.1), "1 file (config.json) is changed since it was saved"),
    "another pooling": (settings("1_Pooling/config.json", pooling_mode="cls"), "1 file (1_Pooling/config.json) is"),
    "no reply head": (
        lambda folder: (folder / "reply_head.safetensors").unlink(),
        "1 file (reply_head.safetensors) is",
    ),
    "damaged checksums": (lambda folder: [*map((folder / "checksums.json").write_text, "[")], "checksums.json is"),
}


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    path = tmp_path / "chats.jsonl"
    path.write_text(json.dumps({"id": "1", "messages": [{"role": "a", "content": "my card is gone"}]}) + "\n")
    return path


@pytest.fixture
def saved_by_turnlens(tiny_encoder_path: Path, tmp_path: Path) -> Path:
    encoder = turnlens.load_encoder(tiny_encoder_path, device="cpu")
    encoder.reply_head = ReplyHead(32, turns=3)
    encoder.save_pretrained(str(tmp_path / "ours"), create_model_card=False)
    return tmp_path / "ours"


def copies(source: Path, place: Path) -> Iterator[tuple[str, Path, str]]:
    """Each of the table of damaged models, always in the same folder."""
    for name, (damage, told) in DAMAGED.items():
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(source, place)
        if name not in BY_CHECKSUM:
            (place / "checksums.json").unlink()
        damage(place)
        yield name, place, told


def test_twenty_three_damaged_models_are_refused(saved_by_turnlens: Path, tmp_path: Path) -> None:
    assert len(DAMAGED) == 23
    for name, folder, told in copies(saved_by_turnlens, tmp_path / "model"):
        for device in (None, "cpu"):  # without torch, and with it
            started = time.process_time()
            with pytest.raises(ValueError, match=r"cannot load the encoder '.*model': ") as error:
                turnlens.load_encoder(folder, device=device)
            assert told in str(error.value) and "\n" not in str(error.value), name
            assert "again" in str(error.value) and len(str(error.value)) < 500, name
            assert time.process_time() - started < 5, name


def test_commands_refuse_each_damaged_model(saved_by_turnlens: Path, chats: Path, tmp_path: Path) -> None:
    for name, folder, told in copies(saved_by_turnlens, tmp_path / "model"):
        output = tmp_path / "vectors.parquet"
        result = CliRunner().invoke(app, ["embed", str(chats), "--model", str(folder), "--output", str(output)])
        assert result.exit_code == 1 and not output.exists(), name
        assert "".join(told.split()) in "".join(result.output.split()), name  # lines are wrapped
        assert "Traceback" not in result.output, name


def test_changed_files_are_refused_by_their_checksums(saved_by_turnlens: Path, tmp_path: Path) -> None:
    for name, (damage, told) in BY_CHECKSUM.items():
        folder = Path(shutil.copytree(saved_by_turnlens, tmp_path / name))
        damage(folder)
        for device in (None, "cpu"):
            with pytest.raises(ValueError, match="cannot load the encoder") as error:
                turnlens.load_encoder(folder, device=device)
            assert told in str(error.value), name
    (tmp_path / "another setting" / "checksums.json").unlink()  # as the sentence says, where it was on purpose
    turnlens.load_encoder(tmp_path / "another setting", device="cpu")


def test_files_beside_a_model_may_change(saved_by_turnlens: Path) -> None:
    for file in ("README.md", "training.json", "notes.txt"):
        (saved_by_turnlens / file).write_text("{}")
    assert turnlens.load_encoder(saved_by_turnlens, device="cpu").reply_head is not None


def test_intact_models_of_all_kinds_load(tiny_encoder_path: Path, tmp_path: Path) -> None:
    stock = SentenceTransformer(str(tiny_encoder_path), device="cpu")
    expected = stock.encode(["my card is gone"])
    heads = {"cls.predictions.bias": torch.zeros(3), "embeddings.position_ids": torch.arange(64)[None]}
    harmless: dict[str, Damage] = {
        "as it is": lambda folder: None,
        "heads of other tasks": weights(lambda all_: all_ | heads),
        "no pooler": without("pooler"),
        "names of a model with heads": weights(lambda all_: {f"bert.{key}": tensor for key, tensor in all_.items()}),
    }
    for name, change in harmless.items():
        folder = Path(shutil.copytree(tiny_encoder_path, tmp_path / name))
        change(folder)
        np.testing.assert_array_equal(turnlens.load_encoder(folder, device="cpu").encode(["my card is gone"]), expected)
        assert_same_vectors(OnnxEncoder.load(folder, name).encode_messages(["my card is gone"]), expected)
    dense = SentenceTransformer(modules=[stock[0], Pooling(32, "mean"), Dense(32, 8), Normalize()], device="cpu")
    static = SentenceTransformer(modules=[StaticEmbedding(stock.tokenizer.backend_tokenizer, embedding_dim=8)])
    half = SentenceTransformer(modules=[copy.deepcopy(stock[0]).bfloat16(), Pooling(32, "mean")], device="cpu")
    for row, encoder in enumerate((dense, static, half)):
        encoder.save_pretrained(str(tmp_path / f"{row}"), create_model_card=False)
        loaded = turnlens.load_encoder(tmp_path / f"{row}", device="cpu")
        np.testing.assert_array_equal(loaded.encode(["my card"]), encoder.encode(["my card"]))


def test_other_modules_than_transformers_are_checked(tiny_encoder_path: Path, tmp_path: Path) -> None:
    stock = SentenceTransformer(str(tiny_encoder_path), device="cpu")
    dense, tokenizer = Dense(32, 8), stock.tokenizer.backend_tokenizer
    static, small = StaticEmbedding(tokenizer, embedding_dim=8), StaticEmbedding(tokenizer, torch.zeros(10, 8))
    with torch.no_grad():
        dense.linear.weight[0, 0] = float("nan")
        static.embedding.weight[3, 0] = float("inf")
    for modules, told in (
        ([stock[0], Pooling(32, "mean"), dense], "1 tensor (2.linear.weight) is not finite"),
        ([static], "1 tensor (0.embedding.weight) is not finite"),
        ([small], "words, its table of them 10 rows"),
    ):
        SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(tmp_path), create_model_card=False)
        with pytest.raises(ValueError, match=re.escape(told)):
            turnlens.load_encoder(tmp_path, device="cpu")


def test_layers_lengths_and_words_are_checked_too(tiny_encoder_path: Path, tmp_path: Path) -> None:
    stock = SentenceTransformer(str(tiny_encoder_path), device="cpu")
    dense = SentenceTransformer(modules=[stock[0], Pooling(32, "mean"), Dense(32, 8), Normalize()], device="cpu")
    dense.save_pretrained(str(tmp_path / "dense"), create_model_card=False)
    for name, (damage, told) in FURTHER.items():
        folder = Path(shutil.copytree(tmp_path / "dense", tmp_path / name))
        damage(folder)
        for device in (None, "cpu"):
            with pytest.raises(ValueError, match="cannot load the encoder") as error:
                turnlens.load_encoder(folder, device=device)
            assert told in str(error.value), name


def test_a_tokenizer_written_again_by_a_trainer_still_loads(tiny_encoder_path: Path, tmp_path: Path) -> None:
    encoder = turnlens.load_encoder(tiny_encoder_path, device="cpu")
    encoder.save_pretrained(str(tmp_path))
    saved = (tmp_path / "tokenizer.json").read_bytes()
    encoder.tokenizer(["my card", "my card is gone"], padding=True, truncation=True, max_length=8)
    encoder.tokenizer.save_pretrained(str(tmp_path))
    assert (tmp_path / "tokenizer.json").read_bytes() != saved
    np.testing.assert_array_equal(
        turnlens.load_encoder(tmp_path, device="cpu").encode("my card"), encoder.encode("my card")
    )


def test_encoders_may_be_loaded_by_several_threads(tiny_encoder_path: Path) -> None:
    load = PreTrainedModel.from_pretrained
    with ThreadPoolExecutor(4) as pool:
        loaded = list(
            pool.map(lambda _: turnlens.load_encoder(tiny_encoder_path, device="cpu").encode("card"), range(4))
        )
    assert all(np.array_equal(vector, loaded[0]) for vector in loaded)
    assert PreTrainedModel.from_pretrained == load  # what the check puts in its place is taken back


def test_ids_beyond_the_table_are_told(tiny_encoder_path: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_encoder_path, tmp_path / "encoder")
    vocabulary(lambda words: words | {"card": 5000})(folder)
    (folder / "checksums.json").unlink(missing_ok=True)
    encoder = turnlens.load_encoder(folder, device="cpu")
    assert encoder.encode(["my order"]).shape == (1, 32)
    with pytest.raises(TokenizerError, match="the token id 5,000, but the encoder's table ends at"):
        encoder.encode(["my card"])
