"""A training step of each loss of the papers against its literal formula, with the same encoder.

Prints, for each loss, how many times as fast it is, and the peak memory of both:

- DialogueCSE, against encoding each response, its contexts and 9 negatives on their own and building the matching
  matrices of the paper; also the step over the encoder's own forward and backward pass;
- dial2vec, against rows padded to 512 tokens and n x n correlation matrices for both interlocutors, masked by the
  window, multiplied with the embeddings and then pooled, a batch at once;
- C3L, against encoding the three texts of every triple: of a window of 5 that is 6 positive and 12 negative triples, 54
  texts, over slices of similar length. Shorter conversations have fewer windows for each text, and so a smaller ratio;
- adaptation as a masked language model, against logits for every token.

Run: python benchmarks/bench_training.py [--conversations 8] [--repeats 3] [--data FILE]
Data: $TURNLENS_DATA/sgd/train.jsonl.gz if there, else generated conversations.
"""

from __future__ import annotations

import argparse
import math
import random
import resource
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from itertools import combinations
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.functional import cosine_similarity, normalize, pad
from torch.nn.utils.rnn import pad_sequence

import turnlens
from quick import add_quick, data_folder, is_quick, output_of
from turnlens.encoders.forward import encode_sliced, sliced_means
from turnlens.encoders.rendering import make_conversational
from turnlens.papers.adaptation import Adaptation, MaskingCollator, masked_language_model, predicting_masked_only
from turnlens.papers.dial2vec.collator import ConversationCollator
from turnlens.papers.dial2vec.loss import Dial2vecLoss, Dial2vecSettings
from turnlens.papers.dialogue_cse.loss import DialogueCSELoss, DialogueCSESettings
from turnlens.papers.triple_encoders.c3l import C3LLoss, C3LSettings, c3l_targets
from turnlens.papers.triple_encoders.collator import TurnOrderCollator
from turnlens.papers.triple_encoders.views import View, add_views, view_prompt
from turnlens.training.collators import TextCollator
from turnlens.training.encoder_modes import frozen_lower_layers, no_attention_dropout

DATA = data_folder() / "sgd" / "train.jsonl.gz"
LENGTH = 64 if is_quick() else 512  # of a padded row of dial2vec
TURNS, NEGATIVES, RESPONSES_AT_ONCE = 3, 9, 16  # of DialogueCSE
REACH, WINDOW = 10, 5  # of dial2vec and C3L
Features = dict[str, Tensor]
Steps = dict[str, Callable[[], None]]


def without_prefix(batch: Features) -> Features:
    return {name.removeprefix("messages_"): tensor for name, tensor in batch.items()}


def dialogue_cse(rows: Dataset) -> Steps:
    encoder = turnlens.load_encoder(device="cpu").train()
    features = without_prefix(TextCollator(encoder)(list(rows)))
    loss = DialogueCSELoss(encoder, DialogueCSESettings(context_turns=TURNS, temperature=0.1))

    def alone() -> None:
        """Forward, and backward from a given gradient at every token."""
        slices = list(encode_sliced(encoder, features["input_ids"], features["attention_mask"]))
        torch.autograd.backward([piece.tokens for piece in slices], [torch.ones_like(piece.tokens) for piece in slices])

    def ours() -> None:
        loss([features]).backward()

    return {
        "ours": lambda: frozen(encoder, ours),
        "literal": lambda: frozen(encoder, lambda: literal_dialogue_cse(encoder, features)),
        "alone": lambda: frozen(encoder, alone),
    }


def literal_dialogue_cse(encoder: SentenceTransformer, features: Features) -> None:
    """Eq. 1-8 pair by pair; every response, context and negative is encoded where it is used, in batches of texts."""
    conversation, turn_text = features["conversation"], features["turn_text"]
    generator = torch.Generator().manual_seed(0)
    numbers = torch.arange(len(conversation))
    for some in numbers.split(RESPONSES_AT_ONCE):
        groups = []
        for turn in some.tolist():
            around = range(max(0, turn - TURNS), min(len(numbers), turn + TURNS + 1))
            context = [other for other in around if other != turn and conversation[other] == conversation[turn]]
            others = numbers[(conversation != conversation[turn]) & (turn_text != turn_text[turn])]
            negatives = others[torch.randperm(len(others), generator=generator)[:NEGATIVES]].tolist()
            groups.append([[turn, *negatives], context])
        rows = turn_text[[turn for group in groups for part in group for turn in part]]
        tokens: dict[int, Tensor] = {}
        for piece in encode_sliced(encoder, features["input_ids"][rows], features["attention_mask"][rows]):
            for row, matrix, mask in zip(piece.rows.tolist(), piece.tokens, piece.mask):
                tokens[row] = matrix[: int(mask.sum())]
        matrices = iter(tokens[row] for row in range(len(rows)))
        losses = [pair_loss([next(matrices) for _ in of], [next(matrices) for _ in context]) for of, context in groups]
        (torch.stack(losses).sum() / len(numbers)).backward()


def pair_loss(responses: list[Tensor], utterances: list[Tensor]) -> Tensor:
    """The loss of one context with its response (the first) and its negatives."""
    logits = []
    for response in responses:
        refined = [(utterance @ response.T / math.sqrt(response.shape[1])) @ response for utterance in utterances]
        aware = torch.stack([matrix.mean(0) for matrix in refined]).mean(0)
        logits.append(torch.cosine_similarity(aware, response.mean(0), dim=0) / 0.1)
    stacked = torch.stack(logits)
    return stacked.logsumexp(0) - stacked[0]


def dial2vec(rows: Dataset) -> Steps:
    encoder = make_conversational(turnlens.load_encoder(device="cpu"), LENGTH).train()
    collate = ConversationCollator(encoder, rows)
    each = [without_prefix(collate([row])) for row in rows]
    batch = without_prefix(collate(list(rows)))
    loss = Dial2vecLoss(encoder, Dial2vecSettings(REACH, 0.2))

    def ours() -> None:
        for features in each:
            (loss([features]) / len(each)).backward()

    # Attention dropout needs the n x n weights: the recipe learns without it, the published implementation with it.
    return {
        "ours": lambda: frozen(encoder, ours, dropout=False),
        "literal": lambda: frozen(encoder, lambda: literal_dial2vec(encoder, batch)),
    }


def literal_dial2vec(encoder: SentenceTransformer, batch: Features) -> None:
    """Eq. 1-6 as printed."""
    missing = LENGTH - batch["input_ids"].shape[1]
    ids, mask = pad(batch["input_ids"], (0, missing)), pad(batch["attention_mask"], (0, missing))
    speaker, turn = (pad(batch[name], (0, missing), value=-1) for name in ("speaker", "turn"))
    tokens = encoder({"input_ids": ids, "attention_mask": mask})["token_embeddings"]  # (rows, 512, dim)
    near = (turn.unsqueeze(2) - turn.unsqueeze(1)).abs() <= REACH  # (rows, 512, 512)
    first, second = (tokens * (speaker == who).unsqueeze(2) for who in (0, 1))
    logits = []
    for own, other, who in ((first, second, 0), (second, first, 1)):
        cross = (((other @ own.transpose(1, 2)) * near) @ own).mean(1)
        mean = own.sum(1) / (speaker == who).sum(1, keepdim=True).clamp(min=1)
        logits.append(cosine_similarity(mean, cross, dim=1) / 0.2)
    stacked = torch.stack(logits, 1).unflatten(0, (len(batch["speakers"]), -1))  # (dialogues, rows, 2)
    (stacked.logsumexp(1) - stacked[:, 0]).sum(1).mean().backward()


def c3l(rows: Dataset) -> Steps:
    encoder = add_views(turnlens.load_encoder(device="cpu"), "c3l").train()
    features = without_prefix(TurnOrderCollator(encoder, WINDOW)(list(rows)))
    every = [message["content"] for row in rows for message in row["messages"]]
    triples = [literal_triples(encoder, row, every) for row in rows]
    loss = C3LLoss(encoder, C3LSettings(window=WINDOW, negatives=1))

    def literal() -> None:
        """The triples of one conversation after the other, as those of all would not fit in memory."""
        for batch, targets in triples:
            means = sliced_means(encode_sliced(encoder, batch["input_ids"], batch["attention_mask"]))
            first, second, after = normalize(means, dim=1).unflatten(0, (-1, 3)).unbind(1)
            ((cosine_similarity((first + second) / 2, after) - targets) ** 2).mean().backward()

    return {"ours": lambda: loss([features]).backward(), "literal": literal}


def literal_triples(encoder: SentenceTransformer, row: dict[str, Any], every: list[str]) -> tuple[Features, Tensor]:
    """The texts of all triples of a conversation, three after three, and the triples' targets."""
    generator = random.Random(0)
    texts: list[str] = []
    targets: list[float] = []

    def view(name: View, text: str, same: bool = True) -> str:
        return f"{encoder.prompts[view_prompt(encoder, name, same)]}{text}"

    turns = [(message["content"], message["role"]) for message in row["messages"]]
    for start in range(len(turns) - WINDOW + 1):
        *context, (candidate, speaker) = turns[start : start + WINDOW]
        befores = [(text, role == speaker) for text, role in context]
        triples = list(combinations(befores, 2))
        for own in befores:
            others = [(generator.choice(every), own[1]) for _ in range(4)]
            triples += [(own, others[0]), (others[1], own), (others[2], others[3])]
        for first, second in triples:
            texts += [view("before1", *first), view("before2", *second), view("after", candidate)]
        positive = c3l_targets(WINDOW).tolist()
        targets += [*positive, *[0.0] * (len(triples) - len(positive))]
    ids = [torch.tensor(ids) for ids in encoder.tokenizer(texts, truncation=True, max_length=64)["input_ids"]]
    padding = encoder.tokenizer.pad_token_id
    mask = pad_sequence([torch.ones_like(row) for row in ids], batch_first=True)
    ids = pad_sequence(ids, batch_first=True, padding_value=padding)
    return {"input_ids": ids, "attention_mask": mask}, torch.tensor(targets)


def adaptation(rows: Dataset) -> Steps:
    encoder = turnlens.load_encoder(device="cpu")
    model = masked_language_model(encoder).train()
    messages = [{"text": message["content"]} for row in rows for message in row["messages"]]
    batches = [MaskingCollator(encoder, Adaptation())(messages[i : i + 50]) for i in range(0, len(messages), 50)]

    def literal() -> None:
        for batch in batches:
            (model(**batch).loss / len(batches)).backward()

    def ours() -> None:
        with predicting_masked_only(model):
            literal()

    return {"ours": ours, "literal": literal}


def frozen(encoder: SentenceTransformer, step: Callable[[], None], dropout: bool = True) -> None:
    """Take a step with the lower three layers frozen."""
    with frozen_lower_layers(encoder, 3), nullcontext() if dropout else no_attention_dropout(encoder):
        step()


LOSSES = {"DialogueCSE": dialogue_cse, "dial2vec": dial2vec, "C3L": c3l, "adaptation": adaptation}


def measure(options: argparse.Namespace) -> None:
    """One kind of step in this process: its median seconds, and the megabytes at the peak."""
    corpus = turnlens.read_conversations(options.data) if options.data.is_file() else turnlens.sample_conversations(500)
    merged = turnlens.data.merge_consecutive_messages(corpus)
    rows = turnlens.data.keep_long_enough(merged, min_turns=WINDOW).shuffle(seed=0).select(range(options.conversations))
    step = LOSSES[options.measure[0]](rows)[options.measure[1]]
    times = []
    for _ in range(options.repeats):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    print(statistics.median(times), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--conversations", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    add_quick(parser, conversations=2, repeats=1)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options)
        return
    sizes = ("--conversations", str(options.conversations), "--repeats", str(options.repeats))
    given = ("--data", str(options.data), *sizes, "--measure")
    for loss in LOSSES:
        kinds = ("ours", "literal", "alone") if loss == "DialogueCSE" else ("ours", "literal")
        printed = {kind: output_of(__file__, *given, loss, kind, quick=options.quick).split() for kind in kinds}
        seconds, peaks = ({kind: float(of[place]) for kind, of in printed.items()} for place in (-2, -1))
        beside = f"; {seconds['ours'] / seconds['alone']:.2f} x the encoder alone" if "alone" in seconds else ""
        print(
            f"{loss}: {seconds['ours']:.2f} s a step against {seconds['literal']:.2f} s literal, ratio "
            f"{seconds['literal'] / seconds['ours']:.1f}; peak memory {peaks['ours']:.0f} against "
            f"{peaks['literal']:.0f} MB, ratio {peaks['ours'] / peaks['literal']:.2f}{beside}",
            flush=True,
        )


if __name__ == "__main__":
    main()
