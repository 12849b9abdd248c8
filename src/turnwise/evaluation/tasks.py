"""The table of evaluation tasks."""

from __future__ import annotations

from turnwise._utils.citations import DIAL2VEC, DIALOGUE_CSE, TRIPLE_ENCODERS
from turnwise._utils.names import check_task
from turnwise.data.messages import Conversations
from turnwise.evaluation.dialogues.alignment_uniformity import evaluate_alignment_uniformity
from turnwise.evaluation.dialogues.dialogue_retrieval import evaluate_dialogue_retrieval
from turnwise.evaluation.dialogues.domain_categorization import (
    evaluate_categorization,
    evaluate_published_categorization,
)
from turnwise.evaluation.dialogues.labelled import LabelledDialogues, labelled_dialogues
from turnwise.evaluation.dialogues.semantic_relatedness import evaluate_relatedness
from turnwise.evaluation.levels import DIALOGUE, TURN_ORDER, UTTERANCE
from turnwise.evaluation.task import LoadSettings, Task
from turnwise.evaluation.turn_order.additivity import evaluate_additivity
from turnwise.evaluation.turn_order.next_utterance import evaluate_components, evaluate_next_utterance
from turnwise.evaluation.turn_order.sequences import Sequences, build_sequences
from turnwise.evaluation.turn_order.short_term_planning import evaluate_short_term_planning
from turnwise.evaluation.utterances.dialogue_sts import evaluate_sts, read_sts_task
from turnwise.evaluation.utterances.retrieval_with_history import (
    build_retrieval_with_history,
    evaluate_retrieval_with_history,
)
from turnwise.evaluation.utterances.semantic_retrieval import (
    build_retrieval_task,
    evaluate_retrieval,
    read_retrieval_task,
)


def _build_dialogues(rows: Conversations, how: LoadSettings) -> LabelledDialogues:
    return labelled_dialogues(rows, how.dialogue_label, how.max_queries, how.seed)


def _build_sequences(rows: Conversations, how: LoadSettings) -> Sequences:
    return build_sequences(rows, how.max_queries, how.seed)


TASKS = {
    task.name: task
    for task in (
        Task(
            name="semantic-retrieval",
            level=UTTERANCE,
            metric="map",
            description="Rank 100 BM25 candidates of an utterance: do those of the same intent come first?",
            citation=DIALOGUE_CSE,
            measure=evaluate_retrieval,
            released_file="select.txt",
            read=lambda path, how: read_retrieval_task(path, how.max_queries, how.seed),
            build=lambda rows, how: build_retrieval_task(rows, how.label, max_queries=how.max_queries, seed=how.seed),
        ),
        Task(
            name="semantic-retrieval-with-history",
            level=UTTERANCE,
            metric="map",
            description="The same, to the vector of each utterance added those of what was said before it.",
            citation=DIALOGUE_CSE,
            measure=evaluate_retrieval_with_history,
            build=lambda rows, how: build_retrieval_with_history(rows, how.label, how.max_queries, how.seed),
        ),
        Task(
            name="dialogue-sts",
            level=UTTERANCE,
            metric="spearman",
            description="Does the cosine of two utterances follow the similarity people gave them?",
            citation=DIALOGUE_CSE,
            measure=evaluate_sts,
            released_file="sts.txt",
            read=lambda path, how: read_sts_task(path),
        ),
        Task(
            name="domain-categorization",
            level=DIALOGUE,
            metric="purity",
            description="Do clusters of whole dialogues agree with their labels?",
            citation=DIAL2VEC,
            measure=evaluate_categorization,
            build=_build_dialogues,
        ),
        Task(
            name="domain-categorization-published",
            level=DIALOGUE,
            metric="purity",
            description="The same with k-means as in dial2vec's code: embeddings not scaled, the best of ten starts.",
            citation=DIAL2VEC,
            measure=evaluate_published_categorization,
            build=_build_dialogues,
        ),
        Task(
            name="semantic-relatedness",
            level=DIALOGUE,
            metric="spearman",
            description="Is the cosine of two dialogues higher when they share their label?",
            citation=DIAL2VEC,
            measure=evaluate_relatedness,
            build=_build_dialogues,
        ),
        Task(
            name="dialogue-retrieval",
            level=DIALOGUE,
            metric="map",
            description="Rank all other dialogues: do those of the same label come first?",
            citation=DIAL2VEC,
            measure=evaluate_dialogue_retrieval,
            build=_build_dialogues,
        ),
        Task(
            name="alignment-uniformity",
            level=DIALOGUE,
            metric="adjusted_alignment",
            description="Are dialogues of one label close, and all of them spread out? Lower is better.",
            citation=DIAL2VEC,
            measure=evaluate_alignment_uniformity,
            build=_build_dialogues,
        ),
        Task(
            name="next-utterance",
            level=TURN_ORDER,
            metric="average_rank",
            description="Rank all utterances at one depth: does the one that was said come first?",
            citation=TRIPLE_ENCODERS,
            measure=evaluate_next_utterance,
            build=_build_sequences,
        ),
        Task(
            name="component-analysis",
            level=TURN_ORDER,
            metric="average_rank",
            description="Next utterance with parts of a triple-encoder only: which of them matter?",
            citation=TRIPLE_ENCODERS,
            measure=evaluate_components,
            build=_build_sequences,
        ),
        Task(
            name="short-term-planning",
            level=TURN_ORDER,
            metric="average_rank",
            description="Rank utterances by how well they lead to a goal: does the one that did come first?",
            citation=TRIPLE_ENCODERS,
            measure=evaluate_short_term_planning,
            build=_build_sequences,
            takes_candidates=True,
        ),
        Task(
            name="additivity",
            level=TURN_ORDER,
            metric="difference",
            description="Are contexts closer to the true next utterance than to others, and which turns make them so?",
            citation=TRIPLE_ENCODERS,
            measure=evaluate_additivity,
            build=_build_sequences,
        ),
    )
}


def find_task(name: str) -> Task:
    """The task of that name, with hyphens or underscores.

    Raises:
        ValueError: There is none; the message lists those there are.
    """
    return TASKS[check_task(name)]
