import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError

from turnlens._utils.checked_arrays import load_checked, save_checked
from turnlens._utils.files import atomic_path, check_file, check_folder, existing_file, only_writer
from turnlens._utils.registries import require


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


def test_old_folders_stay_if_nothing_is_written(tmp_path: Path) -> None:
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


def test_existing_files_need_force(tmp_path: Path) -> None:
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
    with pytest.raises(FileExistsError, match="notes holds something other than a model"):
        check_folder(tmp_path / "notes", force=True)
    with pytest.raises(NotADirectoryError, match="is a file"):
        check_folder(tmp_path / "notes" / "precious.txt", force=True)
    for name in (".", "..", tmp_path / ".."):
        with pytest.raises(ValueError, match="not the name of a folder"):
            check_folder(name, force=True)


def test_a_missing_optional_dependency_names_its_extra() -> None:
    with pytest.raises(ImportError, match=r"pip install 'turnlens\[baselines\]'"):
        require("no_such_module", "baselines")


def test_broken_optional_dependencies_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_module.py").write_text("raise ImportError('broken.so: failed to map segment')", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match="failed to map segment"):
        require("broken_module", "baselines")


TORCH_ON_A_FULL_DISK = "[enforce fail at inline_container.cc:672] . unexpected pos 704 vs 598"
KILLED = """
import os, signal, sys
from pathlib import Path
from turnlens._utils.files import atomic_path

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

target, moment = Path(sys.argv[1]), sys.argv[2]
replace = Path.replace
if moment == "renaming":
    Path.replace = lambda path, to: die() if path.parent.name == "new" else replace(path, to)
with atomic_path(target) as temporary:
    temporary.mkdir()
    (temporary / "modules.json").write_text("new")
    if moment == "writing":
        die()
"""


def write_and_die(target: Path, moment: str) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, str(target), moment], check=False)
    assert ended.returncode < 0


def test_remains_of_killed_processes_are_removed(tmp_path: Path) -> None:
    target = tmp_path / "model"
    write_and_die(target, "writing")
    assert len(list(tmp_path.iterdir())) == 1
    with atomic_path(target) as temporary:
        temporary.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_kill_between_two_renames_loses_nothing(tmp_path: Path) -> None:
    target = tmp_path / "model"
    target.mkdir()
    (target / "modules.json").write_text("old")
    write_and_die(target, "renaming")
    assert not target.exists()
    assert check_folder(target, force=True) == target
    assert (target / "modules.json").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_the_workspace_of_a_process_that_is_alive_stays(tmp_path: Path) -> None:
    target = tmp_path / "file"
    with atomic_path(target) as first, atomic_path(target) as second:
        second.write_text("second")
        first.write_text("first")
    assert target.read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_only_one_process_writes_an_output(tmp_path: Path) -> None:
    output = tmp_path / "model"
    owner = f"process {os.getpid()} on {socket.gethostname()}"
    with only_writer(output):
        with only_writer(tmp_path / "other"):
            pass
        with pytest.raises(BlockingIOError, match=f"model is being written by {owner}: wait"), only_writer(output):
            pass
    with only_writer(output):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_error_whatever_writes(tmp_path: Path) -> None:
    full = "Error while serializing: I/O error: No space left on device (os error 28)"
    for error in (OSError(28, "No space left on device"), SafetensorError(full), RuntimeError(TORCH_ON_A_FULL_DISK)):
        for writing in (only_writer, atomic_path):
            with pytest.raises(OSError, match="model cannot be written: the disk is full"), writing(tmp_path / "model"):
                raise error
    with pytest.raises(RuntimeError, match="out of memory"), only_writer(tmp_path / "model"):
        raise RuntimeError("out of memory")
    assert list(tmp_path.iterdir()) == []


def test_locks_of_dead_processes_are_taken_over(tmp_path: Path) -> None:
    (tmp_path / ".model.lock").write_text("process 1 on elsewhere")
    with only_writer(tmp_path / "model"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_files_get_the_rights_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with atomic_path(tmp_path / "model") as temporary:
            temporary.mkdir()
            (temporary / "weights").touch(0o600)
    finally:
        os.umask(before)
    assert (tmp_path / "model" / "weights").stat().st_mode & 0o777 == 0o640


def test_writing_through_a_symbolic_link_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "disk" / "empty").mkdir(parents=True)
    for name in ("empty", "missing"):
        link = tmp_path / f"link-to-{name}"
        link.symlink_to(tmp_path / "disk" / name)
        with atomic_path(check_folder(link)) as temporary:
            temporary.mkdir()
            (temporary / "new").write_text("new")
        assert link.is_symlink() and (tmp_path / "disk" / name / "new").read_text() == "new"
    assert sorted(path.name for path in (tmp_path / "disk").iterdir()) == ["empty", "missing"]


def test_missing_files_are_named_with_the_expectation(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"a\.toml is no file: expected a recipe"):
        existing_file(tmp_path / "a.toml", "a recipe")
    with pytest.raises(FileNotFoundError, match="is a folder: expected a recipe"):
        existing_file(tmp_path, "a recipe")


def test_a_file_of_another_stamp_is_not_read(tmp_path: Path) -> None:
    save_checked(tmp_path / "kept.safetensors", {"rows": np.arange(3)}, "of today")
    assert load_checked(tmp_path / "kept.safetensors", "of today")["rows"].tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="computed from something else"):
        load_checked(tmp_path / "kept.safetensors", "of yesterday")


def test_every_changed_byte_of_a_file_shows(tmp_path: Path) -> None:
    file, facts = tmp_path / "groups.safetensors", {"name": "größe", "groups": {"1": [1.5, None]}}
    arrays = {"ids": np.arange(6, dtype=np.int64)[::2], "vectors": np.eye(3, dtype=np.float32).T, "none": np.zeros(0)}
    save_checked(file, {"arrays": arrays, **facts})
    read = load_checked(file)
    found = read.pop("arrays")
    assert read == facts and found.keys() == arrays.keys()
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)
    content = file.read_bytes()
    for place in range(8, len(content)):
        file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            read = load_checked(file)
            assert read.pop("arrays").keys() == arrays.keys() and read == facts, place  # only a blank fills the header
        except ValueError:
            continue
        assert content[place : place + 1] == b" ", place
