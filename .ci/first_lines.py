"""Runs the README's first lines of shell and of Python as they stand, on a file of chats.

The `turnlens` and `python` on the PATH run them, in the working folder. What serves is asked once, and interrupted.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

SERVING = {"explore", "serve"}
WRITE = "import turnlens; turnlens.sample_conversations(60).to_json('chats.jsonl')"


def block(readme: str, heading: str, language: str) -> str:
    """The code under a heading."""
    match = re.search(rf"^## {heading}\n+```{language}\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    assert match, f"the README has no {language} under {heading!r}"
    return match[1]


def ask(address: str, embeds: bool) -> int:
    """The status of an answer: of the page, or of the service to a text, once its model is loaded."""
    request = urllib.request.Request(address)
    if embeds:
        body = json.dumps({"input": "my card was stolen"}).encode()
        request = urllib.request.Request(f"{address}/v1/embeddings", body, {"Content-Type": "application/json"})
    deadline = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return int(answer.status)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def serve(words: list[str]) -> None:
    """Start a command that serves, ask the address that it prints, and stop it as a user does."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            print(line, end="", flush=True)
            if address := re.search(r"https?://[\d.]+:\d+[\w/-]*", line):
                break
        else:
            raise SystemExit(f"{shlex.join(words)} ended with {process.wait()} before it served")
        try:
            print(f"{address[0]} answers {ask(address[0], words[1] == 'serve')}", flush=True)
        finally:
            process.send_signal(signal.SIGINT)
        process.stdout.read()
    assert process.returncode in (0, 130, -signal.SIGINT), f"{shlex.join(words)} ended with {process.returncode}"


def main() -> None:
    """Run both blocks of the README that is named on the command line."""
    readme = Path(sys.argv[1]).read_text(encoding="utf-8")
    os.environ["BROWSER"] = "true"  # opens nothing
    subprocess.run(["python", "-c", WRITE], check=True)
    for line in block(readme, "Six lines of shell", "bash").splitlines():
        words = shlex.split(line, comments=True)
        print("$", shlex.join(words), flush=True)
        if words[1] in SERVING:
            serve(words)
        else:
            subprocess.run(words, check=True)
    print("$ python", flush=True)
    lines = block(readme, "Six lines of Python", "python")
    subprocess.run(["python", "-c", lines], check=True)


if __name__ == "__main__":
    main()
