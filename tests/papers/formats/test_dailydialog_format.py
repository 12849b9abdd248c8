"""DailyDialog."""

from pathlib import Path

from format_cases import read, turns, write


def test_dailydialog(tmp_path: Path) -> None:
    text = "Good day . __eou__ It ’ s raining . __eou__\nYes ? __eou__ No . __eou__ Oh !\n"
    assert read(write(tmp_path / "dialogues_text.txt", text)) == [
        {"id": "dialogues_text-1", "messages": turns("Good day .", "It ’ s raining .")},
        {"id": "dialogues_text-2", "messages": turns("Yes ?", "No .", "Oh !")},
    ]
