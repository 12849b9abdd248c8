"""The step that chooses how much of what an encoder has learned is kept, and the one that tells what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from turnlens._utils.vectors import FloatArray, bootstrap_interval
from turnlens.data.messages import Messages
from turnlens.training.apart import add_learned
from turnlens.training.held_out import HeldOut, compare_figures
from turnlens.training.recipes.in_context import InContext
from turnlens.training.run import Run, Step
from turnlens.training.state import TrainingState

Shares = dict[str, float]  # of what each step has learned


@dataclass(frozen=True)
class Choose(Step):
    """Add to the given weights the shares of what was learned that suit the held-out conversations best.

    The best have the most stable groups. Nothing is added unless these are more stable by the 95 % intervals over
    conversations and over the draws of halves by which stability is told. If most conversations have two sides, it is
    enough that next messages gain by their interval and groups do not lose by theirs: groups of noisy messages are
    never stable, and what is said next by somebody else is no repetition. The record tells which shares were added
    (``learned``, empty if none), and ``held_out`` are the vectors of the held-out messages then.

    Attributes:
        recipe: How messages are read.
        shares: What is compared.
        two_sides: Most conversations have two sides.
        keep_anyway: Keep what was learned even if the held-out conversations are no better for it.
    """

    recipe: InContext
    shares: list[Shares]
    two_sides: bool
    keep_anyway: bool
    name: str = "choice"

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        held, judge = held_out_of(state)
        before = state.vectors["alone"][: len(judge.text)]
        tried = []
        for shares in self.shares:
            vectors = self.recipe.alone(add_learned(state, shares), held)
            tried.append((shares, vectors, judge.stability(vectors)))
        learned, vectors, stability = max(tried, key=lambda option: option[2].mean())
        if not self.keep_anyway and not self._is_better(judge, before, vectors, stability):
            learned, vectors = Shares(), before
        add_learned(state, learned)
        state.record["learned"], state.vectors["held_out"] = learned, vectors
        state.learned.clear()

    def _is_better(self, judge: HeldOut, before: FloatArray, after: FloatArray, stability: FloatArray) -> bool:
        """Whether vectors of the held-out messages, whose groups are so stable, are better than those before."""
        gain = stability - judge.stability(before)  # (draws, conversations)
        lows, highs = zip(*(bootstrap_interval(gain.mean(axis)) for axis in (0, 1)))
        if min(lows) > 0:
            return True
        if not self.two_sides or max(highs) < 0:
            return False
        return bootstrap_interval(judge.next_message(after) - judge.next_message(before))[0] > 0


@dataclass(frozen=True)
class Judge(Step):
    """Put into the record how good the encoder and its head are on the held-out conversations, and how they were."""

    name: str = "figures"

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        held, judge = held_out_of(state)
        before = judge.figures(state.vectors["alone"][: len(judge.text)])
        figures = compare_figures(before, judge.figures(state.vectors["held_out"], state.encoder.reply_head))
        state.record["held_out"] = {"conversations": len(held), "messages": len(judge.text), "figures": figures}


def held_out_of(state: TrainingState) -> tuple[list[Messages], HeldOut]:
    """The held-out conversations, and what judges an encoder by its vectors of their messages."""
    held: list[Messages] = [] if state.held_out is None else state.held_out["messages"][:]
    return held, HeldOut.of(held, state.vectors["in_context"][: sum(map(len, held))])
