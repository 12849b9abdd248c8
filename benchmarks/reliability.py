"""Losses and leftovers when commands are killed, collide, or cannot write.

Runs `convert`, `embed` and `train` with a tiny encoder and

- kills each with SIGKILL at random moments, half of the times while it overwrites an earlier result, runs it again, and
  compares the result with that of a run that was left alone;
- starts each twice at once with the same output;
- runs each on disks that are too small (mounts of memory, which needs root) and again on a disk that is not;
- runs each with a folder it may not write to, as another user (which needs root too).

Moments are measured in time of the processor. Each process is forked from one that has imported everything, so they
lie in the work and not in the imports. Linux only.

Run: python benchmarks/reliability.py [--kills 50] [--seed 0]; prints the tables of docs/operating.md#what-survives.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import datasets
import torch

import turnlens
from quick import add_quick
from turnlens.cli.main import main as run_command
from turnlens.training.train import train as _imported_before_forking  # noqa: F401

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from tiny_encoder import save_tiny_encoder

NOBODY = 65534
_TRACEBACK = 70  # exit code of a process that ended with one


@dataclass(frozen=True)
class Command:
    """A command with its output, as a user gives it."""

    name: str
    arguments: tuple[str, ...]
    output: str
    resumes: bool

    def line(self, folder: Path, *flags: str) -> list[str]:
        return [*self.arguments, "--output", str(folder / self.output), *flags]

    def again(self, folder: Path, *flags: str) -> list[str]:
        """The command with which a user goes on after a kill."""
        return self.line(folder, *(("--resume",) if self.resumes else ()), *flags)


def commands(inputs: Path, quick: bool) -> list[Command]:
    encoder = str(save_tiny_encoder(inputs))
    for file in inputs.rglob("*"):
        file.chmod(0o755)  # also for another user
    sizes = {"convert": 200} if quick else {"convert": 10000, "embed": 500, "train": 200}
    files = {name: str(inputs / f"{name}.jsonl") for name in sizes}
    for name, size in sizes.items():
        turnlens.sample_conversations(size).to_json(files[name])
    short = ("--max-steps", "10", "--set", "batch_size=4", "--set", "checkpoint_steps=2", "--encoder", encoder)
    convert = Command("convert", ("convert", files["convert"]), "out.jsonl", resumes=False)
    if quick:
        return [convert]
    return [
        convert,
        Command("embed", ("embed", files["embed"], "--model", encoder), "vectors.parquet", resumes=True),
        Command("train", ("train", files["train"], "--method", "dialogue-cse", *short), "model", resumes=True),
    ]


def start(arguments: list[str], log: Path, cache: Path, user: int | None = None) -> int:
    """Start a command in a process of its own and return its number; what it prints goes to ``log``."""
    pid = os.fork()
    if pid:
        return pid
    code = _TRACEBACK
    try:
        printed = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        if user is not None:
            os.setgid(user)
            os.setuid(user)
        datasets.config.HF_DATASETS_CACHE = cache
        sys.argv = ["turnlens", *arguments]
        run_command()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def finish(pid: int) -> int:
    """The exit code of a process, negative if a signal ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run(arguments: list[str], folder: Path, user: int | None = None) -> int:
    return finish(start(arguments, folder / "log", folder / "cache", user))


def wait_for(pid: int, seconds: float) -> None:
    """Wait until a process has computed for so long, or has ended; on a busy machine, moments stay where they are."""
    statistics = Path("/proc") / str(pid) / "stat"
    while True:
        fields = statistics.read_text().rpartition(")")[2].split()
        if fields[0] == "Z" or int(fields[11]) + int(fields[12]) >= seconds * os.sysconf("SC_CLK_TCK"):
            return
        time.sleep(0.002)


def contents(path: Path) -> dict[str, bytes] | None:
    """The bytes of a file, or of all files of a folder; ``None`` where there is nothing."""
    if not path.exists():
        return None
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def left_behind(folder: Path, command: Command) -> list[str]:
    """List the files in the folder and in the cache beside the result."""
    beside = [path.name for path in folder.iterdir() if path.name not in (command.output, "log", "cache")]
    return beside + [path.name for path in (folder / "cache").rglob(".*")]


@contextmanager
def new_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def write_earlier_result(command: Command, folder: Path) -> dict[str, bytes] | None:
    """Something that the command overwrites with ``--force``."""
    output = folder / command.output
    if command.name == "train":
        output.mkdir()
        (output / "modules.json").write_text("[]")
    else:
        output.write_text("earlier\n")
    return contents(output)


def kill_once(command: Command, whole: dict[str, bytes] | None, moment: float, overwrite: bool) -> Iterator[str]:
    """The findings after one kill and after the next run."""
    with new_folder() as folder:
        output = folder / command.output
        flags = ("--force",) if overwrite else ()
        earlier = write_earlier_result(command, folder) if overwrite else None
        pid = start(command.line(folder, *flags), folder / "log", folder / "cache")
        wait_for(pid, moment)
        os.kill(pid, signal.SIGKILL)
        if finish(pid) != -signal.SIGKILL:
            yield "finished before"
        found = contents(output)
        if found not in (earlier, whole):
            yield "half-written or lost"
        if left_behind(folder, command):
            yield "left until the next run"
        # An output that is complete is overwritten, to see that the next run clears up there too.
        flags = ("--force",) if overwrite or found == whole else ()
        if run(command.again(folder, *flags), folder) != 0:
            yield "the next run failed"
            print((folder / "log").read_text(), file=sys.stderr)
        elif contents(output) != whole:
            yield "the next run gave something else"
        if rest := left_behind(folder, command):
            yield "left behind"
            print(rest, file=sys.stderr)


def kills(command: Command, count: int, seed: int) -> str:
    with new_folder() as folder:
        before = os.times()
        assert run(command.line(folder), folder) == 0, (folder / "log").read_text()
        after = os.times()
        seconds = after.children_user + after.children_system - before.children_user - before.children_system
        whole = contents(folder / command.output)
        assert not left_behind(folder, command)
    moments = random.Random(seed)
    found: Counter[str] = Counter()
    for number in range(count):
        found.update(kill_once(command, whole, moments.uniform(0, seconds), overwrite=number % 2 == 1))
    shown = ("finished before", "half-written or lost", "left until the next run", "the next run failed")
    shown += ("the next run gave something else", "left behind")
    cells = " | ".join(str(found[name]) for name in shown)
    return f"| `{command.name}` | {count} | {seconds:.1f} s | {cells} |"


def together(command: Command, count: int, seed: int) -> str:
    """Two processes with one output, the second a little later."""
    with new_folder() as folder:
        assert run(command.line(folder), folder) == 0
        whole = contents(folder / command.output)
    delays = random.Random(seed)
    found: Counter[str] = Counter()
    for _ in range(count):
        with new_folder() as folder:
            logs = [folder / "log", folder / "cache.log"]
            pids = []
            for log in logs:
                pids.append(start(command.line(folder, "--force"), log, folder / "cache"))
                time.sleep(delays.uniform(0, 0.3))
            codes = [finish(pid) for pid in pids]
            texts = [log.read_text() for log in logs]
            logs[1].unlink()
            found["one refused"] += codes.count(0) == 1 and any("is being written by process" in text for text in texts)
            found["one after the other"] += codes == [0, 0]
            found["wrong"] += contents(folder / command.output) != whole or bool(left_behind(folder, command))
            found["traceback"] += any("Traceback" in text for text in texts)
    shown = ("one refused", "one after the other", "wrong", "traceback")
    return f"| `{command.name}` | {count} | " + " | ".join(str(found[name]) for name in shown) + " |"


def full_disk(command: Command, count: int) -> str:
    """Disks of sizes below what the command needs, and then room for it on the same disk."""
    with new_folder() as folder:
        assert run(command.line(folder), folder) == 0
        whole = contents(folder / command.output)
    needed = sum(map(len, (whole or {}).values())) // 1024
    found: Counter[str] = Counter()
    for number in range(count):
        with new_folder() as folder, disk_of(4 + needed * (number + 1) // (count + 1)) as disk:
            found["error"] += run(command.line(disk), folder) == 1
            log = (folder / "log").read_text()
            found["traceback"] += "Traceback" in log
            found["half-written"] += (disk / command.output).exists()
            subprocess.run(["mount", "-o", f"remount,size={needed * 20 + 4096}k", str(disk)], check=True)
            found["next run"] += run(command.again(disk), folder) == 0 and contents(disk / command.output) == whole
            found["left behind"] += [path.name for path in disk.iterdir()] != [command.output]
            if "Traceback" in log:
                print(log[-1500:], file=sys.stderr)
    shown = ("error", "traceback", "half-written", "next run", "left behind")
    return f"| `{command.name}` | {count} | " + " | ".join(str(found[name]) for name in shown) + " |"


@contextmanager
def disk_of(kilobytes: int) -> Iterator[Path]:
    with new_folder() as disk:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(disk)], check=True)
        try:
            yield disk
        finally:
            subprocess.run(["umount", str(disk)], check=True)


def no_right(command: Command) -> str:
    """A folder of somebody else."""
    with new_folder() as folder:
        folder.chmod(0o755)
        (folder / "cache").mkdir()
        os.chown(folder / "cache", NOBODY, NOBODY)
        (folder / "log").touch()
        (folder / "theirs").mkdir(mode=0o755)
        code = run(command.line(folder / "theirs"), folder, user=NOBODY)
        text = (folder / "log").read_text().strip().replace(str(folder), "…")
        wrote = any((folder / "theirs").iterdir())
    return f"| `{command.name}` | {code} | {text} | {'yes' if wrote else 'no'} |"


def table(title: str, header: str, row: Callable[[Command], str], of: list[Command]) -> None:
    print(f"\n{title}\n\n{header}\n|{'---|' * (header.count('|') - 1)}", flush=True)
    for command in of:
        print(row(command), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50, help="of each command")
    parser.add_argument("--together", type=int, default=20, help="pairs of each command")
    parser.add_argument("--disks", type=int, default=10, help="full ones for each command")
    parser.add_argument("--seed", type=int, default=0)
    add_quick(parser, kills=1, together=1, disks=1)
    given = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        inputs = Path(name)
        inputs.chmod(0o755)
        of = commands(inputs, given.quick)
        header = "| command | kills | a whole run | finished before | half-written or lost | left until the next run "
        header += "| the next run failed | the next run gave something else | left behind after it |"
        table("Killed", header, lambda command: kills(command, given.kills, given.seed), of)
        header = "| command | pairs | one refused | one after the other | wrong or left behind | traceback |"
        table("Two at once", header, lambda command: together(command, given.together, given.seed), of)
        if os.geteuid() == 0 and shutil.which("mount"):
            header = (
                "| command | disks | one-line error | traceback | half-written | the next run is whole | left behind |"
            )
            table("Full disk", header, lambda command: full_disk(command, given.disks), of)
            table("Somebody else's folder", "| command | exit code | message | wrote anything |", no_right, of)


if __name__ == "__main__":
    main()
