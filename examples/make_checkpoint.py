"""One encoder for messages, conversations and next replies, with its figures and licence, as a folder to release.

One encoder learns by DialogueCSE and one what messages are in context, both from the untouched one; the average of
their weights is the encoder of the release. A reply head and a centre of conversation vectors are fitted to it. Then
both it and the untouched encoder are measured on what was learned from and on what was not, and the model card gets the
figures. What is finished is not done again.

Run: make checkpoint
     (or python examples/make_checkpoint.py [--data $TURNWISE_DATA] [--output checkpoint] [--steps 100])
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import turnwise
from turnwise._utils.files import atomic_path
from turnwise.encoders.loading import BASE_ENCODER


@dataclass(frozen=True)
class Corpus:
    """Conversations that the release learns from.

    Attributes:
        path: Where they lie in the folder of the data, without the ending.
        title: What they are called.
        licence: Their licence, as their source states it.
    """

    path: str
    title: str
    licence: str


CORPORA = (
    Corpus("sgd/train", "Schema-Guided Dialogue", "CC BY-SA 4.0"),
    Corpus("taskmaster4/train", "Taskmaster-4", "CC BY 4.0"),
)
LICENCE = "cc-by-sa-4.0"  # the stricter of the two; that of the default encoder, Apache-2.0, allows it

INTENTS, DIALOGUES, NEXT = "semantic-retrieval", "conversation-retrieval", "next-message"
TESTS = {  # the last two are nothing it has learned from
    "sgd/test": (INTENTS, DIALOGUES, NEXT),
    "dailydialog/dev": (NEXT,),
    "self_dialogue/dev": (DIALOGUES, NEXT),
}
QUERIES = 800
HEAD = {"sample": 4000, "interpolation": 0.5}  # half-way, for small talk

CARD = """---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
license: {licence}
tags: [sentence-transformers, turnwise, conversations]
---

# One vector for each message

{name} embeds messages; whole conversations and the next reply follow from the same vectors.

```python
import turnwise
from sentence_transformers import SentenceTransformer

encoder = SentenceTransformer("path/to/this/folder")  # a stock model
vectors = encoder.encode(["where is my parcel", "i want to speak to a human"])

model = turnwise.ReplyModel(turnwise.load_encoder("path/to/this/folder"))  # what comes next, see docs/replies.md
```

## Figures

Without any label in training; 95 % bootstrap intervals over queries, one training (seed {seed}). Of ranks the lower is
the better.

{figures}

Its reply head is a compromise: half-way between the sum of cosines and what it learned of task conversations, so that
it ranks small talk about as well as none does. To your own chats fit one of their own, in a minute:
`turnwise train chats.jsonl --method reply-head --encoder path/to/this/folder --output mine`.

## Made from

{encoder}, two trainings of {steps} steps (`make checkpoint` of turnwise {version}). Learned from:

{corpora}

Hence the licence {licence}.
"""


@cache
def conversations(data: Path) -> Any:
    """All conversations to learn from, shuffled together."""
    return turnwise.read_conversations([existing(data, corpus.path) for corpus in CORPORA]).shuffle(seed=0)


def existing(data: Path, name: str) -> Path:
    """The file of that name with whatever ending."""
    found = sorted(data.glob(f"{name}.jsonl*"))
    if not found:
        raise SystemExit(f"{data / name}.jsonl(.gz): no such file; see docs/benchmarks.md for the folder of the data")
    return found[0]


def trained(data: Path, work: Path, encoder: str | None, steps: int, seed: int) -> Path:
    """Train what is not there yet; an interrupted training goes on."""
    learned = {work / "dialogue-cse": {}, work / "in-context": {"context": "joined"}}  # as measured: docs/research-log
    merged, with_head, release = (work / name for name in ("merged", "reply-head", "centred"))
    for path, settings in learned.items():
        if not path.is_dir():
            recipe = turnwise.training.get_recipe(path.name, settings={**settings, "max_steps": steps, "seed": seed})
            turnwise.train(conversations(data), method=recipe, encoder=encoder, output=path, resume=True)
    if not merged.is_dir():
        turnwise.merge(list(learned), base=encoder, output=merged)
    if not with_head.is_dir():
        head = turnwise.training.get_recipe("reply-head", settings={**HEAD, "seed": seed})
        turnwise.train(conversations(data), method=head, encoder=merged, output=with_head, resume=True)
    if not release.is_dir():
        turnwise.centre(conversations(data), encoder=with_head, output=release, stretch=0.0, seed=seed)
    return release


def figures(model: str | Path | None, data: Path, path: Path) -> dict[str, Any]:
    """The figures of a model on all tests, by test and task; those in the file are not measured again."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for test, tasks in TESTS.items():
        if test not in found:
            encoder, file = turnwise.load_encoder(model), existing(data, test)
            found[test] = turnwise.evaluate(file, encoder=encoder, tasks=tasks, pooling="messages", max_queries=QUERIES)
            with atomic_path(path) as temporary:
                temporary.write_text(json.dumps(found), encoding="utf-8")
    return found


def table(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Both encoders' figures, a line for each test and task."""
    lines = ["| data | task | untouched | this model |", "|---|---|---|---|"]
    for test, tasks in after.items():
        lines += [
            f"| {test} | {task} | {shown(before[test][task])} | {shown(found)} |" for task, found in tasks.items()
        ]
    return "\n".join(lines)


def shown(found: dict[str, Any]) -> str:
    """The main figure of a task with its interval."""
    mode = found.get("composed") or found.get("bi")  # of next messages; the other tasks have one way
    name, digits = ("average_rank", 2) if mode else ("map", 1)
    chosen = mode or found
    low, high = chosen[f"{name}_interval"]
    return f"{'rank' if mode else 'MAP'} {chosen[name]:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("TURNWISE_DATA", "../shared/data")))
    parser.add_argument("--output", type=Path, default=Path("checkpoint"))
    parser.add_argument("--encoder", default=BASE_ENCODER)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    work = given.output / "work"
    work.mkdir(parents=True, exist_ok=True)
    model = trained(given.data, work, given.encoder, given.steps, given.seed)
    before = figures(given.encoder, given.data, work / "untouched.json")
    after = figures(model, given.data, work / "trained.json")
    release = given.output / f"turnwise-messages-{turnwise.__version__}"
    with atomic_path(release) as temporary:
        shutil.copytree(model, temporary)
        started_from = json.loads((work / "merged" / "training.json").read_text(encoding="utf-8"))["encoder"]
        card = CARD.format(
            name=release.name,
            licence=LICENCE,
            seed=given.seed,
            steps=given.steps,
            version=turnwise.__version__,
            encoder=started_from,
            figures=table(before, after),
            corpora="\n".join(f"- {corpus.title} ({corpus.licence})" for corpus in CORPORA),
        )
        (temporary / "README.md").write_text(card, encoding="utf-8")
    shutil.make_archive(str(release), "zip", given.output, release.name)
    print(card)
    print(f"Wrote {release} and {release}.zip")


if __name__ == "__main__":
    main()
