"""Short-term planning: which next utterance leads to a goal? (triple-encoders, ACL 2024, sections 4.2 and 6.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from turnlens._utils.progress import progress_bar
from turnlens._utils.vectors import BoolArray, FloatArray, IntArray
from turnlens.errors import ConversationError
from turnlens.evaluation.scoring import DECIMALS
from turnlens.evaluation.task import Task
from turnlens.papers.citations import TRIPLE_ENCODERS
from turnlens.papers.next_message.scores import ContextScores, TiedRanks
from turnlens.papers.next_message.sequences import TURNS, EmbeddedSequences, Sequences, reply_task
from turnlens.papers.triple_encoders.modes import EmbeddedViews
from turnlens.papers.triple_encoders.planning import bi_plan_scores, triple_plan_scores

# A context and the next speaker -> what could be said; called with the keyword ``speaker``.
Candidates = Callable[..., Sequence[str]]
# The conversation and the turns of a context -> the candidates besides the true utterance, indices of texts.
OtherCandidates = Callable[[int, int], IntArray]


@dataclass(frozen=True, eq=False)
class Plan:
    """One context with its candidates, the true utterance first, and one goal.

    Args:
        conversation: Whose context it is.
        turn: Turns of the context.
        distance: Turns from the utterance to the goal.
        candidates: (candidates,) indices of texts.
    """

    conversation: int
    turn: int
    distance: int
    candidates: IntArray

    def relations(self, sequences: Sequences) -> BoolArray:
        """Return whether the speaker of each turn of the context, and of the candidates, is the goal's: (turn + 1,)."""
        role = sequences.role[self.conversation]
        return np.asarray(role[: self.turn + 1] == role[self.turn + self.distance])


def check_reach(lengths: Sequence[int], distances: Sequence[int]) -> None:
    """Raise ``ValueError`` if a goal could lie before the utterance, or beyond the turns that are considered."""
    if min(lengths) < 1 or min(distances) < 1 or max(lengths) + max(distances) >= TURNS:
        problem = f"1 or more, and together less than {TURNS}, got {tuple(lengths)} and {tuple(distances)}"
        raise ValueError(f"context lengths and goal distances must be {problem}")


def find_plans(
    sequences: Sequences, others: OtherCandidates, lengths: Sequence[int], distances: Sequence[int]
) -> list[Plan]:
    """All contexts that have a goal and another candidate. All goals of a context share its candidates.

    Raises:
        ConversationError: There is none.
    """
    plans = []
    contexts = [
        (turn, conversation)
        for turn in lengths
        for conversation in np.intersect1d(sequences.queries, sequences.reaching(turn)).tolist()
    ]
    with progress_bar() as bar:
        for turn, conversation in bar.track(contexts, description="candidates"):
            text = sequences.text[conversation]
            goals = [distance for distance in distances if text[turn + distance] >= 0]
            alternatives = others(conversation, turn) if goals else np.zeros(0, dtype=np.int64)
            if len(alternatives):
                candidates = np.concatenate([text[turn, None], alternatives])
                plans += [Plan(conversation, turn, distance, candidates) for distance in goals]
    if not plans:
        shortest = min(lengths) + 1 + min(distances)
        problem = f"at least 2 conversations of {shortest} or more messages (context, next utterance, goal) are needed"
        raise ConversationError("conversations", problem)
    return plans


def drawn_candidates(sequences: Sequences, seed: int, count: int) -> OtherCandidates:
    """Random utterances at the same depth of other conversations; equal texts are drawn as often as they occur."""

    def others(conversation: int, turn: int) -> IntArray:
        pool = sequences.reaching(turn)
        texts = sequences.text[pool[pool != conversation], turn]
        generator = np.random.default_rng([seed, conversation, turn])
        return generator.choice(texts, min(count, len(texts)), replace=False)

    return others


def given_candidates(sequences: Sequences, candidates: Candidates, numbers: dict[str, int]) -> OtherCandidates:
    """The candidates that a function gives.

    Args:
        sequences: The conversations.
        candidates: The function.
        numbers: Text -> its index; texts that are new get the next indices.
    """

    def others(conversation: int, turn: int) -> IntArray:
        speaker = sequences.roles[sequences.role[conversation, turn]]
        given = candidates(sequences.messages(conversation, turn), speaker=speaker)
        texts = [text for text in map(str.strip, given) if text]
        return np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)

    return others


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


SHORT_TERM_PLANNING = reply_task(
    name="short-term-planning",
    metric="average_rank",
    description="Rank utterances by how well they lead to a goal: does the one that did come first?",
    citation=TRIPLE_ENCODERS,
    measure=evaluate_short_term_planning,
)


def planning_with(candidates: Candidates) -> Task:
    """The task with candidates that a function gives, see ``evaluate_short_term_planning``."""
    return replace(SHORT_TERM_PLANNING, measure=partial(evaluate_short_term_planning, candidates=candidates))
