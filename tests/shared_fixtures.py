"""A tiny, randomly initialised encoder, built once and loaded from disk like any other."""

import gc
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# As commands do before transformers is imported, see `Verbosity`.
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

import datasets
import pytest
import sentence_transformers.base.modules as modules
import torch
import typer.testing
from datasets import Dataset
from filelock import FileLock
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from noise import noisy, noisy_states
from tiny_encoder import save_tiny_encoder
from turnlens.encoders import onnx_graph
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.reply_head import ReplyHead
from turnlens.encoders.transformer import transformer_of
from turnlens.papers.triple_encoders.views import TOKENS, add_views

FORWARD = modules.Transformer.forward
STATES = onnx_graph.Forward.__call__

# More make small tensors slower, and tests in parallel get in each other's way.
torch.set_num_threads(int(os.environ.get("TURNLENS_TEST_THREADS", "1")))


@pytest.fixture(scope="session", autouse=True)
def frozen_imports() -> None:
    """Each training collects garbage, which among half a million objects takes longer than its steps."""
    import turnlens.training.train  # so that these are among what is not gone through again  # noqa: F401

    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def noise() -> Iterator[None]:
    """Vectors differ with their batch, as they do on another processor."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(modules.Transformer, "forward", noisy(FORWARD))
        patch.setattr(onnx_graph.Forward, "__call__", noisy_states(STATES))
        yield


@pytest.fixture(scope="session", autouse=True)
def built_commands() -> Iterator[None]:
    """Typer builds all commands anew for each that a test runs, which takes longer than many of these."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.testing._get_command))
        yield


@pytest.fixture
def without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what must be the same to the bit as in other processes, which have no noise."""
    monkeypatch.setattr(modules.Transformer, "forward", FORWARD)
    monkeypatch.setattr(onnx_graph.Forward, "__call__", STATES)


@pytest.fixture
def attention_in_bfloat16() -> None:
    """Skips where torch's attention fails in bfloat16: on a processor with AMX that is told not to use AVX-512."""
    vectors = torch.zeros(1, 1, 64, 8, dtype=torch.bfloat16)
    try:
        torch.nn.functional.scaled_dot_product_attention(vectors, vectors, vectors)
    except RuntimeError as error:
        pytest.skip(f"torch cannot compute attention in bfloat16 here: {error}")


@pytest.fixture(scope="session", autouse=True)
def datasets_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The cache of conversations that were read is neither the user's nor that of tests that run beside these."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("datasets"))
        yield


@pytest.fixture(scope="module")
def only_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests that start Ray take turns, also where they run in parallel: a cluster takes every core, and gigabytes."""
    folder = tmp_path_factory.getbasetemp()
    with FileLock((folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "ray.lock"):
        yield


@pytest.fixture(scope="session")
def tiny_encoder_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_encoder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def untouched_tiny_encoder(tiny_encoder_path: Path) -> ConversationEncoder:
    return ConversationEncoder(str(tiny_encoder_path), device="cpu").eval()


@pytest.fixture
def tiny_encoder(untouched_tiny_encoder: ConversationEncoder) -> ConversationEncoder:
    return untouched_tiny_encoder.clone()


@pytest.fixture
def texts_read_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[SentenceTransformer], list[str]]:
    """Gives the list to which every text is added that an encoder reads from now on."""

    def watch(encoder: SentenceTransformer) -> list[str]:
        seen: list[str] = []
        preprocess = encoder.preprocess
        monkeypatch.setattr(encoder, "preprocess", lambda texts, **how: seen.extend(texts) or preprocess(texts, **how))
        return seen

    return watch


@pytest.fixture
def add_head() -> Callable[[ConversationEncoder], ConversationEncoder]:
    """Gives an encoder a random reply head of three turns."""

    def add(encoder: ConversationEncoder) -> ConversationEncoder:
        head, generator = ReplyHead(32, turns=3), torch.Generator().manual_seed(0)
        with torch.no_grad():
            for weight in head.parameters():
                weight += 0.2 * torch.randn(weight.shape, generator=generator)
        encoder.reply_head = head
        return encoder

    return add


@pytest.fixture
def with_views() -> Callable[..., SentenceTransformer]:
    """Gives an encoder views like those of a trained model: far apart, where ``add_views`` starts with equal ones."""

    def add(encoder: SentenceTransformer, views: str, speakers: bool = True) -> SentenceTransformer:
        add_views(encoder, views, speakers)
        rows = encoder.tokenizer.convert_tokens_to_ids(list(TOKENS))
        weight = transformer_of(encoder).get_input_embeddings().weight
        with torch.no_grad():
            weight[rows] = torch.randn(len(rows), weight.shape[1], generator=torch.Generator().manual_seed(0))
        return encoder

    return add


@pytest.fixture
def check_learning() -> Callable[[nn.Module, dict[str, Any]], None]:
    """Asserts that steps on the batch of a collator stay finite, move the encoder of a loss and lower the loss."""

    def check(loss: nn.Module, batch: dict[str, Any]) -> None:
        features = [{name.removeprefix("messages_"): value for name, value in batch.items()}]
        optimizer = torch.optim.AdamW(loss.parameters(), lr=1e-3)
        before = loss(features)
        for _ in range(5):
            optimizer.zero_grad()
            loss(features).backward()
            assert all(p.grad is None or p.grad.isfinite().all() for p in loss.parameters())
            optimizer.step()
        assert transformer_of(loss.model).get_input_embeddings().weight.grad.abs().sum() > 0
        assert loss(features) < before

    return check


@pytest.fixture
def save_generator() -> Callable[..., str]:
    """Saves a tiny random GPT-2 over ten words; its 32 positions are few enough to run out."""

    def save(folder: Path, chat_template: str | None = None) -> str:
        words = ["<eos>", "<unk>", "hello", "yes", "no", "pizza", "card", "thanks", "U:", "A:"]
        word_level = Tokenizer(models.WordLevel({word: row for row, word in enumerate(words)}, unk_token="<unk>"))
        word_level.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=word_level, eos_token="<eos>", unk_token="<unk>")
        tokenizer.chat_template = chat_template
        tokenizer.save_pretrained(folder)
        shape = {"vocab_size": len(words), "n_positions": 32, "n_embd": 16, "n_layer": 1, "n_head": 2}
        torch.manual_seed(0)
        GPT2LMHeadModel(GPT2Config(**shape, bos_token_id=0, eos_token_id=0)).save_pretrained(folder)
        return str(folder)

    return save


@pytest.fixture
def conversations() -> Dataset:
    """Ragged conversations with repeated texts, one of a single turn, one with three speakers."""
    talks = [
        ["hello", "what do you want", "i want to order a pizza", "thanks"],
        ["book a flight please", "where to", "to paris", "your flight is booked", "thanks", "bye"],
        ["cancel my card", "is it lost", "yes"],
        ["hello"],
        ["my card is lost", "hello", "i cancel the card", "please do", "done", "thanks"],
    ]
    rows = []
    for number, texts in enumerate(talks):
        roles = ["user", "assistant", "supervisor"] if number == 4 else ["user", "assistant"]
        messages = [{"role": roles[turn % len(roles)], "content": text} for turn, text in enumerate(texts)]
        rows.append({"id": f"talk-{number}", "messages": messages})
    return Dataset.from_list(rows)
