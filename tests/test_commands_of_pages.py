"""Every command and Python block of README, agents' skill, pages under *Use it* and `papers-training.md` works.

They run in the order of their page, in a folder with files of the names that the pages use, on a tiny encoder; each
training takes one step. A block below `<!-- not run: … -->` is only parsed, and so are commands that serve. Commands of
all other pages, of the log those on the papers, are parsed; their methods, rows, tasks and settings exist.
"""

import contextlib
import re
import shlex
import shutil
import string
import tomllib
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import click
import pandas as pd
import pytest
import typer.main
import yaml
from typer.testing import CliRunner

import turnlens
from assistant_export import write_observations
from tiny_encoder import save_random_encoder
from turnlens._utils.registries import DEFAULT_METHOD
from turnlens.cli.main import app
from turnlens.cli.options import parse_settings
from turnlens.encoders import loading
from turnlens.encoders.folders import DEFAULT_ENCODER
from turnlens.evaluation.task import find_task
from turnlens.papers import adaptation
from turnlens.papers.experiments.runner import resolve_stage, settings_it_has
from turnlens.papers.experiments.suite import SUITES, chosen_data, chosen_methods
from turnlens.training.recipes import base, get_recipe

ROOT = Path(__file__).parents[1]
OUTPUT = re.compile(r"(?:--output |--export |output=\"|report, \"|create\(\")([\w.-]+)")
BLOCK = re.compile(r"(<!-- not run: .+? -->\s+)?^```(bash|python|toml)\n(.*?)^```", re.DOTALL | re.MULTILINE)
WITHOUT_TURNLENS = {"pip", "python3", "make", "docker", "chmod", "rm", "curl", "gunzip"}


class Block(NamedTuple):
    """A block of code of a page."""

    line: int
    language: str
    code: str
    runs: bool


def pages_of_use() -> list[Path]:
    """The README, the agents' skill, the pages that the site has under *Use it*, and the papers' methods."""
    site = yaml.safe_load(re.sub(r"!!python\S+", "", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))

    def files(entry: Any) -> Iterator[str]:
        if isinstance(entry, str):
            yield entry
        else:
            for inner in entry.values() if isinstance(entry, dict) else entry:
                yield from files(inner)

    (use,) = [entry["Use it"] for entry in site["nav"] if "Use it" in entry]
    skill = ROOT / "skills" / "turnlens" / "SKILL.md"
    return [ROOT / "README.md", skill, *(ROOT / "docs" / name for name in [*files(use), "papers-training.md"])]


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(text[: match.start(2)].count("\n") + 1, match[2], match[3], match[1] is None)
        for match in BLOCK.finditer(text)
    ]


def split(line: str) -> list[str] | None:
    """The words of a command, or nothing if a quotation in it is open."""
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        return None


def commands_of(code: str) -> Iterator[list[str]]:
    """The words of each command, without comments and what it is piped into."""
    rest = code.replace("\\\n", " ")
    while rest:
        first, _, rest = rest.partition("\n")
        while (words := split(first)) is None:  # a text goes on in the next line
            line, _, rest = rest.partition("\n")
            first += "\n" + line
        if words:
            yield words[: words.index("|")] if "|" in words else words


def leaf(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that words without `turnlens` name, and its arguments."""
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        assert words[0] in command.commands, f"no command {words[0]!r}"
        command, words = command.commands[words[0]], words[1:]
    return command, words


def check_values(context: click.Context) -> None:
    """Raise ``ValueError`` if there is no method, task, row, data set or setting that a command names."""
    given, name = context.params, context.command.name
    settings = parse_settings(given.get("set") or given.get("assignments") or [])
    if name == "bench":
        suite = SUITES[given["suite"]]
        methods, data_sets = (",".join(given[option] or []).split(",") for option in ("methods", "data_sets"))
        chosen_data(suite, [*filter(None, data_sets)], given["data"])
        for method in chosen_methods(suite, [*filter(None, methods)]).values():
            for stage in method.stages:
                resolve_stage(stage, **settings_it_has(stage, settings))
    elif name == "train":
        of_run = ("preset", "workers", "validation", "task", "label", "conversation_label", "max_queries")
        preset, *_ = [settings.pop(setting, None) for setting in of_run]
        method = given["method"] or DEFAULT_METHOD
        if method.endswith(".toml"):
            settings = tomllib.loads(Path(method).read_text(encoding="utf-8")) | settings
            method = settings.pop("method")
        get_recipe(method, settings=settings, preset=preset)
    for task in given.get("tasks") or []:
        find_task(task)


def serves(words: list[str]) -> bool:
    return words[0] == "serve" or (words[0] == "explore" and "--export" not in words)


def make_room(code: str) -> None:
    """Remove what code will write, in case an earlier block of the page has written it."""
    for name in OUTPUT.findall(code):
        if Path(name).is_dir():
            shutil.rmtree(name)
        else:
            Path(name).unlink(missing_ok=True)


class MissingExtraError(Exception):
    """A command of a page named an extra that is not installed."""


def run(words: list[str], runs: bool, installed: bool = True) -> None:
    """Run a command, or only check its name, its options and, if what it names is installed, their values."""
    if words[0] == "torchrun":
        words, runs = words[words.index("turnlens") :], False
    if words[0] == "python":
        assert words[1].startswith("-") or (ROOT / words[1]).is_file(), f"no such file: {words[1]}"
    elif words[0] == "turnlens":
        command, arguments = leaf(words[1:])
        context = command.make_context(command.name, list(arguments))
        if installed:
            check_values(context)
        if runs and not serves(words[1:]):
            if words[1] == "index":
                shutil.rmtree(words[words.index("--store") + 1], ignore_errors=True)
            elif not {"--force", "--resume"} & set(words):
                make_room(shlex.join(words))
            result = CliRunner().invoke(app, words[1:])
            needs = re.search(r"^error: ([\w.]+) is needed for this: pip install 'turnlens\[(\w+)\]'", result.output)
            if needs and not find_spec(needs[1].split(".")[0]):
                raise MissingExtraError(f"needs the extra {needs[2]}")
            suggests = words[1] == "inspect" and "This reads it" in result.output
            assert result.exit_code == 0 or suggests, f"{shlex.join(words)}\n{result.output}\n{result.exception!r}"
    else:
        assert Path(words[0]).name in WITHOUT_TURNLENS, f"unknown program {words[0]!r}"


@pytest.fixture(scope="module")
def small_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    letters = [*string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase)]
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "intermediate_size": 32}
    return save_random_encoder(tmp_path_factory.mktemp("small"), letters, positions=32, **sizes)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, small_encoder: Path) -> Path:
    """A folder with what the pages take for granted."""
    folder = tmp_path_factory.mktemp("pages")
    talks = turnlens.sample_conversations(120).map(lambda row: {"messages": row["messages"][:4]})
    for name, first, last in [
        ("chats", 0, 60),
        ("new", 60, 70),
        ("train", 0, 20),
        ("test", 70, 100),
        ("dev", 100, 120),
    ]:
        talks.select(range(first, last)).to_json(str(folder / f"{name}.jsonl"))
    talks.select([0]).map(lambda row: {"messages": row["messages"][:3]}).to_json(str(folder / "chat.jsonl"))
    rows = [
        {
            "Ticket ID": row["id"],
            "Author Type": message["role"],
            "Comment": message["content"],
            "Created At": f"2024-05-{number % 28 + 1:02} 10:{turn:02}",
            "Customer E-mail": "ann@example.com",
        }
        for number, row in enumerate(talks.select(range(70)))
        for turn, message in enumerate(row["messages"])
    ]
    pd.DataFrame(rows[:-40]).to_csv(folder / "tickets.csv", index=False)
    pd.DataFrame(rows[-40:]).to_csv(folder / "more.csv", index=False)
    (folder / "replies.txt").write_text("Your card is blocked.\nYou are welcome.\nIt comes tomorrow.\n")
    (folder / "customers.txt").write_text("Ann Miller\n")
    turnlens.train(folder / "chats.jsonl", encoder=small_encoder, output=folder / "model", settings={"max_steps": 2})
    subjects = ("card", "flight", "pizza", "refund", "parcel")
    asked = {name: [f"please {name} {name} {number}" for number in range(12)] for name in subjects}
    write_observations(folder / "observations.jsonl", asked, subjects[:3])
    (folder / "logs").mkdir()
    write_observations(folder / "logs" / "observations.jsonl", asked, subjects[:3])
    for store in ("talks", "tickets.store"):
        made = turnlens.ConversationStore.create(folder / store, folder / "chats.jsonl", encoder=folder / "model")
        # what pages delete
        made.add([{**talks[0], "id": f"conversation-{number}", "customer": "4711"} for number in (4711, 4712, 4713)])
    return folder


def take_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every training take a single step, whatever the page says."""
    replace = base.replace_settings

    def one_step(recipe: Any, new: Mapping[str, Any], name: str) -> Any:
        return replace(recipe, {**new, "max_steps": 1}, name)

    for module in (base, adaptation):
        monkeypatch.setattr(module, "replace_settings", one_step)


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_of_use(), ids=lambda page: page.stem)
def test_what_a_page_says_works(
    page: Path, prepared: Path, small_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place_of = loading._place_of
    monkeypatch.setattr(
        loading, "_place_of", lambda name: place_of(name if name not in (None, DEFAULT_ENCODER) else small_encoder)
    )
    folder = tmp_path / "folder"
    shutil.copytree(prepared, folder)
    monkeypatch.chdir(folder)
    take_one_step(monkeypatch)
    names: dict[str, Any] = {"turnlens": turnlens}
    left_out = []
    for block in blocks_of(page):
        where = f"{page.name}:{block.line}"
        try:
            if block.language == "toml":
                Path("recipe.toml").write_text(block.code)
            elif block.language == "python":
                code = compile(re.sub(r"max_steps=\d+", "max_steps=1", block.code), where, "exec")
                if block.runs:
                    make_room(block.code)
                    with contextlib.redirect_stdout(None):
                        exec(code, names)
            else:
                runs = block.runs
                for words in commands_of(block.code):
                    try:
                        run(words, runs)
                    except MissingExtraError as error:  # nor does what follows it in the block
                        left_out.append(f"the block at {where} {error}")
                        runs = False
        except BaseException as error:
            error.add_note(f"in the block at {where}")
            raise
    if left_out:
        pytest.skip(f"all blocks work, but {', '.join(left_out)}")


def other_pages() -> list[Path]:
    rooms = (ROOT / "src" / "turnlens" / "papers").rglob("*.md")
    papers = (ROOT / "docs" / "research-log" / f"{name}.md" for name in ("dialogue-cse", "dial2vec", "turn-order"))
    return sorted({*(ROOT / "docs").glob("*.md"), *rooms, *papers} - set(pages_of_use()))


@pytest.mark.parametrize("page", other_pages(), ids=lambda page: "/".join(page.parts[-2:]))
def test_commands_of_other_pages_name_what_exists(page: Path) -> None:
    for block in blocks_of(page):
        for words in commands_of(block.code) if block.language == "bash" else ():
            try:
                run(words, runs=False, installed=page.name != "extensions.md")
            except BaseException as error:
                error.add_note(f"{page.name}:{block.line}: {shlex.join(words)}")
                raise


def test_llms_txt_names_whole_commands() -> None:
    text = (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8").partition("Commands: ")[2].partition(" Python: ")[0]
    commands = re.findall("`(?:turnlens )?(.+?)`", text)
    assert len(commands) > 5
    for words in commands:
        run(["turnlens", *words.split()], runs=False)
