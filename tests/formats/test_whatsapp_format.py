import logging
from pathlib import Path

import pytest

from format_cases import read, write
from samples import HELLO, SALAM, SHALOM, WHATSAPP_ANDROID, WHATSAPP_IOS
from turnlens.errors import ConversationError


def test_ios(tmp_path: Path) -> None:
    (row,) = read(write(tmp_path / "_chat.txt", WHATSAPP_IOS))
    assert row["messages"] == [
        {
            "role": "Änn 🌸",
            "content": "",
            "notice": "Messages are end-to-end encrypted.",
            "time": "2023-12-25T21:05:59",
        },
        {"role": "Änn 🌸", "content": f"{HELLO}\nAddress: Long Road", "time": "2023-12-25T21:06:10"},
        {"role": "دان", "content": "", "attachments": ["00001-PHOTO.jpg"], "time": "2023-12-25T21:07:00"},
        {"role": "دان", "content": SALAM, "time": "2023-12-26T09:00:00"},
        {"role": "Änn 🌸", "content": "so: yes", "notice": "This message was edited", "time": "2023-12-26T09:01:00"},
    ]


def test_android(tmp_path: Path) -> None:
    (row,) = read(write(tmp_path / "chat.txt", WHATSAPP_ANDROID))
    assert row["messages"] == [
        {
            "role": "system",
            "content": "",
            "notice": "Messages and calls are end-to-end encrypted.",
            "time": "2023-12-24T21:05:00",
        },
        {"role": "דן", "content": SHALOM, "time": "2023-12-24T21:06:00"},
        {"role": "Ann", "content": "", "attachments": ["Media omitted"], "time": "2023-12-24T21:07:00"},
        {"role": "Ann", "content": "look 👀", "attachments": ["IMG-1.jpg"], "time": "2023-12-24T00:08:00"},
    ]


@pytest.mark.parametrize(
    ("stamp", "time"),
    [
        ("31.12.23, 21:05 - ", "2023-12-31T21:05:00"),
        ("31/12/2023 21:05 - ", "2023-12-31T21:05:00"),
        ("2023-12-31, 21:05 - ", "2023-12-31T21:05:00"),
        ("2023/12/31 下午9:05 - ", "2023-12-31T21:05:00"),
        ("[31.12.2023 klo 21.05.09] ", "2023-12-31T21:05:09"),
        ("31/12/23, 9:05 p. m. - ", "2023-12-31T21:05:00"),
        ("\u200f31\u200f/12\u200f/2023، 9:05 م - ", "2023-12-31T21:05:00"),
        ("٣١/١٢/٢٠٢٣، ٩:٠٥ ص - ", "2023-12-31T09:05:00"),
        ("[12/31/23, 12:05:00 AM] ", "2023-12-31T00:05:00"),
        ("31/12/23, 9:05 μ.μ. - ", "2023-12-31T21:05:00"),
        ("31.12.2023 ÖS 9:05 - ", "2023-12-31T21:05:00"),
        ("31/12/2023, 9:05 CH - ", "2023-12-31T21:05:00"),
        ("[31.12.23, 9:05:09\u202fnachm.] ", "2023-12-31T21:05:09"),
        ("2023. 12. 31. du. 9:05 - ", "2023-12-31T21:05:00"),
        ("2023. 12. 31. de. 12:05 - ", "2023-12-31T00:05:00"),
        ("31/12/2023 9:05 da noite - ", "2023-12-31T21:05:00"),
        ("31/12/2023, 9:05 หลังเที่ยง - ", "2023-12-31T21:05:00"),
        ("31.12.23 г., 21:05 ч. - ", "2023-12-31T21:05:00"),
    ],
)
def test_notations_of_regions(tmp_path: Path, stamp: str, time: str) -> None:
    (row,) = read(write(tmp_path / "chat.txt", f"{stamp}Ann: hello\n{stamp}Ben: hi\n"))
    assert row["messages"][0] == {"role": "Ann", "content": "hello", "time": time}
    assert "date_order" not in row


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("Ann: <Media omitted>\nthe new roof", {"content": "the new roof", "attachments": ["Media omitted"]}),
        ("Ann: <已省略多媒体>\n看", {"content": "看", "attachments": ["已省略多媒体"]}),
        ('Ann: <b>\n<a href="x">\n', {"content": '<b>\n<a href="x">'}),
        ("Ann: This message was deleted", {"content": "", "notice": "This message was deleted"}),
        ("Ann: You deleted this message", {"content": "", "notice": "You deleted this message"}),
        ("Ann: yes <This message was edited>", {"content": "yes", "notice": "This message was edited"}),
        ("Ann: they wrote: This message was deleted", {"content": "they wrote: This message was deleted"}),
        ('Dr" Lee: he said "no"', {"role": 'Dr" Lee', "content": 'he said "no"'}),
        ("Ann: <my draft>\nDear all", {"content": "<my draft>\nDear all"}),
        ("Ann: so\n31/12/2023 10:00:05: error: no", {"content": "so\n31/12/2023 10:00:05: error: no"}),
        ('Ann "A" Lee: he said "no"', {"role": 'Ann "A" Lee', "content": 'he said "no"'}),
        ("Ann: Hello,\n\n\n12/31/23 10:00: we meet.\n\n", {"content": "Hello,\n\n12/31/23 10:00: we meet."}),
    ],
)
def test_what_is_said_and_what_the_app_writes(tmp_path: Path, text: str, read_as: dict[str, object]) -> None:
    (row,) = read(write(tmp_path / "chat.txt", f"31/12/23, 21:05 - {text}\n31/12/23, 21:06 - Ben: hi\n"))
    expected = {"role": "Ann", "content": "", **read_as, "time": "2023-12-31T21:05:00"}
    assert row["messages"] == [expected, {"role": "Ben", "content": "hi", "time": "2023-12-31T21:06:00"}]


@pytest.mark.parametrize(
    ("dates", "first", "order"),
    [
        (["01/02/24", "13/02/24"], "2024-02-01", None),
        (["01/02/24", "01/13/24"], "2024-01-02", None),
        (["01/09/24", "02/01/24"], "2024-01-09", None),  # the chat would go back in time
        (["09/01/24", "01/02/24"], "2024-01-09", None),
        (["05/05/24", "05/05/24"], "2024-05-05", None),  # the same either way
        (["01/05/24", "01/09/24"], "2024-01-05", "month/day/year (assumed)"),
        (["05/01/24", "09/01/24"], "2024-01-05", "day/month/year (assumed)"),
        (["05/01/24"], "2024-01-05", "day/month/year (assumed)"),
    ],
)
def test_the_file_decides_on_day_and_month(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, dates: list[str], first: str, order: str | None
) -> None:
    text = "".join(f"{date}, 10:00 - Ann: hello\n" for date in dates)
    with caplog.at_level(logging.WARNING, logger="turnlens"):
        (row,) = read(write(tmp_path / "chat.txt", text))
    assert row["messages"][0]["time"] == f"{first}T10:00:00"
    assert row.get("date_order") == order
    assert ("could be read as day/month or as month/day" in caplog.text) == (order is not None)


def test_impossible_times(tmp_path: Path) -> None:
    path = write(tmp_path / "chat.txt", "13/02/24, 10:00 - Ann: hello\n12/31/24, 10:00 - Ann: mixed\n")
    with pytest.raises(
        ConversationError,
        match=r"chat\.txt:2: found the time '12/31/24, 10:00 -', which is not a time in the order day",
    ):
        read(path)
    early = write(tmp_path / "b.txt", "what is this\n13/02/24, 10:00 - Ann: hello\n")
    with pytest.raises(ConversationError, match=r"b\.txt:1: found 'what is this'; expected lines such as"):
        read(early, "whatsapp")
