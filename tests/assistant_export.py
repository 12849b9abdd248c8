"""An export of Langfuse: sessions with an assistant, each asking for one thing, of which some fail."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def write_observations(path: Path, asked: Mapping[str, Sequence[str]], failing: Sequence[str]) -> Path:
    """Write observations as the export to a blob storage does, two traces of a step and a call for each session.

    Args:
        path: The file.
        asked: What is asked for, and how it is worded, once for each session.
        failing: What fails in two of three sessions.
    """
    rows: list[dict[str, Any]] = []
    for name, wordings in asked.items():
        for number, wording in enumerate(wordings):
            session, history = f"{name}-{number}", [{"role": "system", "content": "Be kind."}]
            for turn, question in enumerate((wording, f"{wording} again")):
                fails = name in failing and number % 3 > 0 and turn == 0
                answer = "" if fails else f"here is {wording} {turn}"
                trace, second = f"{session}-{turn}", f"2026-05-{number % 28 + 1:02}T10:0{turn}:0"
                history = [*history, {"role": "user", "content": question}]
                row = {"trace_id": trace, "session_id": session, "level": "DEFAULT", "status_message": None}
                step = {**row, "id": f"{trace}-a", "parent_observation_id": None, "type": "SPAN", "usage_details": {}}
                step |= {"start_time": f"{second}0Z", "end_time": f"{second}2Z", "input": question, "output": answer}
                call = {**row, "id": f"{trace}-b", "parent_observation_id": step["id"], "type": "GENERATION"}
                call |= {"start_time": f"{second}1Z", "end_time": f"{second}2Z", "provided_model_name": "m"}
                call |= {"usage_details": {"input": 5, "output": 2}, "cost_details": {"total": 0.25}, "input": history}
                call |= {"output": {"role": "assistant", "content": answer} if answer else None}
                call |= {"level": "ERROR", "status_message": "the tool timed out"} if fails else {}
                rows += [step, call]
                history = [*history, {"role": "assistant", "content": answer}] if answer else history
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
