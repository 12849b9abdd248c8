"""The names that a paper's page gives for its equations are those of the functions that tests compare with the formula.

Those tests stand beside each: literal matrices, a loop over pairs, or hand arithmetic.
"""

import pkgutil
import re
from pathlib import Path

import pytest

import turnlens.papers
from turnlens.encoders.forward import encode_sliced
from turnlens.papers.dial2vec.alignment_uniformity import mean_squared_distances, uniformity
from turnlens.papers.dial2vec.loss import Dial2vecLoss, cross_representation, self_representation
from turnlens.papers.dial2vec.pooling import sum_of_interlocutors
from turnlens.papers.dialogue_cse.loss import DialogueCSELoss, DialogueCSESettings, context_aware_embeddings
from turnlens.papers.triple_encoders.c3l import C3LLoss, c3l_targets
from turnlens.papers.triple_encoders.planning import triple_plan_scores
from turnlens.papers.triple_encoders.scores import triple_query
from turnlens.training.losses.in_batch import cross_entropy

# Paper -> number of an equation -> what computes it.
COMPUTED: dict[str, dict[int, object]] = {
    "dialogue_cse": {
        **{number: encode_sliced for number in (1, 2)},
        **{number: context_aware_embeddings for number in (3, 4)},
        **{number: DialogueCSELoss for number in (5, 6)},
        **{7: DialogueCSESettings, 8: cross_entropy},
    },
    "dial2vec": {
        **{1: self_representation, 2: cross_representation, 3: cross_representation, 4: sum_of_interlocutors},
        **{5: Dial2vecLoss, 6: Dial2vecLoss, 7: mean_squared_distances, 8: mean_squared_distances, 9: uniformity},
    },
    "triple_encoders": {1: c3l_targets, 2: C3LLoss, 3: triple_query, 4: triple_plan_scores},
}


@pytest.mark.parametrize("paper", COMPUTED)
def test_the_page_names_what_computes_each_equation(paper: str) -> None:
    page = (Path(turnlens.papers.__file__).parent / paper / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| Eq\. ([\d and]+)[^|]*\| `(turnlens\.[\w.]+)`", page, re.MULTILINE)
    found = {int(number): pkgutil.resolve_name(name) for some, name in named for number in re.findall(r"\d", some)}
    assert found == COMPUTED[paper]
