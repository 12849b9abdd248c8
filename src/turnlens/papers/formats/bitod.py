"""BiToD: ``en_train.json``, ``zh_test.json``, …, one JSON object of all dialogues by their id.

What the wizard asks of the knowledge base, and its answers, are events too; they hold no text and are left out. The
label ``domains`` is taken from the tasks of the scenario: a name such as ``hotels_en_US_search`` begins with its
domain. Chinese names are given the English domain.
"""

from __future__ import annotations

from typing import Any

from turnlens.formats.bad_input import parse_record
from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import Source

_ROLES = {"User": "user", "Wizard": "assistant"}
_CHINESE_TASKS = {
    "宾馆查询": "hotels",
    "宾馆预订": "hotels",
    "餐馆查询": "restaurants",
    "餐馆预订": "restaurants",
    "景点查询": "attractions",
    "天气查询": "weathers",
    "香港地铁": "HKMTR",
}


def _is_query(event: dict[str, Any]) -> bool:
    return event["Agent"] == "KnowledgeBase" or event.get("Actions") == "query"


def convert(raw: Any, source: Source) -> dict[str, Any]:
    """Leaves out what passes between the wizard and the knowledge base, and takes the domains from the tasks' names."""
    dialogue = parse_record(raw)
    tasks = [capability["Task"] for capability in dialogue["Scenario"]["WizardCapabilities"]]
    return {
        "id": dialogue["id"],
        "messages": [
            {"role": _ROLES[event["Agent"]], "content": event["Text"]}
            for event in dialogue["Events"]
            if not _is_query(event)
        ],
        # searching for a hotel and booking it are two tasks of one domain
        "domains": list(dict.fromkeys(_CHINESE_TASKS.get(task, task.split("_")[0]) for task in tasks)),
    }


def matches(head: Head) -> bool:
    """The file's own keys are ids, so those inside the first dialogue decide."""
    return {"Scenario", "Events"} <= head.inner_keys


FORMAT = Format(
    name="bitod",
    description="BiToD (en_train.json, zh_train.json, …)",
    layout='one object of dialogues by id: {"…": {"Scenario": {"WizardCapabilities": [{"Task": "…"}, …]}, '
    '"Events": [{"Agent": "User" or "Wizard", "Text": "…"}, …]}, …}',
    records=Source.keyed_records,
    convert=convert,
    matches=matches,
    sidecars={"dict_en_zh.json": "translated values", "??_fewshot_dials.json": "ids of a split"},
)
