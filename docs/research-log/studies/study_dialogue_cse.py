"""DialogueCSE and SiameseBERT differ in a few choices: each one is changed alone, all else equal.

``python study_dialogue_cse.py e5q rows.jsonl results.jsonl``: each line of the first file has the settings of a row
that differ from those of DialogueCSE, see `Row`; ``{"matched": false, "network": true, "cosine": false,
"context": "joined"}`` is SiameseBERT_M. Rows with a result are left out. The lower layers are frozen; what they make of
a text is computed once for all rows. ``python study_dialogue_cse.py e5q ecd`` tells of the untouched encoder's scores,
``python study_dialogue_cse.py sentence-transformers/all-MiniLM-L6-v2 sgd`` of those of the other corpus.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize
from transformers import set_seed

from turnlens import read_conversations
from turnlens.encoders.forward import TokenSlice, slice_rows, sliced_means, take
from turnlens.encoders.loading import load_sentence_transformer
from turnlens.encoders.transformer import transformer_of
from turnlens.evaluation.semantic_retrieval import build_retrieval_task, evaluate_retrieval
from turnlens.papers.baselines.dual_encoders import SiameseLoss, SiameseSettings
from turnlens.papers.dialogue_cse.dialogue_sts import evaluate_sts, read_sts_task
from turnlens.papers.dialogue_cse.loss import DialogueCSELoss, DialogueCSESettings, context_turns_of
from turnlens.papers.dialogue_cse.recipe import DialogueCSE, PublishedDialogueCSE
from turnlens.papers.in_batch import JoinedContextCollator
from turnlens.papers.released_files import read_retrieval_task
from turnlens.training.collators import TextCollator
from turnlens.training.losses.in_batch import Turns, among, cross_entropy
from turnlens.training.recipes.base import clean

DATA = Path(os.environ["TURNLENS_DATA"])
torch.set_num_threads(1)


@dataclass(frozen=True)
class Row:
    """Everything from DialogueCSE (the defaults) to SiameseBERT.

    Attributes:
        context: The vector of a context is the mean of the turns ``"around"`` a response or ``"before"`` it, or that of
            the turns before it ``"joined"`` into one text.
        context_turns: As many turns; around: on each side.
        matched: The context's vector is first matched with the tokens of the response.
        network: The mean token of the response passes a network of two layers.
        cosine: Similarity is the cosine divided by the temperature, else the inner product.
        temperature: Divides similarities; 1 for the inner product of SiameseBERT.
        detached: Where no gradient flows: the ``"weights"`` of the matching, or the ``"tokens"`` that they weigh.
        centred: The mean over all tokens of the batch is taken away first.
        released: Responses and negatives are those released with the corpus, as many as ``negatives``.
        frozen: As many of the lowest layers do not learn.
        adapted: A folder with other weights of the same encoder, to start from.
        turns: No more turns of a conversation than this.
        part: What to measure on, ``"both"`` the development part and the test part.
    """

    context: Literal["around", "before", "joined"] = "around"
    context_turns: int = 3
    matched: bool = True
    network: bool = False
    cosine: bool = True
    temperature: float | None = None
    detached: Literal["nothing", "weights", "tokens"] = "nothing"
    centred: bool = False
    released: bool = False
    negatives: int | Literal["batch"] = "batch"
    frozen: int = 8
    adapted: str = ""
    learning_rate: float = 1e-4
    batch_size: int = 4
    steps: int = 60
    max_length: int = 50
    seed: int = 0
    data: Literal["ecd", "sgd"] = "ecd"
    turns: int = 100
    part: Literal["dev", "test", "both"] = "dev"


class Given(nn.Module):
    """Stands in for the embeddings of a transformer that is given the output of its lower layers."""

    def forward(self, inputs_embeds: Tensor, **_: Any) -> Tensor:
        return inputs_embeds


class Halves:
    """An encoder, cut in two: lower layers, whose outputs are kept, and upper layers, which learn."""

    def __init__(self, encoder: Any, frozen: int) -> None:
        self.encoder = encoder
        whole = transformer_of(encoder).float().eval()
        layers, whole.encoder.layer = whole.encoder.layer, nn.ModuleList()
        self.lower, self.upper = copy.deepcopy(whole), copy.deepcopy(whole)
        self.lower.encoder.layer, self.upper.encoder.layer = layers[:frozen], layers[frozen:]
        self.upper.embeddings = Given()
        self.untouched = copy.deepcopy(self.upper.state_dict())
        self.kept: dict[bytes, np.ndarray] = {}

    def hidden(self, ids: list[Tensor]) -> list[Tensor]:
        """The outputs of the lower layers for each text."""
        keys = [row.numpy().astype(np.int32).tobytes() for row in ids]
        new = {key: row for key, row in zip(keys, ids) if key not in self.kept}
        rows, lengths = list(new.values()), torch.tensor([len(row) for row in new.values()])
        order = lengths.argsort(stable=True) if rows else lengths
        for numbers in slice_rows(order, lengths[order].tolist(), 2048) if rows else []:
            mask = torch.arange(int(lengths[numbers].max())) < lengths[numbers, None]
            padded = nn.utils.rnn.pad_sequence([rows[int(n)] for n in numbers], batch_first=True)
            with torch.no_grad():
                made = self.lower(input_ids=padded, attention_mask=mask.long()).last_hidden_state
            for number, row in zip(numbers.tolist(), made):
                self.kept[list(new)[number]] = row[: lengths[number]].half().numpy()
        return [torch.from_numpy(self.kept[key]).float() for key in keys]

    def slices(self, ids: list[Tensor]) -> list[TokenSlice]:
        """The token embeddings of texts, with gradients of the upper layers."""
        hidden, lengths = self.hidden(ids), torch.tensor([len(row) for row in ids])
        order, slices = lengths.argsort(stable=True), []
        for rows in slice_rows(order, lengths[order].tolist(), 2048):
            mask = (torch.arange(int(lengths[rows].max())) < lengths[rows, None]).float()
            given = nn.utils.rnn.pad_sequence([hidden[int(row)] for row in rows], batch_first=True)
            tokens = self.upper(inputs_embeds=given, attention_mask=mask.long()).last_hidden_state
            slices.append(TokenSlice(rows, tokens * mask.unsqueeze(-1), mask))
        return slices

    def encode(self, texts: list[str]) -> np.ndarray:
        """Vectors of texts, as the whole encoder makes them."""
        self.upper.eval()
        ids = TextCollator(self.encoder, 512).tokenize(list(texts), 512)
        with torch.no_grad():
            made = [sliced_means(self.slices(ids[start : start + 256])) for start in range(0, len(ids), 256)]
        return torch.cat(made).numpy()


def logits_of(
    row: Row, slices: list[TokenSlice], network: nn.Module, batch: dict[str, Tensor]
) -> tuple[Tensor, Tensor]:
    """The logits of the candidates of each response, and the column of the response itself."""
    conversation, turn_text = batch["conversation"], batch["turn_text"]
    if row.centred:
        mean = sum(piece.tokens.sum((0, 1)) for piece in slices) / sum(piece.mask.sum() for piece in slices)
        slices = [TokenSlice(p.rows, (p.tokens - mean) * p.mask.unsqueeze(-1), p.mask) for p in slices]
    means = sliced_means(slices)  # (texts, dim)
    if row.context == "joined":
        contexts, present = take(means, batch["context_text"]), batch["context_text"] >= 0
    else:
        numbers = context_turns_of(conversation, row.context_turns)
        numbers = numbers[:, : row.context_turns] if row.context == "before" else numbers
        there = (numbers >= 0).float()
        contexts = (take(take(means, turn_text), numbers) * there.unsqueeze(-1)).sum(1)
        contexts, present = contexts / there.sum(1, keepdim=True).clamp(min=1), there.any(1)
    free = network(means)
    scores = torch.cat([similarities(row, piece, free[piece.rows], contexts) for piece in slices], dim=1)
    scores = scores[:, torch.cat([piece.rows for piece in slices]).argsort()]  # (turns, texts)
    if "negative_text" in batch:
        rows = (present & (batch["negative_text"][:, 0] >= 0)).nonzero().squeeze(1)
        candidates = torch.cat([turn_text[:, None], batch["negative_text"]], dim=1)[rows]
        return scores[rows].gather(1, candidates), torch.zeros_like(rows)
    rows = present.nonzero().squeeze(1)
    turns = Turns.gather(conversation, batch["text_key"])
    return among(scores[rows][:, turn_text], turns.candidates(rows, row.negatives)), rows


def similarities(row: Row, responses: TokenSlice, free: Tensor, contexts: Tensor) -> Tensor:
    """Similarities of contexts and responses, divided by the temperature (contexts, responses)."""
    temperature = row.temperature or (0.1 if row.cosine else 1.0)
    aware = contexts[:, None].expand(-1, len(free), -1)
    if row.matched:
        weights = torch.einsum("rnd,cd->crn", responses.tokens, contexts)
        weights = weights.detach() if row.detached == "weights" else weights
        tokens = responses.tokens.detach() if row.detached == "tokens" else responses.tokens
        aware = torch.einsum("crn,rnd->crd", weights, tokens) / free.shape[1] ** 0.5
    if row.cosine:
        aware, free = normalize(aware, dim=2), normalize(free, dim=1)
    return torch.einsum("crd,rd->cr", aware, free) / temperature


def network_of(row: Row, dim: int) -> nn.Module:
    """The response network of SiameseBERT, or none."""
    return nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim)) if row.network else nn.Identity()


class Study:
    """The data, and an encoder cut in two for each number of frozen layers."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.halves: dict[tuple[str, int], Halves] = {}
        self.data: dict[tuple[str, int], Any] = {}

    def batches(self, row: Row, encoder: Any) -> tuple[Any, Any]:
        """The rows to learn from, and the collator."""
        if (row.data, row.turns) not in self.data:
            source = "ecd/train/train_data.txt.sample" if row.data == "ecd" else "sgd/train.jsonl.gz"
            read = read_conversations(DATA / source, **({"format": "ecd"} if row.data == "ecd" else {}))
            cut = clean(read.select(range(1000)), DialogueCSE())[0]
            cut = cut.map(lambda given: {"messages": given["messages"][: row.turns]})
            self.data[row.data, row.turns] = cut
        conversations = self.data[row.data, row.turns]
        if row.released:
            published = PublishedDialogueCSE(negatives=row.negatives, max_length=row.max_length, seed=row.seed)
            made = published.inputs(encoder, conversations)
            return made["train_dataset"], made["data_collator"]
        if row.context == "joined":
            return conversations, JoinedContextCollator(encoder, row.max_length, row.context_turns)
        return conversations, TextCollator(encoder, row.max_length)

    def run(self, row: Row) -> dict[str, Any]:
        """Train and measure."""
        at = row.adapted or self.folder, row.frozen
        if at not in self.halves:
            self.halves.clear()  # of memory
            self.halves[at] = Halves(load_sentence_transformer(at[0], device="cpu"), row.frozen)
        halves, start = self.halves[at], time.process_time()
        halves.upper.load_state_dict(halves.untouched)
        rows, collate = self.batches(row, halves.encoder)
        set_seed(row.seed)
        network = network_of(row, 384)
        order = np.concatenate([np.random.default_rng(row.seed + n).permutation(len(rows)) for n in range(20)])

        def forward(numbers: Any) -> tuple[Tensor, Tensor]:
            made = collate([rows[int(number)] for number in numbers])
            batch = {name.removeprefix("messages_"): tensor for name, tensor in made.items()}
            ids = [ids[: int(mask.sum())] for ids, mask in zip(batch["input_ids"], batch["attention_mask"])]
            return logits_of(row, halves.slices(ids), network, batch)

        def figures() -> dict[str, float]:
            """The share of responses that come first, the loss, and the deviation of logits over candidates."""
            halves.upper.eval()
            first, losses, spread = [], [], []
            with torch.no_grad():
                for place in range(5):
                    logits, positive = forward(order[-(place + 1) * row.batch_size :][: row.batch_size])
                    first += (logits.argmax(1) == positive).tolist()
                    losses += cross_entropy(logits, positive).tolist()
                    spread += [line[line > -1e8].std().item() for line in logits]
            return {"first": 100 * np.mean(first), "loss": np.mean(losses), "spread": np.mean(spread)}

        report: dict[str, Any] = {"before": figures()}
        learning = [*halves.upper.parameters(), *network.parameters()]
        optimizer = torch.optim.AdamW(learning, lr=row.learning_rate, weight_decay=0)
        warm = max(1, round(0.1 * row.steps))
        for step in range(row.steps):
            halves.upper.train()
            for group in optimizer.param_groups:
                group["lr"] = row.learning_rate * min((step + 1) / warm, (row.steps - step) / max(1, row.steps - warm))
            logits, positive = forward(order[step * row.batch_size :][: row.batch_size])
            optimizer.zero_grad()
            cross_entropy(logits, positive).mean().backward()
            nn.utils.clip_grad_norm_(learning, 1.0)
            optimizer.step()
        if row.steps:
            report["after"] = figures()
        trained = time.process_time()
        for part in ("dev", "test") if row.part == "both" else (row.part,):
            report[part] = self.measured(row.data, part, halves)
        return report | {"train_s": trained - start, "evaluate_s": time.process_time() - trained}

    @staticmethod
    def measured(data: str, part: str, halves: Halves) -> dict[str, float]:
        """MAP and, of the E-commerce corpus, Spearman's correlation."""
        if data == "sgd":
            task = build_retrieval_task(read_conversations(DATA / f"sgd/{part}.jsonl.gz"), max_queries=150)
            return {"map": evaluate_retrieval(halves.encode, task).map}
        task, pairs = read_retrieval_task(DATA / f"ecd/{part}/select.txt"), read_sts_task(DATA / f"ecd/{part}/sts.txt")
        return {
            "map": evaluate_retrieval(halves.encode, task).map,
            "spearman": evaluate_sts(halves.encode, pairs).spearman,
        }


def check(study: Study) -> None:
    """Both ends of the study are the losses of the product, and the cut encoder is the encoder."""
    encoder = load_sentence_transformer(study.folder, device="cpu")
    rows, collate = study.batches(Row(context="joined"), encoder)
    made = collate([rows[number] for number in range(3)])
    batch = {name.removeprefix("messages_"): tensor for name, tensor in made.items()}
    whole = encoder.encode_messages(["ab", "一二三四五"])
    halves = Halves(encoder, 8)
    assert np.allclose(normalize(torch.tensor(halves.encode(["ab", "一二三四五"])), dim=1), whole, atol=2e-3)
    ids = [ids[: int(mask.sum())] for ids, mask in zip(batch["input_ids"], batch["attention_mask"])]
    with torch.no_grad():
        slices = halves.slices(ids)
        texts, common = batch["turn_text"], (batch["conversation"], batch["text_key"])
        cse = DialogueCSELoss(encoder, DialogueCSESettings()).compute_loss_from_embeddings(slices, texts, *common)
        siamese = SiameseLoss(encoder, SiameseSettings(context="multi"))
        expected = siamese.compute_loss_from_embeddings(sliced_means(slices), texts, batch["context_text"], *common)
        ends = (
            (cse, Row(), nn.Identity()),
            (expected, Row(context="joined", matched=False, cosine=False, network=True), siamese.response_network),
        )
        for loss, row, network in ends:
            assert torch.allclose(loss, cross_entropy(*logits_of(row, slices, network, batch)).mean(), rtol=1e-3)


def describe(study: Study, data: Any) -> None:
    """Print what the scores of all contexts and responses of eight conversations are made of, before training."""
    halves = Halves(load_sentence_transformer(study.folder, device="cpu"), 3)
    rows, collate = study.batches(Row(data=data, turns=10), halves.encoder)
    halves.upper.eval()
    made: dict[str, list[Any]] = {}
    for numbers in np.random.default_rng(0).permutation(len(rows))[:32].reshape(4, 8):
        batch = {name.removeprefix("messages_"): t for name, t in collate([rows[int(n)] for n in numbers]).items()}
        ids = [ids[: int(mask.sum())] for ids, mask in zip(batch["input_ids"], batch["attention_mask"])]
        with torch.no_grad():
            slices = halves.slices(ids)
            tokens = normalize(torch.cat([piece.tokens[piece.mask.bool()] for piece in slices]), dim=1)
            made.setdefault("mean cosine of two tokens", []).append([tokens.mean(0).square().sum().item()])
            for settings in ({}, {"matched": False}, {"centred": True}, {"centred": True, "matched": False}):
                row = Row(temperature=1.0, negatives="batch", **settings)
                scores, _ = logits_of(row, slices, nn.Identity(), batch)
                made.setdefault(f"{settings}", []).append(parts(scores, batch))
    for name, figures in made.items():
        print(name, np.mean(figures, axis=0).round(4).tolist())


def parts(scores: Tensor, batch: dict[str, Tensor]) -> list[float]:
    """Mean and deviation, the share of the variance that responses alone make, the share of others below the own."""
    others = (scores > -1e8) & ~torch.eye(len(scores), dtype=torch.bool)
    of_response = torch.stack([scores[others[:, column], column].mean() for column in range(len(scores))])
    values, alone = scores[others], of_response.expand(len(scores), -1)[others]
    below = [(line[there] < line[place]).float().mean() for place, (line, there) in enumerate(zip(scores, others))]
    return [values.mean().item(), values.std().item(), (alone.var() / values.var()).item(), float(np.mean(below))]


def lines(path: str) -> list[dict[str, Any]]:
    """The JSON lines of a file, if there is one."""
    text = Path(path).read_text(encoding="utf-8") if Path(path).exists() else ""
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def main(folder: str, rows: str, results: str | None = None) -> None:
    study = Study(folder)
    check(study)
    if results is None:
        describe(study, rows)
        return
    while True:  # rows may be added meanwhile
        done = [line["row"] for line in lines(results)]
        left = [row for row in lines(rows) if row not in done]
        if not left:
            return
        made = study.run(Row(**left[0]))
        with Path(results).open("a", encoding="utf-8") as file:
            print(json.dumps({"row": left[0]} | made), file=file)


if __name__ == "__main__":
    main(*sys.argv[1:])
