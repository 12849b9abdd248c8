"""Do the names of groups say what is in them? A stand-in for readers, since no language model is at hand.

Groups are fitted to one half of each set's texts, with the default encoder, and named. Another encoder judges: *groups*
is the share of groups whose name lies nearest to their own middle of all, *messages* the share of the other half's
messages that lie nearest to the name of the group that their neighbours vote for, *by group* its mean over groups. The
sets are those of study_groups.py, at most 1,500 texts each, assistant's messages of SGD, and the users' of CrossWOZ. Of
conversations with both sides, three keywords of each second message of a group are judged on its others, against
the other groups of its part.

Run: python docs/research-log/studies/study_names.py [--judge FOLDER] [FILE…]
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

import turnlens
from quick import add_quick, data_folder
from study_groups import sets
from turnlens._utils.vectors import unit_vectors
from turnlens.encoders.folders import BASE_ENCODER
from turnlens.encoders.messages import encode_messages
from turnlens.groups.fitting import fit_groups
from turnlens.groups.group_settings import GroupSettings, neighbours_among
from turnlens.groups.naming import name_sentences
from turnlens.groups.neighbours import nearest, outlier_cosine, vote
from turnlens.groups.phrases import name_phrases

MOST = 1500
COLUMNS = "conversation=Ticket ID,speaker=Author Type,text=Comment,time=Created At"  # of helpdesk_export.py


@dataclass(frozen=True)
class Half:
    texts: Sequence[str]
    vectors: np.ndarray  # (n, dim)
    judged: np.ndarray  # the judge's vectors (n, dim)
    groups: np.ndarray  # (n,)


def halves(
    texts: Sequence[str], encoder: turnlens.ConversationEncoder, judge: turnlens.ConversationEncoder
) -> list[Half]:
    """The half that groups are fitted to, and the other."""
    vectors, judged = (unit_vectors(encode_messages(each, list(texts))) for each in (encoder, judge))
    fitted = vectors[::2]
    count = neighbours_among(len(fitted))
    among = nearest(fitted, fitted, count)
    groups = fit_groups(fitted, among, GroupSettings()).fine
    lonely = outlier_cosine(among.cosines[:, 0])
    near = (among, nearest(vectors[1::2], fitted, count))
    return [
        Half(texts[start::2], vectors[start::2], judged[start::2], vote(near[start], groups, lonely))
        for start in (0, 1)
    ]


default_encoder = cache(turnlens.load_encoder)


def embedded(texts: Sequence[str]) -> np.ndarray:
    """The vectors of texts by the default encoder, of length 1 (n, dim)."""
    return unit_vectors(encode_messages(default_encoder(), list(texts)))


def keywords(half: Half, words_alone: bool = False) -> list[str]:
    embed = None if words_alone else embedded
    named = name_phrases(half.texts, half.groups, vectors=half.vectors, embed=embed)
    return [", ".join(phrases[:3]) for phrases in named]


WAYS: dict[str, Callable[[Half], list[str]]] = {
    "sentence": lambda half: name_sentences(half.texts, half.vectors, half.groups, embed=embedded),
    "keywords": keywords,
    "keywords, by words alone": lambda half: keywords(half, words_alone=True),
    "sentence with keywords, as shown": lambda half: list(map(". ".join, zip(WAYS["sentence"](half), keywords(half)))),
}


def judged(names: Sequence[str], fitted: Half, other: Half, judge: turnlens.ConversationEncoder) -> list[float]:
    vectors = unit_vectors(encode_messages(judge, list(names)))
    middles = unit_vectors(np.stack([fitted.judged[fitted.groups == group].mean(0) for group in range(len(names))]))
    inside = other.groups >= 0
    right = (other.judged[inside] @ vectors.T).argmax(1) == other.groups[inside]
    by_group = [right[other.groups[inside] == group].mean() for group in np.unique(other.groups[inside])]
    own = (vectors @ middles.T).argmax(1) == np.arange(len(names))
    return [100 * float(each) for each in (own.mean(), right.mean(), np.mean(by_group))]


def by_part(file: str, judge: turnlens.ConversationEncoder) -> list[tuple[str, float]]:
    """The share of messages for which the judge is right, within each part of at least four groups, with its kind."""
    rows = list(turnlens.read_conversations(file, columns=COLUMNS if file.endswith(".csv") else None))
    random.Random(1).shuffle(rows)
    report = turnlens.cluster(rows[:900]).report
    chosen = np.flatnonzero(report.messages["group"] >= 0)
    texts = [report.texts[row] for row in chosen.tolist()]
    ids, groups = np.unique(report.messages["group"][chosen], return_inverse=True)
    parts = np.asarray([report.speakers.part[chosen[groups == group][0]] for group in range(len(ids))])
    vectors = embedded(texts)
    named_by = np.where(np.arange(len(texts)) % 2 == 0, groups, -1)
    phrases = name_phrases(texts, named_by, parts, vectors, embedded)
    names, said = (
        unit_vectors(encode_messages(judge, each)) for each in ([", ".join(own[:3]) or "." for own in phrases], texts)
    )
    figures = []
    for part in np.unique(parts).tolist():
        among = np.flatnonzero(parts == part)
        if len(among) < 4:
            continue
        judged_on = (named_by < 0) & np.isin(groups, among)
        right = among[(said[judged_on] @ names[among].T).argmax(1)] == groups[judged_on]
        own = groups[judged_on]
        speakers = report.speakers
        is_asker = speakers.parts[part].role == speakers.asker
        kind = "requests" if part == speakers.requests else "rest of the asker" if is_asker else "answers"
        figures.append((kind, 100 * float(np.mean([right[own == group].mean() for group in np.unique(own)]))))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judge", default=BASE_ENCODER, help="folder of the encoder that judges")
    parser.add_argument("files", nargs="*", help="conversations with both sides; tables with the columns of COLUMNS")
    add_quick(parser)
    arguments = parser.parse_args()
    encoder, judge = default_encoder(), turnlens.load_encoder(arguments.judge)
    every = {name: [text for text, _ in messages][:MOST] for name, messages in sets(bool(arguments.quick)).items()}
    for name, file, role in (("sgd assistant", "sgd/dev", "assistant"), ("crosswoz", "crosswoz/dev", "user")):
        if not arguments.quick:
            rows = turnlens.read_conversations(data_folder() / f"{file}.jsonl.gz")
            said = [one["content"] for row in rows for one in row["messages"] if one["role"] == role]
            every[name] = list(dict.fromkeys(said))[:: max(1, len(said) // MOST)][:MOST]
    cases = {name: halves(texts, encoder, judge) for name, texts in every.items()}
    print("| | groups | messages | by group |\n|---|---|---|---|")
    for way, named in WAYS.items():
        results = [judged(named(fitted), fitted, other, judge) for fitted, other in cases.values()]
        print(f"| {way} | " + " | ".join(f"{mean:.1f}" for mean in np.mean(results, axis=0)) + " |", flush=True)
    parts = [each for file in arguments.files for each in by_part(file, judge)]
    for kind in sorted({kind for kind, _ in parts}):
        print(f"{kind}, three keywords: {np.mean([figure for own, figure in parts if own == kind]):.1f}")


if __name__ == "__main__":
    main()
