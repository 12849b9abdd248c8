"""A target tried by Atheris, which prefers inputs that reach new lines.

``python -m fuzz.atheris_target NAME SECONDS``
"""

from __future__ import annotations

import logging
import random
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["turnlens"]):
    from fuzz.__main__ import Counted, property_of


def main() -> None:
    name, seconds = sys.argv[1:]
    logging.disable(logging.WARNING)
    counted = Counted(name)
    test = property_of(lambda given_input: counted(given_input), name).hypothesis.fuzz_one_input

    def try_once(data: bytes) -> None:
        try:
            test(data)
        except BaseException:
            if counted.failed is not None:
                print(f"kept {counted.keep()}")
            raise

    with tempfile.TemporaryDirectory() as corpus:
        generator = random.Random()
        for number in range(32):  # Hypothesis makes nothing of no bytes
            (Path(corpus) / str(number)).write_bytes(generator.randbytes(2048))
        limits = [
            f"-max_total_time={seconds}",
            "-max_len=8192",
            "-len_control=0",
            "-print_final_stats=1",
            f"-artifact_prefix={corpus}/",
        ]
        atheris.Setup([sys.argv[0], *limits, corpus], try_once)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
