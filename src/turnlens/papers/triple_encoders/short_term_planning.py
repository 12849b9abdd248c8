"""Short-term planning: which next utterance leads to a goal? (triple-encoders, ACL 2024, sections 4.2 and 6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from turnlens._utils.progress import progress_bar
from turnlens._utils.vectors import FloatArray, IntArray
from turnlens.evaluation.scoring import DECIMALS
from turnlens.evaluation.task import Task
from turnlens.papers.citations import TRIPLE_ENCODERS
from turnlens.papers.next_message.scores import ContextScores, TiedRanks
from turnlens.papers.next_message.sequences import REPLY, EmbeddedSequences, build_task_sequences
from turnlens.papers.triple_encoders.embedded_views import EmbeddedViews
from turnlens.papers.triple_encoders.planning import bi_plan_scores, triple_plan_scores
from turnlens.papers.triple_encoders.plans import (
    Candidates,
    Plan,
    check_reach,
    drawn_candidates,
    find_plans,
    given_candidates,
)

LENGTHS = (2, 5, 10)  # turns of a context, as in the paper
DISTANCES = (1, 2, 3, 4)  # turns from the utterance to the goal, as in the paper
_HITS = (5, 10, 25, 50)


@dataclass(frozen=True, eq=False)
class PlanningResult:
    """The rank of every true utterance among candidates by how well they lead to the goal.

    Args:
        modes: ``"bi"``, and ``"triple"`` of a triple-encoder -> the figures; ``compare_results`` takes two of them.
        context_length: (contexts,) turns before the utterance.
        distance: (contexts,) turns from the utterance to the goal.
        candidates: (contexts,) utterances that are ranked, the true one included.
        seed: Seed of the candidates and of the bootstrap.
    """

    modes: dict[str, ContextScores]
    context_length: IntArray
    distance: IntArray
    candidates: IntArray
    seed: int

    def summary(self) -> dict[str, object]:
        """For each mode the means over all contexts, and by context length and goal distance, ready for JSON."""
        summaries: dict[str, object] = {}
        for mode, scores in self.modes.items():
            lengths: dict[str, dict[str, object]] = {}
            for length, distance in sorted(set(zip(self.context_length.tolist(), self.distance.tolist()))):
                chosen = (self.context_length == length) & (self.distance == distance)
                means = {**scores.means(chosen), "candidates": float(self.candidates[chosen].mean())}
                lengths.setdefault(str(length), {})[str(distance)] = means
            summaries[mode] = {**scores.summary(self.seed), "by_context_length_and_distance": lengths}
        return summaries


def evaluate_short_term_planning(
    embedded: EmbeddedSequences,
    seed: int = 0,
    candidates: Candidates | None = None,
    lengths: Sequence[int] = LENGTHS,
    distances: Sequence[int] = DISTANCES,
    count: int = 100,
) -> PlanningResult:
    """Rank what was really said among other candidates by how well it leads to what was said some turns later.

    Args:
        embedded: From ``build_sequences`` and an encoder.
        seed: Seed of the candidates drawn and of the bootstrap.
        candidates: A function that gives the other candidates, ``candidates(context, speaker=next_speaker)``, such as
            ``turnlens.papers.GeneratedCandidates("microsoft/DialoGPT-medium")``. By default they are utterances at the
            same depth of other conversations; equal texts are drawn as often as they occur.
        lengths: Turns of the context.
        distances: Turns from the utterance to the goal.
        count: How many candidates to draw; all where there are fewer.

    Raises:
        ValueError: A length or distance is out of range.
        ConversationError: No conversation is long enough.
    """
    check_reach(lengths, distances)
    sequences = embedded.sequences
    numbers = {text: number for number, text in enumerate(sequences.texts)}
    if candidates is None:
        others = drawn_candidates(sequences, seed, count)
    else:
        others = given_candidates(sequences, candidates, numbers)
    plans = find_plans(sequences, others, lengths, distances)
    if len(numbers) > len(sequences.texts):  # candidates that nobody said
        embedded = EmbeddedSequences(embedded.encoder, replace(sequences, texts=tuple(numbers)))
    views = EmbeddedViews(embedded)
    _encode(views, plans)
    first = np.arange(max(len(plan.candidates) for plan in plans))
    tables = {f"hits_at_{k}": (first < k).astype(np.float64) for k in _HITS}
    contexts = [np.array([plan.conversation for plan in plans])]
    modes = {
        name: ContextScores.of(sequences, contexts, ranks.figures(tables))
        for name, ranks in _ranks(views, plans).items()
    }
    length, distance = (np.array([getattr(plan, name) for plan in plans]) for name in ("turn", "distance"))
    counts = np.array([len(plan.candidates) for plan in plans])
    return PlanningResult(modes, length, distance, counts, seed)


def _encode(views: EmbeddedViews, plans: Sequence[Plan]) -> None:
    sequences = views.embedded.sequences
    same = [plan.relations(sequences) for plan in plans]
    candidate_relations = [np.full(len(plan.candidates), relations[-1]) for plan, relations in zip(plans, same)]
    views.prepare("before", np.concatenate([plan.candidates for plan in plans]), np.concatenate(candidate_relations))
    if views.triple:
        context = np.concatenate([sequences.text[plan.conversation, : plan.turn] for plan in plans])
        views.prepare("before1", context, np.concatenate([relations[:-1] for relations in same]))
    goals = [sequences.text[plan.conversation, plan.turn + plan.distance] for plan in plans]
    views.prepare("after", np.array(goals))


def _ranks(views: EmbeddedViews, plans: Sequence[Plan]) -> dict[str, TiedRanks]:
    """The rank of the true utterance of every plan, in each mode."""
    names = ("triple", "bi") if views.triple else ("bi",)
    above, tied = np.zeros((2, len(names), len(plans)), dtype=np.int64)
    with progress_bar() as bar:
        for number, plan in enumerate(bar.track(plans, description="ranking plans")):
            for mode, name in enumerate(names):
                scores = _scores(views, plan, name)
                above[mode, number] = (scores > scores[0]).sum()
                tied[mode, number] = (scores == scores[0]).sum()
    return {name: TiedRanks(above[mode], tied[mode]) for mode, name in enumerate(names)}


def _scores(views: EmbeddedViews, plan: Plan, name: str) -> FloatArray:
    """The scores of the candidates, ties exact: (candidates,)."""
    same, text = plan.relations(views.embedded.sequences), views.embedded.sequences.text[plan.conversation]
    goal = views.rows("after", text[plan.turn + plan.distance]).astype(np.float64)
    before = views.rows("before", plan.candidates, bool(same[-1])).astype(np.float64)
    if name == "bi":
        scores = bi_plan_scores(before, goal)
    else:
        before1 = views.rows("before1", text[: plan.turn], same[:-1]).astype(np.float64)
        scores = triple_plan_scores(before1, before, goal)
    return np.asarray(scores.round(DECIMALS))


SHORT_TERM_PLANNING = Task(
    name="short-term-planning",
    level=REPLY,
    metric="average_rank",
    description="Rank utterances by how well they lead to a goal: does the one that did come first?",
    citation=TRIPLE_ENCODERS,
    measure=evaluate_short_term_planning,
    build=build_task_sequences,
)


def planning_with(candidates: Candidates) -> Task:
    """The task with candidates that a function gives, see ``evaluate_short_term_planning``."""
    return replace(SHORT_TERM_PLANNING, measure=partial(evaluate_short_term_planning, candidates=candidates))
