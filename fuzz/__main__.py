"""``python -m fuzz``: every target in turn, for some minutes in all."""

from __future__ import annotations

import argparse
import hashlib
import logging
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings

from fuzz.targets import TARGETS, Input

FOUND = Path(__file__).parent / "found"
_EXAMPLES = 500  # between two looks at the clock


class Counted:
    """A target's check, with the number of inputs and the last one that failed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inputs = 0
        self.failed: Input | None = None

    def __call__(self, given_input: Input) -> None:
        self.inputs += 1
        try:
            TARGETS[self.name].check(given_input)
        except BaseException:
            self.failed = given_input
            raise

    def keep(self) -> Path:
        """Write the last input that failed where a test tries it again."""
        assert self.failed is not None
        digest = hashlib.blake2b(self.failed.content, digest_size=4).hexdigest()
        path = FOUND / self.name / f"{self.failed.format}-{digest}" / self.failed.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.failed.content)
        return path


def property_of(
    check: Callable[[Input], None], name: str, examples: int = _EXAMPLES, derandomize: bool = False
) -> Callable[[], None]:
    """The target as a Hypothesis property."""
    quiet = settings(
        max_examples=examples,
        derandomize=derandomize,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        print_blob=False,
    )
    return quiet(given(TARGETS[name].inputs)(check))


def searched(name: str, seconds: float) -> bool:
    """Try a target; return True if nothing was found."""
    counted = Counted(name)
    test = property_of(lambda given_input: counted(given_input), name)
    end = time.monotonic() + seconds
    clean = True
    while time.monotonic() < end and clean:
        try:
            test()
        except Exception as error:
            if counted.failed is None:
                raise
            clean = False
            traceback.print_exception(error, limit=-4)
            print(f"kept {counted.keep()}")
    found = "nothing" if clean else "something"
    print(f"{name}: tried {counted.inputs:,} inputs, {found} found", flush=True)
    return clean


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Try what nobody means to give.")
    parser.add_argument("--minutes", type=float, default=10, help="in all, shared by the targets")
    parser.add_argument("--target", choices=TARGETS, action="append", help="may be repeated; by default all")
    parsed = parser.parse_args()
    logging.disable(logging.WARNING)  # of rows left out
    names = parsed.target or list(TARGETS)
    # The readers of conversations are most of the code.
    shares = {name: 4.0 if name == "conversations" else 1.0 for name in names}
    seconds = parsed.minutes * 60 / sum(shares.values())
    clean = [searched(name, seconds * shares[name]) for name in names]
    sys.exit(0 if all(clean) else 1)


if __name__ == "__main__":
    main()
