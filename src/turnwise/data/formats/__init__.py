"""Source formats of conversations, by name."""

from __future__ import annotations

from turnwise.data.formats import (
    bitod,
    cbt,
    chat,
    dailydialog,
    dial2vec,
    doc2dial,
    ecd,
    jddc,
    mdc,
    metalwoz,
    multiwoz,
    personachat,
    self_dialogue,
    sgd,
    table,
    taskmaster,
)
from turnwise.data.reading.format import Format

# Detection takes the first match, so the formats with the most distinctive layouts come first.
_MODULES = (
    chat,
    sgd,
    multiwoz,
    bitod,
    doc2dial,
    metalwoz,
    taskmaster,
    self_dialogue,
    mdc,
    jddc,
    dailydialog,
    ecd,
    dial2vec,
    personachat,
    cbt,
    table,
)
FORMATS: dict[str, Format] = {module.FORMAT.name: module.FORMAT for module in _MODULES}
