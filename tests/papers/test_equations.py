"""The function that a paper's page names for an equation computes it: against loops over the equation as printed.

Of whole losses (`DialogueCSELoss`, `C3LLoss`) and of the encoder, which the pages name too, other tests do so.
"""

import pkgutil
import re
from itertools import combinations, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import turnlens.papers

RANDOM = np.random.default_rng(0)
OF_LOSSES = {("dialogue_cse", number) for number in (1, 2, 5, 6, 7)} | {("triple_encoders", 2)}
COMPUTED = {("dialogue_cse", number) for number in (3, 4, 8)} | {("triple_encoders", number) for number in (1, 3, 4)}
COMPUTED |= {("dial2vec", number) for number in range(1, 10)}


def pointers() -> dict[tuple[str, int], Any]:
    """Paper and number of each equation -> what its page names first."""
    found = {}
    for paper in ("dialogue_cse", "dial2vec", "triple_encoders"):
        page = (Path(turnlens.papers.__file__).parent / paper / "README.md").read_text(encoding="utf-8")
        for equations, name in re.findall(r"^\| Eq\. ([\d and]+)[^|]*\| `(turnlens\.[\w.]+)`", page, re.MULTILINE):
            for number in re.findall(r"\d", equations):
                found[paper, int(number)] = pkgutil.resolve_name(name)
    return found


POINTERS = pointers()


def cosine(first: Any, second: Any) -> float:
    return float(first @ second / np.sqrt((first @ first) * (second @ second)))


def random(*shape: int) -> Tensor:
    return torch.from_numpy(RANDOM.normal(size=shape))


def test_every_equation_is_computed_here_or_within_a_loss() -> None:
    assert set(POINTERS) == COMPUTED | OF_LOSSES


def test_dialogue_cse_matching() -> None:
    context, response = random(3, 4), random(5, 4)  # tokens of an utterance and of a response
    matched = context @ response.T / 4**0.5  # Eq. 3
    refined = (matched @ response).mean(0)  # Eq. 4, pooled
    arguments = response[None], torch.ones(1, 5), context.mean(0)[None]
    torch.testing.assert_close(POINTERS["dialogue_cse", 3](*arguments)[0, 0], refined)
    assert POINTERS["dialogue_cse", 4] is POINTERS["dialogue_cse", 3]


def test_dialogue_cse_objective() -> None:
    similarity = random(2, 4) / 0.1  # of all pairs of two responses, by temperature
    printed = [-torch.log(row[place].exp() / row.exp().sum()) for row, place in zip(similarity, (1, 3))]
    torch.testing.assert_close(POINTERS["dialogue_cse", 8](similarity, torch.tensor([1, 3])), torch.stack(printed))


def test_dial2vec_representations() -> None:
    tokens, speaker, turn = random(6, 4), torch.tensor([0, 0, 1, 0, 1, 1]), torch.tensor([0, 0, 1, 2, 3, 3])
    for window, who in product((1, 10), (0, 1)):
        own = tokens * (speaker == who)[:, None]  # Eq. 1
        scores = (tokens * (speaker != who)[:, None]) @ own.T  # Eq. 2
        scores[(turn[:, None] - turn).abs() > window] = 0
        cross = scores @ own  # Eq. 3
        found = POINTERS["dial2vec", 1](tokens[None], speaker[None])[0, who]
        torch.testing.assert_close(found, own.sum(0) / (speaker == who).sum())
        for number in (2, 3):
            found = POINTERS["dial2vec", number](tokens[None], speaker[None], turn[None], window)[0, who]
            torch.testing.assert_close(found, cross.sum(0) / (speaker != who).sum())


def test_dial2vec_aggregation() -> None:
    means = random(2, 3, 4)  # of the tokens of three interlocutors in two dialogues
    torch.testing.assert_close(POINTERS["dial2vec", 4](SimpleNamespace(means=lambda: means)), sum(means.unbind(1)))


def test_dial2vec_objective(tiny_encoder: Any) -> None:
    fit = random(6, 2)  # cosines of both speakers; rows 0 and 3 are the dialogues, the others mixed ones of each
    printed = 0.0
    for real, speaker in product((0, 3), (0, 1)):
        exponentials = (fit[real : real + 3, speaker] / 0.2).exp()
        printed -= float(torch.log(exponentials[0] / exponentials.sum())) / 2  # Eq. 5 and 6
    rows, is_real = torch.tensor([0, 0, 0, 1, 1, 1]), torch.tensor([True, False, False] * 2)
    assert POINTERS["dial2vec", 5] is POINTERS["dial2vec", 6]
    loss = POINTERS["dial2vec", 5](tiny_encoder).compute_loss_from_fit(fit, rows, is_real, torch.tensor([2, 2]))
    assert float(loss) == pytest.approx(printed)


def test_dial2vec_alignment_and_uniformity() -> None:
    units = RANDOM.normal(size=(6, 4)).astype(np.float32)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    labels = np.array([0, 1, 0, 1, 2, 0])
    pairs = [(i, j, ((units[i] - units[j]) ** 2).sum()) for i, j in combinations(range(6), 2)]
    alike = np.mean([distance for i, j, distance in pairs if labels[i] == labels[j]])
    unlike = np.mean([distance for i, j, distance in pairs if labels[i] != labels[j]])
    for number in (7, 8):
        assert POINTERS["dial2vec", number](units, labels) == pytest.approx((alike, unlike), rel=1e-5)
    printed = np.log(np.mean([np.exp(-2 * distance) for *_, distance in pairs]))
    assert POINTERS["dial2vec", 9](units) == pytest.approx(printed, rel=1e-5)


def test_triple_encoders_targets() -> None:
    curve = [0.2, 0.4, 0.6, 0.8]  # of CCL, seen from the last of five utterances
    sums = [curve[i] + curve[j] for i, j in combinations(range(4), 2)]
    printed = [0.2 + 0.8 * (total - min(sums)) / (max(sums) - min(sums)) for total in sums]
    assert POINTERS["triple_encoders", 1](5).tolist() == pytest.approx(printed)


@pytest.mark.parametrize("last_rows", [None, 2])
def test_triple_encoders_sequence(last_rows: int | None) -> None:
    before1, before2, candidate = (RANDOM.normal(size=shape) for shape in ((5, 4), (5, 4), (4,)))
    pairs = [(i, j) for i, j in combinations(range(5), 2) if last_rows is None or j >= 5 - last_rows]
    printed = np.mean([cosine((before1[i] + before2[j]) / 2, candidate) for i, j in pairs])
    query = POINTERS["triple_encoders", 3](before1, before2, last_rows)
    assert query @ candidate / np.linalg.norm(candidate) == pytest.approx(printed)


def test_triple_encoders_planning() -> None:
    before1, candidates, goal = (RANDOM.normal(size=shape) for shape in ((3, 4), (2, 4), (4,)))
    printed = [3 * cosine(c, goal) + sum(cosine((u + c) / 2, goal) for u in before1) for c in candidates]
    assert POINTERS["triple_encoders", 4](before1, candidates, goal) == pytest.approx(printed)
