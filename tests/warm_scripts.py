"""Runs scripts, each in a process of its own, forked from one that has imported what all of them need.

Imports take a script longer than its quick run does. Reads lines of a script, its working folder, the file for what it
prints and its arguments, separated by tabs; prints the status that each ends with.
"""

import os
import runpy
import sys


def main() -> None:
    import turnlens.training.train  # and with it PyTorch, sentence-transformers and datasets  # noqa: F401

    for line in sys.stdin:
        process = os.fork()
        if not process:
            become(*line.rstrip("\n").split("\t"))
            break
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)


def become(script: str, folder: str, printed: str, *arguments: str) -> None:
    """Run a script in this process, which ends as if it had been started with it."""
    os.chdir(folder)
    output = os.open(printed, os.O_WRONLY | os.O_CREAT)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(output, stream.fileno())
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(script)  # noqa: PTH120
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
