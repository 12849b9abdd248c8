from collections.abc import Iterator
from pathlib import Path

import pytest

import turnlens
from threads import torch_threads

from .cases import SHARD_SIZE


@pytest.fixture
def one_thread(without_noise: None) -> Iterator[None]:
    """As many as an actor has: in more, the same sums may have other bits."""
    with torch_threads(1):
        yield


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder of three files, with two shards of ten conversations in each, the last one smaller."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    conversations = turnlens.sample_conversations(48)
    for number in range(3):
        conversations.select(range(16 * number, 16 * (number + 1))).to_json(str(folder / f"day-{number}.jsonl"))
    return folder


@pytest.fixture
def embed(corpus, tiny_encoder_path):
    """Embeds the corpus, or something other than, with the tiny encoder."""

    def run(output: object, paths: object = corpus, **further) -> int:
        return turnlens.scale.embed_corpus(
            paths, output=output, encoder=tiny_encoder_path, shard_size=SHARD_SIZE, **further
        )

    return run
