"""`turnlens`, but it writes down which conversations this process is given, and can be killed at one of its batches.

Run by torchrun: LOG, the batch at which the second process kills itself (0 for none), and the arguments of turnlens.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from turnlens.cli.main import main
from turnlens.training.collators import TextCollator


def run(log: str, fatal: int, arguments: list[str]) -> None:
    rank, seen, original = os.environ["RANK"], [], TextCollator.__call__

    def collate(self: TextCollator, rows: list[dict[str, Any]]) -> Any:
        seen.append(rows)
        with Path(f"{log}-{rank}").open("a", encoding="utf-8") as file:
            print(*(row["messages"][0]["content"] for row in rows), sep="\t", file=file)
        if rank == "1" and len(seen) == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(self, rows)

    TextCollator.__call__ = collate  # type: ignore[method-assign]
    sys.argv = ["turnlens", *arguments]
    main()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
