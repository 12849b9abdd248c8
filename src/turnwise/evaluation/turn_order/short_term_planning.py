"""Short-term planning: which next utterance leads to a goal? (triple-encoders, ACL 2024, sections 4.2 and 6.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from turnwise._utils.progress import progress_bar
from turnwise.data.messages import Message
from turnwise.errors import ConversationError
from turnwise.evaluation.scoring import DECIMALS
from turnwise.evaluation.turn_order.context_scores import RANK, ContextScores
from turnwise.evaluation.turn_order.places import Places
from turnwise.evaluation.turn_order.sequences import TURNS, EmbeddedSequences, Sequences
from turnwise.replies.planning import bi_plan_scores, triple_plan_scores

IntArray = NDArray[np.int64]
# A context and who speaks next -> what could be said; called with the keyword ``speaker``.
Candidates = Callable[..., Sequence[str]]

LENGTHS = (2, 5, 10)  # turns of a context, as in the paper
DISTANCES = (1, 2, 3, 4)  # turns from the utterance to the goal, likewise
_HITS = (5, 10, 25, 50)


@dataclass(frozen=True, eq=False)
class PlanningResult:
    """The rank of every true utterance among candidates by how well they lead to the goal.

    Args:
        modes: ``"bi"``, and ``"triple"`` of a triple-encoder -> the figures; ``compare_results`` takes two of them.
        context_length: (contexts,) turns before the utterance.
        distance: (contexts,) turns from the utterance to the goal.
        seed: Seed of the candidates and of the bootstrap.
    """

    modes: dict[str, ContextScores]
    context_length: IntArray
    distance: IntArray
    seed: int

    def summary(self) -> dict[str, object]:
        """For each mode the means over all contexts, and by context length and goal distance, ready for JSON."""
        found: dict[str, object] = {}
        for mode, scores in self.modes.items():
            lengths: dict[str, dict[str, object]] = {}
            for length, distance in sorted(set(zip(self.context_length.tolist(), self.distance.tolist()))):
                chosen = (self.context_length == length) & (self.distance == distance)
                lengths.setdefault(str(length), {})[str(distance)] = scores.means(chosen)
            found[mode] = {**scores.summary(self.seed), "by_context_length_and_distance": lengths}
        return found


@dataclass(frozen=True, eq=False)
class _Plan:
    """One context with its candidates, the true utterance first, and one goal."""

    conversation: int
    turn: int
    distance: int
    candidates: IntArray


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
        candidates: Gives the other candidates, ``candidates(context, speaker=next_speaker)``, such as
            ``partial(turnwise.replies.generate_candidates, "microsoft/DialoGPT-medium")``. By default utterances at
            the same depth of other conversations; equal texts are drawn as often as they occur.
        lengths: Turns of the context.
        distances: Turns from the utterance to the goal.
        count: How many to draw; all where there are fewer.

    Raises:
        ValueError: A length or distance is out of range.
        ConversationError: No conversation is long enough.
    """
    plans, embedded = _plans(embedded, seed, candidates, lengths, distances, count)
    names = ("triple", "bi") if embedded.triple else ("bi",)
    _encode(embedded, plans)
    above, size = np.zeros((2, len(names), len(plans)), dtype=np.int64)
    with progress_bar() as bar:
        for number, plan in enumerate(bar.track(plans, description="ranking plans")):
            for mode, name in enumerate(names):
                scores = _scores(embedded, plan, name)
                above[mode, number] = (scores > scores[0]).sum()
                size[mode, number] = (scores == scores[0]).sum()
    contexts = [np.array([plan.conversation for plan in plans])]
    first = np.arange(max(len(plan.candidates) for plan in plans))
    modes = {}
    for mode, name in enumerate(names):
        places = Places(above[mode], size[mode])
        values = {f"hits_at_{k}": places.expected((first < k).astype(np.float64)) for k in _HITS}
        modes[name] = ContextScores.of(embedded.sequences, contexts, {RANK: places.rank(), **values})
    length, distance = (np.array([getattr(plan, name) for plan in plans]) for name in ("turn", "distance"))
    return PlanningResult(modes, length, distance, seed)


def _plans(
    embedded: EmbeddedSequences,
    seed: int,
    candidates: Candidates | None,
    lengths: Sequence[int],
    distances: Sequence[int],
    count: int,
) -> tuple[list[_Plan], EmbeddedSequences]:
    """All contexts with candidates and goals, and the embeddings of what new texts the candidates brought."""
    sequences = embedded.sequences
    if min(lengths) < 1 or min(distances) < 1 or max(lengths) + max(distances) >= TURNS:
        problem = f"1 or more, and together less than {TURNS}, got {tuple(lengths)} and {tuple(distances)}"
        raise ValueError(f"context lengths and goal distances must be {problem}")
    numbers = {text: number for number, text in enumerate(sequences.texts)}
    plans = []
    with progress_bar() as bar:
        for turn in bar.track(lengths, description="candidates"):
            pool = sequences.reaching(turn)
            for conversation in np.intersect1d(sequences.queries, pool).tolist():
                goals = [step for step in distances if sequences.text[conversation, turn + step] >= 0]
                if not goals:
                    continue
                if candidates is None:
                    others = sequences.text[pool[pool != conversation], turn]
                    generator = np.random.default_rng([seed, conversation, turn])
                    others = generator.choice(others, min(count, len(others)), replace=False)
                else:
                    texts = _asked(candidates, sequences, conversation, turn)
                    others = np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)
                if len(others):
                    chosen = np.concatenate([sequences.text[conversation, turn, None], others])
                    plans += [_Plan(conversation, turn, step, chosen) for step in goals]
    if not plans:
        shortest = min(lengths) + 1 + min(distances)
        problem = f"at least 2 conversations of {shortest} or more messages (context, next utterance, goal) are needed"
        raise ConversationError("conversations", problem)
    if len(numbers) > len(sequences.texts):
        embedded = EmbeddedSequences(embedded.encoder, replace(sequences, texts=tuple(numbers)))
    return plans, embedded


def _asked(candidates: Candidates, sequences: Sequences, conversation: int, turn: int) -> list[str]:
    context: list[Message] = sequences.messages(conversation, turn)
    speaker = sequences.roles[sequences.role[conversation, turn]]
    return [text for text in map(str.strip, candidates(context, speaker=speaker)) if text]


def _relations(sequences: Sequences, plan: _Plan) -> NDArray[np.bool_]:
    """Whether the speaker of each turn of the context, and of the candidates, is the goal's: (turn + 1,)."""
    role = sequences.role[plan.conversation]
    return np.asarray(role[: plan.turn + 1] == role[plan.turn + plan.distance])


def _encode(embedded: EmbeddedSequences, plans: Sequence[_Plan]) -> None:
    sequences = embedded.sequences
    same = [_relations(sequences, plan) for plan in plans]
    said = [np.full(len(plan.candidates), relation[-1]) for plan, relation in zip(plans, same)]
    embedded.prepare("before", np.concatenate([plan.candidates for plan in plans]), np.concatenate(said))
    if embedded.triple:
        context = np.concatenate([sequences.text[plan.conversation, : plan.turn] for plan in plans])
        embedded.prepare("before1", context, np.concatenate([relation[:-1] for relation in same]))
    goals = [sequences.text[plan.conversation, plan.turn + plan.distance] for plan in plans]
    embedded.prepare("after", np.array(goals))


def _scores(embedded: EmbeddedSequences, plan: _Plan, name: str) -> NDArray[np.float64]:
    """The scores of the candidates, ties exact: (candidates,)."""
    sequences, same = embedded.sequences, _relations(embedded.sequences, plan)
    text = sequences.text[plan.conversation]
    goal = embedded.rows("after", text[plan.turn + plan.distance]).astype(np.float64)
    before = embedded.rows("before", plan.candidates, bool(same[-1])).astype(np.float64)
    if name == "bi":
        scores = bi_plan_scores(before, goal)
    else:
        before1 = embedded.rows("before1", text[: plan.turn], same[:-1]).astype(np.float64)
        scores = triple_plan_scores(before1, before, goal)
    return np.asarray(scores.round(DECIMALS))
