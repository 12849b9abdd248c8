"""One adapter for encoders and encoder–decoders, against a literal forward of each text on its own."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertModel,
    BlenderbotConfig,
    BlenderbotForConditionalGeneration,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
    T5Config,
    T5EncoderModel,
    T5ForConditionalGeneration,
)

from closeness import assert_same_vectors
from turnlens.encoders.loading import load_encoder
from turnlens.papers.baselines import HuggingFaceModel
from turnlens.papers.generation import generate_candidates

WORDS = ["i", "want", "to", "order", "a", "pizza", "cancel", "my", "card", "flight", "thanks", "please"]
TEXTS = ["i want to order a pizza", "thanks", "", "cancel my card please", "thanks", "a pizza flight zzz"]
ENCODER = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
T5 = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "decoder_start_token_id": 0}
BLENDER = {"d_model": 16, "max_position_embeddings": 24, "encoder_layers": 2, "decoder_layers": 1}
BLENDER |= {
    f"{half}_{what}": size
    for half in ("encoder", "decoder")
    for what, size in (("ffn_dim", 32), ("attention_heads", 2))
}


def save_tokenizer(folder: Path, starts: bool, **limits: int) -> None:
    """Ends every text as models of the kind do, and starts it with a classification token if they do."""
    vocabulary = ["<pad>", "<s>", "</s>", "<unk>", *WORDS]
    tokenizer = Tokenizer(models.WordLevel({word: row for row, word in enumerate(vocabulary)}, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = [("<s>", 1), ("</s>", 2)]
    template = "<s> $A </s>" if starts else "$A </s>"
    tokenizer.post_processor = processors.TemplateProcessing(single=template, special_tokens=special)
    first = {"cls_token": "<s>"} if starts else {}
    named = {"pad_token": "<pad>", "eos_token": "</s>", "sep_token": "</s>", "unk_token": "<unk>", **first}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named, **limits).save_pretrained(folder)


def save_model(kind: str, folder: Path) -> Any:
    """A tiny random model with far-apart hidden states; its literal encoder."""
    torch.manual_seed(0)
    size = {"vocab_size": 4 + len(WORDS), "pad_token_id": 0, "eos_token_id": 2, "bos_token_id": 1}
    if kind == "bert":
        model = BertModel(BertConfig(**ENCODER, **size, max_position_embeddings=24, initializer_range=0.3))
    elif kind == "roberta":
        config = RobertaConfig(**ENCODER, **{**size, "pad_token_id": 1}, max_position_embeddings=26, type_vocab_size=1)
        model = RobertaModel(config, add_pooling_layer=False)
    elif kind == "t5":
        model = T5ForConditionalGeneration(T5Config(**T5, **size))
    elif kind == "t5-encoder":
        model = T5EncoderModel(T5Config(**T5, **size))
    else:
        model = BlenderbotForConditionalGeneration(BlenderbotConfig(**BLENDER, **size))
    model.save_pretrained(folder)
    save_tokenizer(folder, starts=kind in ("bert", "roberta"))
    return model.eval() if kind in ("bert", "roberta") else model.eval().get_encoder()


KINDS = ["bert", "roberta", "t5", "t5-encoder", "blenderbot"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_adapter_is_the_literal_forward(kind: str, tmp_path: Path) -> None:
    encoder = save_model(kind, tmp_path)
    model = HuggingFaceModel(tmp_path, device="cpu")
    assert model.transformer.config.model_type == kind.removesuffix("-encoder")

    def literal(text: str, pooling: str) -> np.ndarray:
        ids = model.tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            hidden = encoder(input_ids=ids).last_hidden_state[0]  # (tokens, dim)
        return (hidden.mean(0) if pooling == "mean" else hidden[0]).numpy()

    vectors = model.fit([]).encode_messages(TEXTS)
    assert vectors.dtype == np.float32
    assert_same_vectors(vectors, np.stack([literal(text, "mean") for text in TEXTS]))
    assert np.array_equal(vectors[1], vectors[4])
    assert np.linalg.norm(vectors[0] - vectors[3]) > 0.01
    assert model.encode_messages([]).shape == (0, 16)
    if kind in ("bert", "roberta"):
        vectors = HuggingFaceModel(tmp_path, "cls", device="cpu").encode_messages(TEXTS)
        assert_same_vectors(vectors, np.stack([literal(text, "cls") for text in TEXTS]))
    else:
        with pytest.raises(ValueError, match="do not start with a classification token: use pooling 'mean'"):
            HuggingFaceModel(tmp_path, "cls", device="cpu")


# RoBERTa starts counting behind the padding token's number; T5's positions are relative.
@pytest.mark.parametrize(("kind", "limit"), [("bert", 24), ("roberta", 24), ("blenderbot", 24), ("t5", 512)])
def test_texts_may_be_as_long_as_there_are_positions(kind: str, limit: int, tmp_path: Path) -> None:
    save_model(kind, tmp_path)
    model = HuggingFaceModel(tmp_path, device="cpu")
    assert model.max_length == limit
    special = 2 if kind in ("bert", "roberta") else 1
    assert model.room == limit - special
    exactly, over = ["pizza " * (model.room - 1) + end for end in ("card", "card flight")]
    full, cut = model.encode_messages([exactly, over])
    assert_same_vectors(full, cut)
    assert model.count_tokens(["i want zzz", "pizza"]) == [3, 1]
    assert HuggingFaceModel(tmp_path, max_length=9, device="cpu").max_length == 9
    save_tokenizer(tmp_path, starts=False, model_max_length=11)
    assert HuggingFaceModel(tmp_path, device="cpu").max_length == 11


def test_code_that_comes_with_a_model_is_not_run(tmp_path: Path) -> None:
    save_model("bert", tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.OwnConfig", "AutoModel": "own.OwnModel"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'was_run')!r}, 'w')")
    for load in (HuggingFaceModel, load_encoder, lambda name: generate_candidates(str(name), ["hello"])):
        with pytest.raises(ValueError, match="cannot load"):
            load(tmp_path)
    assert not (tmp_path / "was_run").exists()


def test_models_that_cannot_be_right_are_refused(tmp_path: Path) -> None:
    save_model("bert", tmp_path)
    with pytest.raises(ValueError, match="pooling must be 'mean' or 'cls', got 'max'"):
        HuggingFaceModel(tmp_path, "max")  # type: ignore[arg-type]
    weights = load_file(tmp_path / "model.safetensors")
    # Without a pooler it is still the same encoder, without a layer's weight it is not.
    fewer = {name: tensor for name, tensor in weights.items() if "pooler" not in name}
    save_file(fewer, tmp_path / "model.safetensors", metadata={"format": "pt"})
    HuggingFaceModel(tmp_path, device="cpu")
    fewer.pop("encoder.layer.1.output.dense.weight")
    save_file(fewer, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(
        ValueError, match=r"lack 1 parameters of the encoder: \['encoder.layer.1.output.dense.weight'\]"
    ):
        HuggingFaceModel(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save(weights, tmp_path / "pytorch_model.bin")
    with pytest.raises(ValueError, match="must be safetensors"):
        HuggingFaceModel(tmp_path)
    with pytest.raises(ValueError, match="cannot load the model"):
        HuggingFaceModel(tmp_path / "nothing")
