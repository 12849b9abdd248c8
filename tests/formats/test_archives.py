import json
import zipfile
from pathlib import Path
from typing import Any

import datasets
import pytest

from format_cases import read, turns
from samples import WHATSAPP_IOS, write_slack_export
from turnlens.data.conversations import convert_conversations, read_conversations
from turnlens.errors import ConversationError
from turnlens.formats.folders import unpack
from turnlens.scale.inputs import find_inputs

CHAT = json.dumps({"messages": turns("hello", "hi")})


def packed(path: Path, files: dict[str, Any]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_zip_files_are_read_as_their_folders(tmp_path: Path) -> None:
    folder = write_slack_export(tmp_path / "slack")
    files = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert read(packed(tmp_path / "slack.zip", files)) == read(folder)


def test_one_file_and_what_lies_beside_it(tmp_path: Path) -> None:
    files = {"_chat.txt": WHATSAPP_IOS, "photo.jpg": b"\xff", "__MACOSX/._chat.txt": b"\0", "a/": b""}
    path = packed(tmp_path / "Chat with Ann.zip", files)
    assert [row["id"] for row in read(path)] == ["_chat-1"]
    packed(tmp_path / "Chat with Ben.zip", files)
    ids = [row["id"] for row in read(tmp_path / "*.zip")]  # type: ignore[arg-type]
    assert ids == ["Chat with Ann.zip/_chat.txt-1", "Chat with Ben.zip/_chat.txt-1"]


def test_zip_files_are_cached_until_they_change(tmp_path: Path) -> None:
    path = packed(tmp_path / "c.zip", {"c.jsonl": CHAT})
    first = read_conversations(path).cache_files
    assert Path(first[0]["filename"]).is_relative_to(datasets.config.HF_DATASETS_CACHE)
    assert read_conversations(path).cache_files == first
    packed(path, {"c.jsonl": f"{CHAT}\n{CHAT}"})
    assert len(read_conversations(path)) == 2


def test_errors_name_the_archive(tmp_path: Path) -> None:
    path = packed(tmp_path / "c.zip", {"in/c.jsonl": f"{CHAT}\n{{}}\n"})
    with pytest.raises(ConversationError) as caught:
        read(path)
    assert caught.value.where == f"{path}/in/c.jsonl:2"
    with pytest.raises(ConversationError, match=r"c\.zip/in/c\.jsonl:2"):
        convert_conversations(path, output=tmp_path / "out.jsonl")


@pytest.mark.parametrize(
    "name", ["../out.jsonl", "/tmp/out.jsonl", "a/../../out.jsonl", "..\\out.jsonl", "C:/out.jsonl"]
)
def test_nothing_is_unpacked_outside_the_folder(tmp_path: Path, name: str) -> None:
    before = set(tmp_path.parent.iterdir())
    path = packed(tmp_path / "c.zip", {"ok.jsonl": CHAT, name: CHAT})
    with pytest.raises(ConversationError, match=r"c\.zip: holds a file named .*, which leads out of a folder"):
        read(path)
    assert set(tmp_path.parent.iterdir()) == before and list(tmp_path.iterdir()) == [path]
    unpacked = unpack(packed(tmp_path / "good.zip", {"ok.jsonl": CHAT}), (".jsonl",))  # in the folder of all archives
    assert not list(unpacked.parent.parent.rglob("out.jsonl"))


def test_links_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_text(CHAT)
    link = zipfile.ZipInfo("link.jsonl")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.writestr(link, str(secret))
        archive.writestr("own.jsonl", CHAT)
    assert [row["id"] for row in read(tmp_path / "c.zip")] == ["own-1"]


def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLENS_MAX_LINE_MB", "1")
    bomb = packed(tmp_path / "bomb.zip", {f"{number}.jsonl": b" " * (33 << 20) for number in range(2)})
    with pytest.raises(ConversationError, match=r"bomb\.zip: what is packed in it takes far more than a file"):
        read(bomb)
    # a file that says that it is small is read no further than it says
    raw = bytearray(packed(tmp_path / "liar.zip", {"a.jsonl": b" " * 100_000}).read_bytes())
    at = raw.index(b"PK\x01\x02") + 24
    raw[at : at + 4] = (10).to_bytes(4, "little")
    (tmp_path / "liar.zip").write_bytes(raw)
    with pytest.raises(ConversationError, match=r"liar\.zip: not a zip file that can be read"):
        read(tmp_path / "liar.zip")


def test_archives_without_conversations_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConversationError, match=r"a\.zip: holds no conversations; expected \.jsonl"):
        read(packed(tmp_path / "a.zip", {"photo.jpg": b"\xff", "inner.zip": b"PK"}))
    (tmp_path / "b.zip").write_bytes(b"PK")
    with pytest.raises(ConversationError, match=r"b\.zip: not a zip file that can be read"):
        read(tmp_path / "b.zip")
    path = packed(tmp_path / "c.zip", {"c.jsonl": CHAT})
    with pytest.raises(ConversationError, match="cannot be read shard by shard"):
        find_inputs(path)
    raw = path.read_bytes()
    flagged = raw.replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01")
    assert flagged != raw
    path.write_bytes(flagged)
    with pytest.raises(ConversationError, match=r"c\.zip: has a password"):
        read(path)
