"""dial2vec (Liu et al., EMNLP 2022): Tables 2 to 5, and Figure 3 as a study."""

from __future__ import annotations

from turnlens.papers.experiments.scoring import baseline_row, mean_of_utterances, one_interlocutor, whole_dialogue
from turnlens.papers.experiments.suite import (
    SGD,
    DataSet,
    Method,
    Scale,
    Stage,
    Study,
    Suite,
    files,
    same_settings,
    sample_corpus,
)

# --- Rows

_DIAL2VEC = (Stage("dial2vec"),)
_PAPER = (Stage("dial2vec:paper"),)
# Footnote 1: BERT knows no turns and roles, so tokens that end turns are all there is.
_BERT = (Stage("dial2vec:paper", {"turn_inputs": False, "relative_positions": False}),)

# Tables 4 and 5.
_POOLINGS = (
    ("-p1", "who starts", one_interlocutor(first=True)),
    ("-p2", "the other", one_interlocutor(first=False)),
    ("-mean", "mean pooling", whole_dialogue("mean")),
    ("", "interlocutor pooling", whole_dialogue("interlocutor")),
)

# The language models of Table 2, as in the authors' code. They are run if the Hugging Face cache has their weights.
_MODELS = {
    "bert": ("BERT", "bert-base-uncased"),
    "roberta": ("RoBERTa", "roberta-base"),
    "t5": ("T5", "t5-base"),
    "tod-bert": ("TOD-BERT", "TODBERT/TOD-BERT-JNT-V1"),
    "blender": ("Blender", "facebook/blenderbot-3B"),
}

_METHODS = (
    Method("untouched", "encoder, untouched: whole text, mean", whole_dialogue("mean")),
    baseline_row("bm25", "conversation", "BM25"),
    baseline_row("lda", "conversation", "LDA"),
    baseline_row("tf-idf", "conversation", "TF-IDF"),
    baseline_row("glove", "conversation", "averaged GloVe"),
    baseline_row("word2vec", "conversation", "averaged word2vec, on the corpus"),
    baseline_row("doc2vec", "conversation", "Doc2Vec"),
    *(baseline_row("hf", "conversation", title, name=name, model=model) for name, (title, model) in _MODELS.items()),
    Method("messages", "messages weighted by tokens, encoder", whole_dialogue("messages")),
    Method("mean-of-utterances", "mean of utterances, encoder", mean_of_utterances),
    Method("simcse", "mean of utterances, SimCSE", mean_of_utterances, (Stage("simcse"),)),
    Method("dialogue-cse", "mean of utterances, DialogueCSE", mean_of_utterances, (Stage("dialogue-cse"),)),
    baseline_row("mean", "conversation", "first turns that fit, mean of tokens"),
    Method("untouched-p1", "encoder, untouched: who starts", one_interlocutor(first=True)),
    Method("untouched-p2", "encoder, untouched: the other", one_interlocutor(first=False)),
    Method("untouched-interlocutor", "encoder, untouched: interlocutor pooling", whole_dialogue("interlocutor")),
    *(
        Method(name + suffix, f"{title}: {pooling}", represent, stages)
        for name, title, stages in (
            ("dial2vec", "dial2vec", _DIAL2VEC),
            ("dial2vec-paper", "dial2vec, settings of the paper", _PAPER),
        )
        for suffix, pooling, represent in _POOLINGS
    ),
    Method("dial2vec-bert", "dial2vec from BERT (footnote 1)", whole_dialogue("interlocutor"), _BERT),
)

# --- Data sets

_TASKS = ("domain-categorization", "semantic-relatedness", "conversation-retrieval", "alignment-uniformity")

_DATA = (
    DataSet("sgd", "Schema-Guided Dialogue", _TASKS, SGD),
    DataSet("self-dialogue", "Self-dialogue", _TASKS, files("self_dialogue/train", "self_dialogue/dev")),
    DataSet("bitod", "BiTOD", _TASKS, files("bitod/train", "bitod/test", "bitod/dev")),
    DataSet("doc2dial", "Doc2dial", _TASKS, files("doc2dial/train", "doc2dial/test", "doc2dial/dev")),
    DataSet("metalwoz", "MetalWOZ", _TASKS, files("metalwoz/train", "metalwoz/test", "metalwoz/dev")),
    DataSet("multiwoz", "MultiWOZ", _TASKS, files("multiwoz/train", "multiwoz/test", "multiwoz/dev")),
    sample_corpus(_TASKS),
)

# --- Studies and sizes of runs

_STEPS = Study(
    "steps",
    "Alignment and uniformity while training (Figure 3)",
    ("dial2vec", "dial2vec-bert"),
    "max_steps",
    (10, 30, 60),
)

SUITE = Suite(
    name="dial2vec",
    paper="dial2vec (Liu et al., EMNLP 2022)",
    level="conversation",
    methods=_METHODS,
    validates="domain-categorization",
    pooling="interlocutor",
    data=_DATA,
    studies=(_STEPS,),
    full=Scale(
        settings={
            **same_settings(("dial2vec", "dial2vec:paper"), max_steps=60),
            "dialogue-cse": {"max_steps": 150},
            "simcse": {"max_steps": 300},
        }
    ),
    quick=Scale(
        settings={
            "dial2vec": {"max_steps": 8, "negatives_per_dialogue": 4},
            "dial2vec:paper": {"max_steps": 2, "negatives_per_dialogue": 4},
            **same_settings(("dialogue-cse", "simcse"), max_steps=15),
        },
        train=400,
        test=300,
        studies=False,
    ),
)
