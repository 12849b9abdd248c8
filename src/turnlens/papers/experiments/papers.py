"""The three papers, and the figures they report, as data: ``published.json`` in the room of each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files

# Name of the suite -> its paper. Kept here, and not with the suites, for the command line: this module imports quickly.
PAPERS = {
    "dialoguecse": "DialogueCSE (Liu et al., EMNLP 2021)",
    "dial2vec": "dial2vec (Liu et al., EMNLP 2022)",
    "triple": "Triple-Encoders (Erker et al., ACL 2024)",
}
# Name of the suite -> what it runs of its paper, for the same reason here, and so its data sets.
TABLES = {
    "dialoguecse": "Table 2 and, as studies, Figures 2 and 3 and Tables 3 and 4",
    "dial2vec": "Tables 2 to 5 and, as a study, Figure 3",
    "triple": "Tables 2 to 7 and Figure 6",
}
DATA_SETS = {
    "dialoguecse": ("sgd", "ecd", "jddc", "mdc", "sample"),
    "dial2vec": ("sgd", "self-dialogue", "bitod", "doc2dial", "metalwoz", "multiwoz", "sample"),
    "triple": ("dailydialog", "mdc", "personachat", "sgd", "cbt", "sample"),
}
_ROOMS = {"dialoguecse": "dialogue_cse", "dial2vec": "dial2vec", "triple": "triple_encoders"}


def check_data_sets(names: Iterable[str] | None, known: Iterable[str]) -> None:
    """Raise ``ValueError`` if one of the names is not that of a known data set."""
    if unknown := sorted(set(names or ()) - set(known)):
        raise ValueError(f"unknown data set {', '.join(map(repr, unknown))}: expected some of {', '.join(known)}")


@dataclass(frozen=True)
class PaperTable:
    """One figure of a table.

    Attributes:
        table: The table's name in the paper.
        task: Key of the task, as in the results of ``turnlens.evaluate``.
        metric: The metric, with the same name and unit as in these results.
        columns: Data sets, or the values of a study.
        rows: Name of the row -> (columns,) its figures. Rows are methods, or in a study data sets.
        study: Name of the study, "" if it is not one.
        note: What a reader has to know about the figures.
    """

    table: str
    task: str
    metric: str
    columns: tuple[str, ...]
    rows: dict[str, tuple[float, ...]]
    study: str = ""
    note: str = ""

    def show(self, value: float) -> str:
        """A figure with the table's own number of decimals."""
        decimals = max(len(str(cell).partition(".")[2]) for row in self.rows.values() for cell in row)
        return f"{value:.{decimals}f}"


@dataclass(frozen=True)
class Paper:
    """The figures that a paper reports.

    Attributes:
        paper: Authors and year.
        url: Where it is.
        encoder: The encoder its methods start from.
        encoders: Row -> its encoder, for rows with a different one.
        methods: Our method -> rows of the same method.
        tables: Its tables.
    """

    paper: str
    url: str
    encoder: str
    encoders: dict[str, str]
    methods: dict[str, tuple[str, ...]]
    tables: tuple[PaperTable, ...]

    def encoder_of(self, row: str) -> str:
        """The encoder behind a row."""
        return self.encoders.get(row, self.encoder)

    def figure(self, method: str, data: str, task: str, metric: str) -> str:
        """The figure that the paper reports for one of our methods, with its encoder; "" if it reports nothing."""
        for table in self.tables:
            if (table.task, table.metric, table.study) != (task, metric, ""):
                continue
            columns = [column.lower() for column in table.columns]
            for row in self.methods.get(method, ()):
                if row in table.rows and data in columns:
                    return f"{table.show(table.rows[row][columns.index(data)])} ({self.encoder_of(row)})"
        return ""

    def notes(self, data: str, task: str) -> list[str]:
        """A note about the figures of a task on a data set, by table."""
        of_task = [table for table in self.tables if (table.task, table.study) == (task, "")]
        with_note = [table for table in of_task if table.note and data in map(str.lower, table.columns)]
        return list(dict.fromkeys(f"The paper's {table.table}: {table.note}" for table in with_note))


def load_paper(suite: str) -> Paper:
    """The figures of the paper of a suite.

    Args:
        suite: The suite's name, one of ``PAPERS``.
    """
    text = (files("turnlens.papers") / _ROOMS[suite] / "published.json").read_text(encoding="utf-8")
    content = json.loads(text)
    tables = tuple(
        PaperTable(
            **{
                **table,
                "columns": tuple(table["columns"]),
                "rows": {row: tuple(values) for row, values in table["rows"].items()},
            }
        )
        for table in content.pop("tables")
    )
    methods = {method: tuple(rows) for method, rows in content.pop("methods").items()}
    return Paper(**content, methods=methods, tables=tables)
