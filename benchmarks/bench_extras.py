"""What each extra of turnwise adds to the plain installation: megabytes on the disk, and CPU seconds to import.

Reads the environment that it runs in, which must have the extras; an extra that is not complete there is left out.

Run: python benchmarks/bench_extras.py [--runs 3]
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from quick import add_quick

# What is imported of each extra when it is used.
MODULES = {
    "baselines": "gensim.models",
    "plots": "matplotlib.pyplot",
    "store": "lancedb",
    "explorer": "lancedb, graspologic_native, openTSNE, fastapi, uvicorn",
    "ray": "ray.data",
    "s3": "s3fs",
    "service": "fastapi, uvicorn, pydantic_settings, prometheus_client",
    "mcp": "mcp",
    "redact": "presidio_analyzer",
}


def needed(name: str, extra: str = "", seen: frozenset[str] = frozenset()) -> frozenset[str]:
    """The distributions that one needs, itself among them, and those that ``seen`` has.

    Raises:
        metadata.PackageNotFoundError: One of them is not installed.
    """
    seen |= {canonicalize_name(name)}
    for line in metadata.requires(name) or ():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is not None and not marker.evaluate({"extra": extra}):
            continue
        if canonicalize_name(requirement.name) not in seen:
            seen = needed(requirement.name, "", seen)
        for further in requirement.extras:
            seen = needed(requirement.name, further, seen)
    return seen


def megabytes(names: frozenset[str]) -> float:
    """What the files of distributions take."""
    files = (Path(str(file.locate())) for name in names for file in metadata.files(name) or ())
    return sum(path.stat().st_size for path in files if path.is_file()) / 1e6


def import_seconds(modules: str, runs: int) -> float:
    """CPU seconds to import modules in a new process, beyond what Python itself takes."""

    def seconds(code: str) -> float:
        before = os.times()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    return statistics.median(seconds(f"import {modules}") - seconds("pass") for _ in range(runs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    add_quick(parser, runs=1)
    arguments = parser.parse_args()
    plain = needed("turnwise")
    print(f"{'plain':12}{megabytes(plain):8,.0f} MB, of it {megabytes(needed('torch')):,.0f} MB torch")
    for extra in sorted(metadata.metadata("turnwise").get_all("Provides-Extra") or ()):
        try:
            more = needed("turnwise", extra) - plain
        except metadata.PackageNotFoundError as error:
            print(f"{extra:12}not installed here: {re.sub(r'No package metadata was found for ', '', str(error))}")
            continue
        modules = None if arguments.quick else MODULES.get(extra)
        importing = f", {import_seconds(modules, arguments.runs):.1f} CPU s to import" if modules else ""
        print(f"{extra:12}{megabytes(more):8,.0f} MB{importing}")


if __name__ == "__main__":
    main()
