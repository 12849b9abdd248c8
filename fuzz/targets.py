"""The targets: for each, inputs that resemble what is meant, and the check that they must pass."""

import gzip
import io
import json
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from openpyxl import Workbook

from fuzz.checks import check_columns, check_reading, check_redaction, read_packed, read_settings, refused
from fuzz.filters import check_filter, filters
from fuzz.hostile import changed_value, damaged_bytes, headers, repetitive_texts, typed_tables, values
from fuzz.requests import bodies, check_request
from turnlens.cli.reply import read_candidates
from turnlens.data.conversations import read_conversations
from turnlens.encoders.loading import load_encoder
from turnlens.papers.dialogue_cse.dialogue_sts import read_sts_task
from turnlens.papers.released_files import read_retrieval_task
from turnlens.papers.triple_encoders.nli import read_nli

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "data")]
from samples import SAMPLES  # noqa: E402
from tiny_encoder import save_tiny_encoder  # noqa: E402

_PAIR = {"premise": "a", "hypothesis": "b", "label": "entailment"}
_WORDS = (
    *("It’s €5", "\xa0", "ÿ", "déçu", "Grüße", "żółw", "ığ", "Где", "είναι"),
    *("הזמנה", "طلبي", "我的包裹", "カード", "소포"),
)
_ENCODINGS = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "koi8_r", "mac_roman", "cp437", "gb18030", "big5", "cp932", "euc_jp"),
    *("cp949", "utf-16", "utf-16-le", "utf-32", "utf-7", "utf-8"),
]
_MAIL_HEADERS = [
    *("Date", "Message-ID", "In-Reply-To", "References", "Subject", "Content-Type", "Content-Disposition", "To")
]
_RECIPE = 'method = "dialogue-cse"\nbatch_size = 4\ntemperature = 0.1\nadaptation = {epochs = 1.0}\n'


class Input(NamedTuple):
    """A file with its name, or a folder of which one file is another."""

    name: str
    content: bytes
    format: str = "auto"


class Target(NamedTuple):
    """Inputs, and the check they must pass."""

    inputs: st.SearchStrategy[Input]
    check: Callable[[Input], None]


@st.composite
def resembling(draw: st.DrawFn, name: str, content: Any) -> Input:
    """A sample that is changed where it is JSON, else damaged; some are damaged after that, or compressed."""
    if isinstance(content, str) and name.endswith((".jsonl", ".json")) and draw(st.booleans()):
        rows = draw(changed_value([json.loads(line) for line in content.splitlines()]))
        lines = [json.dumps(row) for row in rows] if isinstance(rows, list) else [json.dumps(rows)]
        raw = "\n".join(lines).encode()
    elif isinstance(content, str):
        raw = draw(damaged_bytes(content.encode()))
    else:
        raw = json.dumps(draw(changed_value(content))).encode()
    if draw(st.integers(0, 9)) == 0:
        raw = draw(damaged_bytes(raw))
    if draw(st.integers(0, 9)) == 0:
        raw = raw.decode("utf-8", "replace").encode("utf-16")
    if draw(st.integers(0, 9)) == 0:
        packed = gzip.compress(raw, mtime=0)
        return Input(f"{name}.gz", draw(damaged_bytes(packed)) if draw(st.booleans()) else packed)
    return Input(name, raw)


@st.composite
def conversations(draw: st.DrawFn) -> Input:
    """A file that resembles a sample of a layout, read as what it looks like or as what it is."""
    format, name, content = draw(st.sampled_from(SAMPLES))
    found = draw(resembling(name, content))
    return found._replace(format=format) if draw(st.booleans()) else found


# All keys of the samples, so that a value made of them resembles several layouts at once.
_WRITTEN = "".join(content if isinstance(content, str) else json.dumps(content) for _, _, content in SAMPLES)
_KEYS = sorted(set(re.findall(r'"([^"\\]+)": ', _WRITTEN)))


@st.composite
def medleys(draw: st.DrawFn) -> Input:
    """JSON or a table with keys of any layouts."""
    keys = st.sampled_from(_KEYS)
    if draw(st.booleans()):
        rows = draw(st.lists(st.dictionaries(keys, values(keys), max_size=8), min_size=1, max_size=3))
        return Input("medley.jsonl", "\n".join(map(json.dumps, rows)).encode())
    if draw(st.booleans()):
        header = draw(st.lists(keys | st.sampled_from(("conversation_id", "speaker", "timestamp")), max_size=6))
        rows = draw(st.lists(st.lists(st.text(max_size=5), min_size=len(header), max_size=len(header)), max_size=4))
        return Input("medley.csv", "\n".join(",".join(row) for row in [header, *rows]).encode("utf-8", "replace"))
    return Input("medley.json", json.dumps(draw(values(keys))).encode())


@st.composite
def encodings(draw: st.DrawFn) -> Input:
    """A sample with words of any language in any encoding, or bytes that are in none."""
    _, name, content = draw(st.sampled_from([sample for sample in SAMPLES if isinstance(sample[2], str)]))
    words = st.sampled_from(_WORDS) | st.text(max_size=10)
    text = content.replace("hello", draw(words)) + draw(st.lists(words, max_size=4).map("\n".join))
    raw = text.encode(draw(st.sampled_from(_ENCODINGS)), "replace")
    return Input(name, draw(damaged_bytes(raw)) if draw(st.booleans()) else raw)


@st.composite
def mailboxes(draw: st.DrawFn) -> Input:
    """A mailbox of e-mails whose addresses and other headers are made of what their parser gives a meaning."""
    mails = draw(
        st.lists(st.dictionaries(st.sampled_from(_MAIL_HEADERS), headers(), max_size=4), min_size=1, max_size=3)
    )
    written = [
        f"From x Wed May  1 10:00:00 2024\nFrom: {draw(headers())}\n"
        + "".join(f"{name}: {value}\n" for name, value in mail.items())
        + "\nHello\n\n"
        for mail in mails
    ]
    return Input("inbox.mbox", "".join(written).encode("utf-8", "surrogateescape"), "mbox")


@cache
def _workbook() -> dict[str, bytes]:
    """The parts of a workbook."""
    book = Workbook()
    for row in (["conversation_id", "speaker", "text", "sent at"], [1, "ann", "hello", datetime(2024, 5, 31)]):
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    with zipfile.ZipFile(file) as parts:
        return {name: parts.read(name) for name in parts.namelist()}


@st.composite
def packed(draw: st.DrawFn) -> Input:
    """A workbook or an archive of which one part is damaged, or all of it."""
    is_book = draw(st.booleans())
    sample = draw(st.sampled_from([sample for sample in SAMPLES if isinstance(sample[2], str)]))
    parts = dict(_workbook()) if is_book else {sample[1]: sample[2].encode(), "more/chat.jsonl": b"{}"}
    name = draw(st.sampled_from(sorted(parts)))
    parts[name] = draw(damaged_bytes(parts[name]))
    if not is_book:
        parts[draw(st.sampled_from(("a.json", "../a.json", "/a.json", "a.json/b.json", "", "x" * 300 + ".json")))] = (
            b"[]"
        )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), content)
    raw = file.getvalue()
    return Input("book.xlsx" if is_book else "export.zip", draw(damaged_bytes(raw)) if draw(st.booleans()) else raw)


def _parquet() -> bytes:
    rows = [{"id": "a", "messages": [{"role": "user", "content": "hello"}], "label": 1}] * 3
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


@cache
def _model() -> tuple[Path, dict[str, Any]]:
    """A model, and the files in it that may be others."""
    folder = save_tiny_encoder(Path(tempfile.mkdtemp(prefix="turnlens-fuzz-")))
    files = [path for path in folder.rglob("*") if path.is_file()]
    return folder, {str(path.relative_to(folder)): path.read_bytes() for path in files}


@st.composite
def model_files(draw: st.DrawFn) -> Input:
    """One file of a model, changed or damaged."""
    name, content = draw(st.sampled_from(sorted(_model()[1].items())))
    if name.endswith(".json") and draw(st.booleans()):
        return Input(name, json.dumps(draw(changed_value(json.loads(content)))).encode())
    return Input(name, draw(damaged_bytes(content)))


def check_model(given: Input) -> None:
    """Load the model with that file in place of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "model"
        shutil.copytree(_model()[0], folder)
        (folder / given.name).write_bytes(given.content)
        refused(partial(load_encoder, device="cpu"))(folder)


def _of_file(check: Callable[[Path, str], None]) -> Callable[[Input], None]:
    def checked(given: Input) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / given.name
            path.write_bytes(given.content)
            check(path, given.format)

    return checked


def _damaged(name: str, content: bytes, read: Callable[[Path], object]) -> Target:
    return Target(_inputs(name, content), _of_file(refused(read)))


def _inputs(name: str, content: bytes) -> st.SearchStrategy[Input]:
    return damaged_bytes(content).map(lambda raw: Input(name, raw))


_parquets = typed_tables().map(lambda raw: Input("table.parquet", raw)) | _inputs("rows.parquet", _parquet())
_pairs = resembling("pairs.jsonl", json.dumps(_PAIR) + "\n")
_texts = (repetitive_texts() | st.text()).map(lambda text: Input("text.txt", text.encode("utf-8", "replace")))

TARGETS: dict[str, Target] = {
    "conversations": Target(conversations() | medleys() | _parquets, _of_file(check_reading)),
    "columns": Target(medleys() | conversations(), _of_file(check_columns)),
    "encodings": Target(encodings(), _of_file(check_reading)),
    "packed": Target(packed(), _of_file(refused(read_packed))),
    "mailboxes": Target(mailboxes(), _of_file(check_reading)),
    "nli": Target(
        _pairs | _inputs("pairs.csv", b"premise,hypothesis,label\na,b,neutral\n"), _of_file(refused(read_nli))
    ),
    "candidates": _damaged("replies.txt", "yes\nnö\n".encode(), partial(read_candidates, read=read_conversations)),
    "retrieval": _damaged("select.txt", b"0\ta\tx\t1\t2\n1\tb\tx\t0\t2\n2\tc\ty\t\t0,1\n", read_retrieval_task),
    "sts": _damaged("sts.txt", b"3.5\ta b\tc d\n1.0\tx\ty\n", read_sts_task),
    "recipe": _damaged("recipe.toml", _RECIPE.encode(), read_settings),
    "redaction": Target(_texts, lambda given: check_redaction(given.content)),
    "model": Target(model_files(), check_model),
    "filter": Target(filters().map(lambda raw: Input("filter", raw)), lambda given: check_filter(given.content)),
    "request": Target(bodies().map(lambda pair: Input(*pair)), lambda given: check_request(given.name, given.content)),
}
