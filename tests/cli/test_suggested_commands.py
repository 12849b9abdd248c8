"""Each command that `turnlens inspect` suggests does what it says: it is taken from the output and run."""

import csv
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from .command_line import run, succeed

SAID = [
    "My card is gone.",
    "I will block it at once.",
    "Thank you very much!",
    "You are welcome.",
    "It comes tomorrow.",
]
TALKS = [[f"C-{n // 5}", ("customer", "agent")[n % 2], SAID[n % 5], f"2024-05-31 10:{n:02}"] for n in range(20)]
SURVEY = [[100 + n, n % 5, f"{SAID[n % 5]} It happened {n} times.", f"2024-05-{n + 1:02}"] for n in range(20)]
WHATSAPP = "".join(f"{n // 5 + 20}/05/2024, 10:{n:02} - {('Ann', 'Ben')[n % 2]}: {SAID[n % 5]}\n" for n in range(20))


def as_csv(path: Path, rows: list[list[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def as_xlsx(path: Path, rows: list[list[Any]]) -> None:
    book = Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)


def as_jsonl(path: Path, rows: list[list[Any]]) -> None:
    path.write_text("".join(json.dumps(dict(zip(rows[0], row))) + "\n" for row in rows[1:]), encoding="utf-8")


def as_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


KNOWN = ["ticket_id", "author", "text", "sent at"]
ODD = ["Case No.", "Author Type", "Comment Body", "Created On"]
QUOTED = ["Agent's case", 'Who "wrote"', "What’s said, and how", "When, $(date)"]
UNSURE = ["Agent's case", 'Who "is it"', "What’s in it, and how", "When, $(date)"]
RATED = ["Respondent ID", "Score", 'What "else"?', "Submitted on"]
NESTED = [["ticket", "log"], *([n, [dict(zip("abc", row[1:])) for row in TALKS[n * 5 : n * 5 + 5]]] for n in range(4))]
MESSAGES = ["conversation_id", "role", "content", "timestamp"]


def commands(output: str) -> list[list[str]]:
    """The commands in an output, without the name of the program."""
    return [shlex.split(found)[1:] for found in re.findall(r"(turnlens \w+ [^\n]*)", output)]


@pytest.mark.parametrize(
    ("name", "write", "content", "suggested"),
    [
        ("known table.csv", as_csv, [KNOWN, *TALKS], ["train"]),
        ("unsure.csv", as_csv, [UNSURE, *TALKS], ["inspect", "train"]),
        ("it's unsure.xlsx", as_xlsx, [UNSURE, *TALKS], ["inspect", "train"]),
        ("odd.csv", as_csv, [ODD, *TALKS], ["train"]),
        ("quoted.csv", as_csv, [QUOTED, *TALKS], ["train"]),
        ("it's odd.xlsx", as_xlsx, [ODD, *TALKS], ["train"]),
        ("quoted.xlsx", as_xlsx, [QUOTED, *TALKS], ["train"]),
        ("known.xlsx", as_xlsx, [KNOWN, *TALKS], ["train"]),
        ("survey.csv", as_csv, [RATED, *SURVEY], ["inspect", "cluster"]),
        ("survey.xlsx", as_xlsx, [RATED, *SURVEY], ["inspect", "cluster"]),
        ("survey.jsonl", as_jsonl, [RATED, *SURVEY], ["inspect", "cluster"]),
        ("messages.jsonl", as_jsonl, [MESSAGES, *TALKS], ["train"]),
        ("nested.jsonl", as_jsonl, NESTED, ["inspect", "train"]),
        ("WhatsApp Chat with Ann.txt", as_text, WHATSAPP, ["train"]),
        ("hour.txt", as_text, WHATSAPP.replace("21/05", "20/05").replace("22/05", "20/05"), ["train"]),
        ("call.txt", as_text, "Ann: Hello.\nBen: Hi.\nAnn: Bye.\n", ["cluster"]),
    ],
)
def test_every_suggested_command_runs(
    tmp_path: Path,
    tiny_encoder_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    write: Callable[[Path, Any], None],
    content: Any,
    suggested: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")  # narrower than the commands
    write(tmp_path / name, content)
    command, ran = ["inspect", name], []
    while True:
        result = run(*command)
        (*_, command) = commands(result.output)
        ran.append(command[0])
        if command[0] != "inspect":
            break
    assert ran == suggested
    encoder = {"train": ["--encoder", tiny_encoder_path, "--max-steps", 1], "cluster": ["--model", tiny_encoder_path]}
    succeed(*command, *encoder[command[0]])
    assert (tmp_path / command[command.index("--output") + 1]).exists()


def test_a_chat_that_is_one_conversation_is_said_to_need_splitting(tmp_path: Path) -> None:
    as_text(tmp_path / "chat.txt", WHATSAPP)
    output = succeed("inspect", tmp_path / "chat.txt")
    assert "Training needs at least two conversations" in output and "--split-by day" in output
    assert "or: turnlens train" in succeed("inspect", tmp_path / "chat.txt", "--split-by", "day")
