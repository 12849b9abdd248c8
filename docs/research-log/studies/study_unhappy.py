"""Unhappiness with answers: sentences chosen on some sources, judged on those that were left out.

A turn of $TURNLENS_DATA's `uss` (licensed for measuring only) is unhappy if its mean rating is below 3. Sentences are
added one at a time, each the one that lifts the mean AUC of the other sources most. A turn is called unhappy if it is
nearer to complaints than to contentment; so the share of these turns depends on nothing that was learned. A mere no to
more ("nothing else, thanks") is as near to one as to the other. With an encoder that was fitted, two rows more: its own
reading of the sentences, and that of turnlens.

Run: python docs/research-log/studies/study_unhappy.py [--encoder FOLDER]
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from sklearn.metrics import roc_auc_score

import turnlens
from quick import add_quick, data_folder, skip
from turnlens.groups.courtesies import wants_no_more
from turnlens.report.corpus import CorpusEncoder
from turnlens.report.unhappiness import _reading, contrast
from turnlens.store.open_arguments import store_encoder

SOURCES = ("sgd", "mwoz", "redial", "ccpe")
COMPLAINTS = """That's not what I want.|No, I don't want that.|You are wrong.|You didn't answer my question.
I don't like that.|I said something else.|Are you even listening?|That is not helpful.|I give up.|No.|No, that's wrong.
I already told you.|That doesn't help.|I don't know.|Never mind.|I am frustrated.|This is taking too long.
You don't understand me.|It still doesn't work.|Why can't you just answer?|I asked for something different.
That is too bad.|Forget it, cancel it.|I don't understand what you mean.|What?|No, that is not right.
That's not helpful at all.|You are not helping me.|I don't want any of these.|I don't think you can help me.|Why not?
That's too expensive.|I don't really like it.|That's a shame.|Is there nothing else?|Can you try something else?
No, not really.|I haven't heard of that.|I am not sure about that.|Are you sure?|That doesn't make sense.
You already asked me that.|I just told you.|This is ridiculous.|It didn't work.|I'm disappointed.|You got it wrong.
Please try again.|Let me talk to a person.|Then cancel it.|No thanks, goodbye."""
CONTENTMENT = """Perfect, thank you.|Yes, that works for me.|Great, thanks.|Sounds good to me.|Yes, please.
Thank you so much for your help.|That's great.|I love it.|Okay, let's do that.|Yes, that is correct.
Wonderful, that is all I need.|Awesome, I will try it.|I need to book a table for two.|What is the address?
Tomorrow at five in the evening.|Can you find me a cheap one?|I would like to see a comedy.|My name is Anna.
How much does it cost?|I live in Boston.|Thanks, bye.|Sure, go ahead.|Please do that.|I would like the first one.
What is the phone number?|I like action movies.|Thank you, have a nice day.|Yes.|That's good, thanks.
I have seen it and I liked it.|Where is it located?|It is for three people.|Please confirm the booking.
I want to leave on Friday.|Do they have parking?|Good recommendation!|I really enjoy that kind.
That's perfect, please book it."""
LEAST_GAIN = 0.02  # points of AUC


@dataclass(frozen=True)
class Turns:
    texts: list[str]  # (n)
    vectors: np.ndarray  # (n, dim)
    unhappy: np.ndarray  # (n,)
    conversation: np.ndarray  # (n,)
    no_more: np.ndarray  # (n,)


def turns_of(source: str, encoder) -> Turns:
    """Users' turns after the first, which follow an answer."""
    texts, unhappy, conversations = [], [], []
    for number, row in enumerate(turnlens.read_conversations(data_folder() / f"uss/{source}.jsonl.gz")):
        for message in [one for one in row["messages"] if one["role"] == "user"][1:]:
            texts.append(message["content"])
            unhappy.append(float(message["satisfaction"]) < 3)
            conversations.append(number)
    no_more = np.array([wants_no_more(text) for text in texts])
    return Turns(texts, encoder.messages(texts)["vector"], np.array(unhappy), np.array(conversations), no_more)


def auc(scores: np.ndarray, turns: Turns) -> float:
    return 100 * float(roc_auc_score(turns.unhappy, scores))


def chosen(sentences: np.ndarray, signs: np.ndarray, sources: Sequence[Turns]) -> np.ndarray:
    """The direction of sentences added one at a time (dim,)."""
    picked, best = [0, int(np.argmin(signs))], 0.0

    def direction(rows: Sequence[int]) -> np.ndarray:
        return sum(sign * sentences[[row for row in rows if signs[row] == sign]].mean(0) for sign in (1, -1))

    def mean_auc(rows: Sequence[int]) -> float:
        return float(np.mean([auc(turns.vectors @ direction(rows), turns) for turns in sources]))

    while True:
        gains = [(mean_auc([*picked, row]), row) for row in range(len(signs)) if row not in picked]
        if max(gains)[0] < best + LEAST_GAIN:
            return direction(picked)
        best, row = max(gains)
        picked.append(row)


def print_row(
    name: str,
    directions: Mapping[str, np.ndarray],
    sources: Mapping[str, Turns],
    no_more: bool = True,
    at_zero: Mapping[str, float] | None = None,
) -> None:
    """Print the AUC of each source, then the shares of turns and conversations called unhappy, beside the true ones.

    Then the AUC of conversations. Unless ``no_more``, a no to more counts as any other turn.
    """
    cells = []
    for source, turns in sources.items():
        scores, of = turns.vectors @ directions[source] + (at_zero or {}).get(source, 0), turns.conversation
        scores = np.where(turns.no_more & no_more, 0, scores)
        known = np.bincount(of) > 0
        means = [np.bincount(of, values)[known] / np.bincount(of)[known] for values in (scores, turns.unhappy)]
        called, true = 100 * np.mean(scores > 0), 100 * np.mean(turns.unhappy)
        whole, half = 100 * np.mean(means[0] > 0), 100 * np.mean(means[1] >= 0.5)
        of_whole = 100 * roc_auc_score(means[1] >= 0.5, means[0])
        row = f"{auc(scores, turns):.1f}; {called:.0f} of {true:.0f}; {whole:.0f} of {half:.0f}; {of_whole:.1f}"
        cells.append(row)
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_quick(parser)
    parser.add_argument("--encoder", help="an encoder that was fitted")
    args = parser.parse_args()
    if args.quick:
        skip("ratings of users are not generated")
    encoder = store_encoder(None, "messages")
    bank = [text.replace("\n", "|").split("|") for text in (COMPLAINTS, CONTENTMENT)]
    signs = np.repeat([1, -1], [len(texts) for texts in bank])
    sentences = encoder.messages([*bank[0], *bank[1]])["vector"]
    shipped = contrast(encoder)
    sources = {name: turns_of(name, encoder) for name in SOURCES}
    print("| sentences: AUC; turns; conversations, %; their AUC | " + " | ".join(SOURCES) + " |\n|---|---|---|---|---|")
    every = sentences[signs == 1].mean(0) - sentences[signs == -1].mean(0)
    print_row("all", dict.fromkeys(SOURCES, every), sources)
    left_out = {
        name: chosen(sentences, signs, [turns for other, turns in sources.items() if other != name]) for name in SOURCES
    }
    print_row("chosen on the other three", left_out, sources)
    print_row("those of turnlens, chosen on all four", dict.fromkeys(SOURCES, shipped), sources)
    print_row("the same, a no to more as any other", dict.fromkeys(SOURCES, shipped), sources, no_more=False)
    if args.encoder:
        fitted = store_encoder(args.encoder, "messages")
        sources = {name: turns_of(name, fitted) for name in SOURCES}
        print_row("read by the fitted encoder", dict.fromkeys(SOURCES, contrast(fitted)), sources)
        of = CorpusEncoder(fitted.name, fitted.digest(), lambda: fitted)
        read = {
            name: _reading(
                SimpleNamespace(encoder=of, vectors=turns.vectors, texts=turns.texts), np.arange(len(turns.texts))
            )
            for name, turns in sources.items()
        }
        directions, at_zero = ({name: each[part] for name, each in read.items()} for part in (0, 1))
        print_row("guessed from its vectors, as turnlens does", directions, sources, at_zero=at_zero)


if __name__ == "__main__":
    main()
