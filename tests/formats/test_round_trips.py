"""Any text that a product writes by its own rules comes back as it was, whatever looks like a boundary inside it."""

import csv
import io
import tempfile
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from format_cases import read

few = settings(max_examples=20, deadline=None)


def lines(*traps: str) -> st.SearchStrategy[str]:
    """Texts of lines, some of which look like a boundary."""
    words = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="<>&`"), min_size=1, max_size=8)
    line = st.one_of(st.sampled_from(traps), words, st.just("two words"))
    return st.lists(line, min_size=1, max_size=5).map("\n".join)


def contents(name: str, content: str) -> list[list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content.encode())
        return [[message["content"] for message in row["messages"]] for row in read(path)]


DIALECTS = (
    {"delimiter": ","},
    {"delimiter": ";", "lineterminator": "\n"},
    {"delimiter": "\t", "quoting": csv.QUOTE_ALL},
)
CELLS = lines("a,b", "a;b\tc", 'say "no"', "", "sep=;", "'=1+1", "1,user,text", " ", "2024-01-02")


@few
@given(st.lists(CELLS.map(str.strip).filter(bool), min_size=1, max_size=4), st.sampled_from(DIALECTS))
def test_cells_come_back_from_three_dialects(texts: list[str], dialect: dict[str, str]) -> None:
    file = io.StringIO(newline="")
    rows = [["1", "ann", text] for text in texts]
    csv.writer(file, **dialect).writerows([["conversation_id", "speaker", "text"], *rows])  # type: ignore[arg-type]
    expected = [text.removeprefix("'") if text.startswith("'=") else text for text in texts]
    assert contents("t.csv", file.getvalue()) == [expected]


CAPTIONS = lines("1", "NOTE", "STYLE", "00:01", "WEBVTT", "a --&gt; b", "- yes", "00:00:01.000 --&gt; 00:00:02.000")


@few
@given(st.lists(CAPTIONS, min_size=1, max_size=5), st.booleans())
def test_captions_come_back_from_subtitles(texts: list[str], numbered: bool) -> None:
    blocks = [
        f"{f'{n}{chr(10)}' if numbered else ''}00:0{n}.000 --> 00:0{n}.900\n<v Ann>{text}</v>\n"
        for n, text in enumerate(texts)
    ]
    (said,) = contents("a.vtt", "WEBVTT\n\n" + "\n".join(blocks))
    assert said == [text.replace("&gt;", ">") for text in texts]


@few
@given(st.lists(st.lists(st.sampled_from(["my router", "is dead", "yes", "no"]), min_size=1, max_size=1), min_size=2))
def test_captions_that_roll_up_are_read_once(new: list[list[str]]) -> None:
    shown = [[], *new]
    blocks = []
    for n, (before, after) in enumerate(pairwise(shown)):
        text = "\n".join([*(f"{line} x" for line in before), *(f"{line}<00:00:01.500><c> x</c>" for line in after)])
        blocks.append(f"00:{n % 60:02}.000 --> 00:{n % 60:02}.500\n{text}\n")
        blocks.append(f"00:{n % 60:02}.500 --> 00:{n % 60:02}.510\n" + "\n".join(f"{line} x" for line in after) + "\n")
    (said,) = contents("a.vtt", "WEBVTT\n\n" + "\n".join(blocks))
    assert "\n".join(said) == "\n".join(f"{line} x" for lines_shown in new for line in lines_shown)


LOGS = lines("ERROR 12:00 failed", "[INFO] 31/12: ok", "Ann: hi", "12/31", "- 10:00 - x", "2024-01-01T10:00:00Z start")


@few
@given(st.lists(LOGS, min_size=1, max_size=4), st.booleans())
def test_pasted_logs_come_back_from_whatsapp(texts: list[str], on_ios: bool) -> None:
    stamp = "[31/12/2023, 21:05:59] Ann: " if on_ios else "31/12/2023, 21:05 - Ann: "
    (said,) = contents("chat.txt", "".join(f"{stamp}{text}\n" for text in texts))
    assert said == texts


TURNS = lines("it is late", "that's all").filter(lambda text: ":" not in text and "：" not in text)


@few
@given(st.lists(TURNS, min_size=2, max_size=5))
def test_lines_come_back_from_transcripts(texts: list[str]) -> None:
    texts = ["a", "b", *texts, "c", "d"]
    (said,) = contents("talk.txt", "".join(f"{('Ann', 'Ben')[n % 2]}: {text}\n" for n, text in enumerate(texts)))
    assert said == texts
