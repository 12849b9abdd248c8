"""DialogueCSE (Liu et al., EMNLP 2021): Table 2, and Figures 2 and 3 and Tables 3 and 4 as studies."""

from __future__ import annotations

from turnlens.papers.experiments.scoring import as_trained, baseline_row, character_ngrams
from turnlens.papers.experiments.suite import (
    SGD,
    DataSet,
    Method,
    Scale,
    Stage,
    Study,
    Suite,
    released,
    same_settings,
    sample_corpus,
)

# --- Rows

_ADAPT = (Stage("adapt"),)
# The recipe's own adaptation as a stage before it.
_PAPER = (Stage("adapt-paper", {"max_length": 50}), Stage("dialogue-cse:paper", {"adaptation": None}))
_ATTENTION = (Stage("dialogue-cse", {"aggregation": "attention"}),)

_CONTRASTED = (
    Method("siamese-single", "SiameseBERT_S", as_trained, (Stage("siamese", {"context": "single"}),)),
    Method("siamese-multi", "SiameseBERT_M", as_trained, (Stage("siamese", {"context": "multi"}),)),
    Method("dialogue-cse-i1", "DialogueCSE I1", as_trained, _ATTENTION),
    Method("dialogue-cse", "DialogueCSE I2", as_trained, (Stage("dialogue-cse"),)),
)

_METHODS = (
    Method("untouched", "encoder, untouched", as_trained),
    baseline_row("bm25", "message", "BM25"),
    Method("char-ngrams", "character n-grams", character_ngrams),
    baseline_row("tf-idf", "message", "TF-IDF"),
    baseline_row("glove", "message", "averaged GloVe"),
    baseline_row("word2vec", "message", "averaged word2vec, on the corpus"),
    baseline_row("cls", "message", "classification token"),
    baseline_row("mean", "message", "mean of tokens"),
    baseline_row("flow", "message", "flow (Glow)"),
    baseline_row("whitening", "message", "whitening"),
    baseline_row("cls", "message", "adapted, classification token", name="cls-adapted", stages=_ADAPT),
    baseline_row("mean", "message", "adapted, mean of tokens", name="mean-adapted", stages=_ADAPT),
    baseline_row("flow", "message", "adapted, flow (Glow)", name="flow-adapted", stages=_ADAPT),
    baseline_row("whitening", "message", "adapted, whitening", name="whitening-adapted", stages=_ADAPT),
    Method("simcse", "SimCSE", as_trained, (Stage("simcse"),)),
    *_CONTRASTED,
    *(
        Method(f"{method.name}-adapted", f"{method.title}, adapted", as_trained, (*_ADAPT, *method.stages))
        for method in _CONTRASTED
    ),
    Method("dialogue-cse-paper", "DialogueCSE I2, as published", as_trained, _PAPER),
)

# --- Data sets

_RETRIEVAL = ("semantic-retrieval",)
_RELEASED = (*_RETRIEVAL, "dialogue-sts")

# Sections 5.1.1 and 5.3; the preset has what holds for the E-commerce corpus.
_OF_JDDC = same_settings(("adapt-paper", "dialogue-cse:paper"), max_length=100)
_OF_MDC = {"dialogue-cse:paper": {"min_turns": 2}}

_DATA = (
    DataSet("sgd", "Schema-Guided Dialogue", _RETRIEVAL, SGD),
    DataSet(
        "ecd",
        "E-commerce corpus (released)",
        _RELEASED,
        released(("ecd/test", "ecd/dev"), "ecd/train/train_data.txt", "ecd"),
    ),
    DataSet(
        "jddc",
        "Jing Dong corpus (released)",
        _RELEASED,
        released(("jddc/test", "jddc/dev"), "jddc/train"),
        settings=_OF_JDDC,
    ),
    DataSet(
        "mdc",
        "Microsoft dialogue corpus (released)",
        _RELEASED,
        released(("mdc/test", "mdc/dev"), "mdc/train"),
        settings=_OF_MDC,
    ),
    sample_corpus(_RETRIEVAL),
)

# --- Studies

# Adapted first, as in the paper, whose settings DialogueCSE has. Its Figure 3 and Tables 3 and 4 leave out MDC, whose
# utterances have few intents.
_STUDIED = ("dialogue-cse-paper", "siamese-multi-adapted")

_STUDIES = (
    Study(
        "turns",
        "Turn number (Figure 2)",
        _STUDIED,
        "context_turns",
        (1, 2, 3, 4, 5),
        {"dialogue-cse-paper": {"context_count": "in-all"}},  # as many turns as SiameseBERT_M joins, not twice as many
    ),
    Study("data-size", "Data size (Figure 3)", _STUDIED, "train_conversations", (50, 200, 800, 3200), not_on=("mdc",)),
    Study("temperature", "Temperature (Table 3)", _STUDIED[:1], "temperature", (0.05, 0.1, 0.2, 0.5), not_on=("mdc",)),
    Study("negatives", "Negatives (Table 4)", _STUDIED[:1], "negatives", (1, 4, 9, 19), not_on=("mdc",)),
)

# --- Sizes of runs

_CONTRASTIVE = ("siamese", "dialogue-cse")
_GENERAL = ("adapt", "simcse")

SUITE = Suite(
    name="dialoguecse",
    paper="DialogueCSE (Liu et al., EMNLP 2021)",
    level="message",
    methods=_METHODS,
    validates="semantic-retrieval",
    data=_DATA,
    studies=_STUDIES,
    full=Scale(
        settings=same_settings(_CONTRASTIVE, max_steps=150) | same_settings(_GENERAL, max_steps=300), queries=800
    ),
    quick=Scale(
        settings={
            **same_settings(_CONTRASTIVE, max_steps=15, batch_size=8),
            **same_settings((*_GENERAL, "adapt-paper", "dialogue-cse:paper"), max_steps=15),
        },
        train=400,
        test=300,
        queries=100,
        studies=False,
    ),
)
