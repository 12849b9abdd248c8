from __future__ import annotations

from pathlib import Path

import pytest

from turnwise._utils.files import atomic_path, check_file, check_folder
from turnwise._utils.optional import require


def test_a_file_appears_only_when_complete(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file.txt"
    with pytest.raises(KeyboardInterrupt), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert list(target.parent.iterdir()) == []
    with atomic_path(target) as temporary:
        temporary.write_text("whole")
        assert not target.exists()
    assert [path.name for path in target.parent.iterdir()] == ["file.txt"]


def test_a_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    target = tmp_path / "model"
    for content in ("old", "new"):
        with atomic_path(target) as temporary:
            temporary.mkdir()
            (temporary / content).write_text(content)
    assert [path.name for path in target.iterdir()] == ["new"]
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:
        temporary.mkdir()
        raise RuntimeError
    assert [path.name for path in target.iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_the_old_folder_stays_where_nothing_new_was_written(tmp_path: Path) -> None:
    target = tmp_path / "model"
    target.mkdir()
    (target / "old").write_text("old")
    with pytest.raises(FileNotFoundError), atomic_path(target):
        pass
    assert [path.name for path in target.iterdir()] == ["old"]


def test_the_old_folder_comes_back_where_renaming_fails(tmp_path: Path, monkeypatch) -> None:
    target = tmp_path / "model"
    target.mkdir()
    (target / "old").write_text("old")
    rename = Path.replace

    def fail(path: Path, to: Path) -> Path:
        if path.name == "model" and (path / "new").exists():
            raise OSError("disk full")
        return rename(path, to)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"), atomic_path(target) as temporary:
        temporary.mkdir()
        (temporary / "new").write_text("new")
    assert [path.name for path in target.iterdir()] == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_files_that_exist_need_force_and_folders_are_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match="--force"):
        check_file(tmp_path / "file")
    assert check_file(tmp_path / "file", force=True) == tmp_path / "file"
    (tmp_path / "folder").mkdir()
    for force in (False, True):
        with pytest.raises(IsADirectoryError, match="folder is a folder: give the name of a file"):
            check_file(tmp_path / "folder", force)
    with pytest.raises(NotADirectoryError, match="file is a file"):
        check_file(tmp_path / "file" / "below")
    with pytest.raises(IsADirectoryError), atomic_path(tmp_path / "folder") as temporary:
        temporary.write_text("")


def test_only_models_are_overwritten(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert check_folder(tmp_path / "empty") == tmp_path / "empty"
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "modules.json").write_text("[]")
    with pytest.raises(FileExistsError, match="--force"):
        check_folder(tmp_path / "model")
    assert check_folder(tmp_path / "model", force=True) == tmp_path / "model"
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "precious.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="notes holds something else than a model"):
        check_folder(tmp_path / "notes", force=True)
    with pytest.raises(NotADirectoryError, match="is a file"):
        check_folder(tmp_path / "notes" / "precious.txt", force=True)
    for name in (".", "..", tmp_path / ".."):
        with pytest.raises(ValueError, match="no name of a folder"):
            check_folder(name, force=True)


def test_a_missing_optional_dependency_names_its_extra() -> None:
    with pytest.raises(ImportError, match=r"pip install 'turnwise\[baselines\]'"):
        require("no_such_module", "baselines")
