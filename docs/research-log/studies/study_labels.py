"""The accuracy of the labels of `turnlens label` and of their confidence, against intents that neither has seen.

Groups are found in one part of each set, and the messages of the other part are labelled: of $TURNLENS_DATA CLINC150
(train; test), MultiDoGO's four domains (train; test), the development part of DSTC 11 track 2 (halves), and SGD (train;
dev); once with all intents, and once with half of the intents left out of the first part only, whose messages belong to
none of the groups. A label is right if the group and the intent go together: most messages of the intent are in the
group, or most of the group have the intent. For each set: groups, the share that is right, expected calibration error
(ten bins of equal size), the share that is labelled (confidence 0.5 and 0.8) and how much of it is right, and of the
messages that belong to none the share that is told so.

Run: python docs/research-log/studies/study_labels.py [--encoder FOLDER] [--most 3000]
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import turnlens
from quick import add_quick
from study_groups import Labelled, distinct, messages_of, turnlens_groups
from turnlens._utils.vectors import unit_vectors
from turnlens.encoders.messages import encode_messages
from turnlens.groups.group_model import Basis, StoredGroup, empty_model
from turnlens.report.labelling import Labeller

BINS = 10
COLUMNS = ("groups", "right", "ECE", "labelled", "of these right", "at 0.8", "of these right", "none told")


def parts(quick: bool, most: int) -> dict[str, tuple[list[Labelled], list[Labelled]]]:
    """The messages that groups are found in, and those that are labelled."""
    if quick:
        rows = turnlens.sample_conversations(100)
        sample = distinct((one["content"], one["intent"]) for row in rows for one in row["messages"] if one["intent"])
        return {"sample": (sample[::2], sample[1::2])}
    insurance = distinct(messages_of("dstc11_dev/insurance"))
    files = {"CLINC150": ("clinc150/train", "clinc150/test"), "SGD": ("sgd/train", "sgd/dev")}
    files |= {name: (f"multidogo/{name}/train", f"multidogo/{name}/test") for name in MULTIDOGO}
    return {"DSTC 11": (insurance[::2], insurance[1::2])} | {
        name: (distinct(messages_of(first), most), distinct(messages_of(second), most // 2))
        for name, (first, second) in files.items()
    }


MULTIDOGO = ("airline", "fastfood", "insurance", "software")


def without_half(messages: Sequence[Labelled]) -> list[Labelled]:
    intents = sorted({intent for _, intent in messages})
    kept = set(random.Random(0).sample(intents, (len(intents) + 1) // 2))
    return [(text, intent) for text, intent in messages if intent in kept]


def going_together(groups: np.ndarray, intents: np.ndarray) -> set[tuple[int, str]]:
    """The pairs of a group and an intent one of which has most of its messages in the other."""
    pairs = set()
    for column, others in ((groups, intents), (intents, groups)):
        for value in np.unique(column[groups >= 0]):
            names, counts = np.unique(others[(column == value) & (groups >= 0)], return_counts=True)
            best = names[counts.argmax()]
            pairs.add((int(value), str(best)) if column is groups else (int(best), str(value)))
    return pairs


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    bins = np.array_split(np.argsort(confidence, kind="stable"), BINS)
    return sum(abs(confidence[rows].sum() - right[rows].sum()) for rows in bins) / len(right)


def measured(vectors: dict[str, np.ndarray], fit: Sequence[Labelled], new: Sequence[Labelled]) -> list[float]:
    fitted = np.stack([vectors[text] for text, _ in fit])
    groups = turnlens_groups(fitted, 0, 0)
    intents, new_intents = (np.asarray([intent for _, intent in messages]) for messages in (fit, new))
    known = {int(group): StoredGroup(str(group)) for group in np.unique(groups[groups >= 0])}
    basis = Basis(fitted, np.zeros(len(fit), np.int64), [None], "", "", False)
    labeller = Labeller(replace(empty_model(), fine=groups, groups=known), basis)
    rows = np.stack([vectors[text] for text, _ in new])
    best, confidence = labeller.nearest_groups(rows, [len(rows)], ["user"] * len(rows), np.ones(len(rows), bool))
    together = going_together(groups, intents)
    right = np.asarray([(int(group), str(intent)) in together for group, intent in zip(best, new_intents)])
    figures = [len(known), 100 * right.mean(), 100 * calibration_error(confidence, right)]
    for least in (0.5, 0.8):
        sure = confidence >= least
        figures += [100 * sure.mean(), 100 * right[sure].mean() if sure.any() else np.nan]
    none = ~np.isin(new_intents, intents)
    return [*figures, 100 * (confidence[none] < 0.5).mean() if none.any() else np.nan]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoder", help="its folder or name; by default the one that turnlens uses")
    parser.add_argument("--most", type=int, default=3000, help="messages of a set that groups are found in")
    add_quick(parser, most=500)
    arguments = parser.parse_args()
    sets = parts(bool(arguments.quick), arguments.most)
    texts = sorted({text for pair in sets.values() for messages in pair for text, _ in messages})
    encoder = turnlens.load_encoder(arguments.encoder) if arguments.encoder else turnlens.load_encoder()
    vectors = dict(zip(texts, unit_vectors(encode_messages(encoder, texts))))
    for title, fewer in (("all intents", list), ("half of the intents", without_half)):
        print(
            f"\n| groups of {title} | " + " | ".join(COLUMNS) + " |\n" + "|---" * (len(COLUMNS) + 1) + "|", flush=True
        )
        rows = []
        for name, (fit, new) in sets.items():
            rows.append(measured(vectors, fewer(fit), new))
            print(f"| {name} | " + " | ".join(f"{figure:.1f}" for figure in rows[-1]) + " |", flush=True)
        print("| **mean** | " + " | ".join(f"{figure:.1f}" for figure in np.nanmean(rows, axis=0)) + " |", flush=True)


if __name__ == "__main__":
    main()
