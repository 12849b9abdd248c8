"""Does what the README says with an installed turnlens, in a folder with generated conversations.

Every `turnlens` command and every Python block is run in the order of the page; what serves is ended once it answers.

Run: python release/first_screen.py README.md FOLDER      (with the Python of the environment that has turnlens)
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import turnlens

BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)
ADDRESS = re.compile(r"http://(?:127\.0\.0\.1|localhost):\d+")
PATIENCE = 600  # seconds; the map compiles its code at first use


def environment() -> dict[str, str]:
    """The environment's own commands before all others."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "BROWSER": "true"}


def serves(command: str) -> bool:
    name = command.split()[1]
    return name == "serve" or (name == "explore" and "--export" not in command)


def answers(command: str, folder: Path) -> None:
    """Start a server, wait until it answers, and end it.

    Raises:
        RuntimeError: It ended, or did not answer.
    """
    with (folder / "server.log").open("w+", encoding="utf-8") as log:
        words = ["bash", "-c", f"exec {command}"]
        server = subprocess.Popen(words, cwd=folder, env=environment(), stdout=log, stderr=subprocess.STDOUT)
        try:
            for _ in range(PATIENCE):
                time.sleep(1)
                printed = (folder / "server.log").read_text(encoding="utf-8")
                address = ADDRESS.search(printed)
                if server.poll() is not None:
                    raise RuntimeError(f"{command} ended:\n{printed}")
                if (address or command.startswith("turnlens serve")) and open_page(
                    address[0] if address else "http://127.0.0.1:8000"
                ):
                    return
            raise RuntimeError(f"{command} did not answer within {PATIENCE} s:\n{printed}")
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(60)


def open_page(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError as error:
        return isinstance(error, urllib.error.HTTPError)  # it answers, if only to say that this needs a key


def main() -> None:
    readme, folder = Path(sys.argv[1]), Path(sys.argv[2])
    chats = folder / "chats.jsonl"
    turnlens.sample_conversations(300, seed=1).to_json(str(chats))
    started = time.monotonic()
    for language, code in BLOCK.findall(readme.read_text(encoding="utf-8")):
        if language == "python":
            run([sys.executable, "-c", code], code.strip().splitlines()[-1], folder)
            continue
        for line in code.replace("\\\n", " ").splitlines():
            command = line.partition(" #")[0].strip()
            if not command.startswith("turnlens"):
                continue  # pip and make: the environment is there
            output = re.search(r"(?:--output|--store) (\S+)", command)
            if output and command.split()[1] in ("train", "index"):
                shutil.rmtree(folder / output[1], ignore_errors=True)  # written by an earlier block
            if serves(command):
                print(f"== {command}", flush=True)
                answers(command, folder)
            else:
                run(["bash", "-c", command], command, folder)
    print(f"The README's commands ran in {time.monotonic() - started:.0f} s")


def run(words: list[str], shown: str, folder: Path) -> None:
    print(f"== {shown}", flush=True)
    subprocess.run(words, cwd=folder, env=environment(), check=True)


if __name__ == "__main__":
    main()
