"""``python -m fuzz``: every target in turn, for some minutes in all."""

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
    tried, failed = 0, None

    def check(given_input: Input) -> None:
        nonlocal tried, failed
        tried, failed = tried + 1, given_input
        TARGETS[name].check(given_input)
        failed = None

    test, end = property_of(check, name), time.monotonic() + seconds
    while time.monotonic() < end and failed is None:
        try:
            test()
        except Exception as error:
            if failed is None:
                raise
            traceback.print_exception(error, limit=-4)
            print(f"kept {_kept(name, failed)}")
    print(f"{name}: tried {tried:,} inputs, {'nothing' if failed is None else 'something'} found", flush=True)
    return failed is None


def _kept(name: str, failed: Input) -> Path:
    """Write an input that failed where a test tries it again."""
    digest = hashlib.blake2b(failed.content, digest_size=4).hexdigest()
    path = FOUND / name / f"{failed.format}-{digest}" / failed.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(failed.content)
    return path


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
