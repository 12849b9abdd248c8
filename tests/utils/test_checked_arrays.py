from pathlib import Path

import numpy as np

from turnlens._utils.checked_arrays import load_checked, save_checked


def test_every_changed_byte_of_a_file_shows(tmp_path: Path) -> None:
    file, facts = tmp_path / "groups.safetensors", {"name": "größe", "groups": {"1": [1.5, None]}}
    arrays = {"ids": np.arange(6, dtype=np.int64)[::2], "vectors": np.eye(3, dtype=np.float32).T, "none": np.zeros(0)}
    save_checked(file, facts, arrays)
    read, found = load_checked(file)
    assert read == facts and found.keys() == arrays.keys()
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)
    content = file.read_bytes()
    for place in range(8, len(content)):
        file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            assert load_checked(file)[0] == facts, place  # only a blank that fills up the header
        except ValueError:
            continue
        assert content[place : place + 1] == b" ", place
