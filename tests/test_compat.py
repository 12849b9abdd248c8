"""One test for each undocumented name that turnlens leans on: it fails with what moved and the file to mend."""

import importlib
import subprocess
import sys
from pathlib import Path

import datasets
import numpy as np
import openpyxl
import pytest
import torch
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
from torch import nn
from transformers import BertConfig, BertModel, Trainer, TrainerCallback, TrainingArguments

from closeness import assert_same_vectors
from turnlens import _compat
from turnlens.training.trainer import ConversationTrainer


def moved(owner: object, *names: str, mend: str = "_compat.py") -> None:
    gone = [name for name in names if not hasattr(owner, name)]
    assert not gone, f"{owner} no longer has {', '.join(gone)}: src/turnlens/{mend} has to follow"


def test_the_trainer_loads_checkpoints_through_the_names_we_override() -> None:
    moved(SentenceTransformerTrainer, "_load_from_checkpoint", "_load_best_model")
    loaded: list[Path] = []

    class Trainer(_compat.LoadsCheckpoints):
        state = type("State", (), {"best_model_checkpoint": "best"})

        def load_checkpoint(self, folder: Path) -> None:
            loaded.append(folder)

    Trainer()._load_from_checkpoint("newest")
    Trainer()._load_best_model()
    assert loaded == [Path("newest"), Path("best")]


def test_the_trainer_has_what_ours_overrides() -> None:
    overridden = ("add_model_card_callback", "get_decay_parameter_names", "_save")
    moved(SentenceTransformerTrainer, *overridden, mend="training/trainer.py")
    assert all(name in vars(ConversationTrainer) for name in overridden)


def test_a_trainer_keeps_the_losses_it_has_not_logged(tmp_path: Path) -> None:
    seen: list[tuple[float, int]] = []

    class Look(TrainerCallback):
        def on_train_begin(self, *_: object, **__: object) -> None:
            moved(trainer, "_tr_loss", "_globalstep_last_logged")
            _compat.restore_unlogged_loss(trainer, 5.0, 0)

        def on_step_end(self, *_: object, **__: object) -> None:
            total, since = _compat.unlogged_loss(trainer)
            seen.append((total.item(), since))

    class Model(nn.Linear):
        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"loss": super().forward(x).sum() * 0 + 1}

    arguments = TrainingArguments(str(tmp_path), max_steps=2, report_to="none", use_cpu=True, disable_tqdm=True)
    trainer = Trainer(Model(1, 1), arguments, train_dataset=[{"x": torch.ones(1)}] * 2, callbacks=[Look()])
    trainer.train()
    assert seen == [(6.0, 0), (7.0, 0)]


def test_a_transformer_knows_where_it_was_loaded_from(tiny_encoder_path: Path, tiny_encoder) -> None:
    moved(tiny_encoder, "transformers_model", mend="encoders/transformer.py")
    moved(tiny_encoder.transformers_model.config, "_name_or_path")
    assert _compat.loaded_from(tiny_encoder.transformers_model) == str(tiny_encoder_path)
    assert (
        _compat.loaded_from(
            BertModel(BertConfig(vocab_size=32, hidden_size=8, num_hidden_layers=1, num_attention_heads=1))
        )
        == ""
    )


def test_a_transformer_knows_how_it_computes_attention(tiny_encoder: SentenceTransformer) -> None:
    moved(tiny_encoder.transformers_model.config, "_attn_implementation")
    tiny_encoder.transformers_model.set_attn_implementation("eager")
    assert _compat.attention_of(tiny_encoder.transformers_model) == "eager"


def test_messages_are_a_modality_that_is_saved(tiny_encoder: SentenceTransformer, tmp_path: Path) -> None:
    moved(tiny_encoder[0], "modality_config", "input_formatter")
    moved(tiny_encoder[0].input_formatter, "message_format", "supported_modalities")
    template = "{{ cls_token }}{% for message in messages %}{{ message['content'] }}{{ sep_token }}{% endfor %}"
    tiny_encoder.tokenizer.chat_template = template
    _compat.accept_messages(tiny_encoder)
    chat = [[{"role": "user", "content": "a card"}, {"role": "assistant", "content": "my order"}]]
    before = tiny_encoder.encode(chat)
    tiny_encoder.save_pretrained(str(tmp_path / "saved"), create_model_card=False)
    again = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    assert_same_vectors(
        again.encode(chat), before
    )  # else sentence_bert_config.json no longer keeps the message modality


def test_attention_dropouts_are_found(tiny_encoder: SentenceTransformer) -> None:
    vectors = list(_compat.attention_dropouts(tiny_encoder))
    assert len(vectors) == 4, "BERT's attention no longer keeps its dropout in a module ending in SelfAttention"
    assert all(isinstance(dropout, nn.Dropout) for dropout in vectors)


def test_linear_layers_go_through_onednn() -> None:
    if not (torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()):
        pytest.skip("torch is built without MKL or oneDNN")
    assert _compat.has_onednn_linear(), "torch.ops.mkldnn no longer has _linear_pointwise: src/turnlens/_compat.py"
    layer = nn.Linear(24, 16)
    for x in (torch.randn(5, 24), torch.randn(3, 5, 24), torch.randn(1, 24), torch.randn(24, 5).T):
        with torch.inference_mode():
            torch.testing.assert_close(_compat.onednn_linear(x, layer.weight, layer.bias), layer(x))
            torch.testing.assert_close(_compat.onednn_linear(x, layer.weight), layer(x) - layer.bias)


def test_the_cache_of_datasets_is_configured_where_we_look(monkeypatch, tmp_path: Path) -> None:
    moved(importlib.import_module("datasets.config"), "HF_DATASETS_CACHE")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path))
    assert _compat.datasets_cache() == tmp_path


def test_a_document_is_inferred_with_its_own_seed_and_changes_nothing_else() -> None:
    doc2vec = pytest.importorskip("gensim.models.doc2vec", reason="gensim is not installed")
    moved(doc2vec, "train_document_dbow")
    texts = [doc2vec.TaggedDocument(["my", "card", "is", "lost"], [0]), doc2vec.TaggedDocument(["a", "flight"], [1])]
    model = doc2vec.Doc2Vec(texts, dm=0, vector_size=8, min_count=1, sample=0, epochs=50, seed=0, workers=1)
    moved(model, "random", "alpha", "min_alpha", "vector_size")
    before = model.syn1neg.copy(), model.dv.vectors.copy()
    first = _compat.infer_document(model, ["my", "card"], epochs=5, seed=1)
    again = _compat.infer_document(model, ["my", "card"], epochs=5, seed=1)
    assert first.shape == (8,) and first.any() and np.array_equal(first, again)
    assert not np.array_equal(first, _compat.infer_document(model, ["my", "card"], epochs=5, seed=2))
    assert np.array_equal(model.syn1neg, before[0]) and np.array_equal(model.dv.vectors, before[1])


@pytest.mark.slow
def test_ray_train_tells_what_a_worker_raised() -> None:
    util = pytest.importorskip("ray.train.v2._internal.util", reason="needs the extra ray")
    raised = ValueError("a bad row")
    wrapped = util.construct_user_exception_with_traceback(raised)
    assert _compat.raised_in_worker(wrapped) is raised, "Ray Train keeps what a worker raised elsewhere"
    assert _compat.raised_in_worker(raised) is raised


@pytest.mark.slow
def test_lancedb_is_imported_without_its_client_of_catalogues_and_without_pandas() -> None:
    code = """
import sys
from turnlens import _compat
_compat.leave_out_pandas()
_compat.lighten_lancedb()
import lancedb, pyarrow
client = "lance_namespace_urllib3_client"
assert client in sys.modules, "LanceDB has another client: lighten_lancedb in src/turnlens/_compat.py is not needed"
assert not {"pandas", client + ".api", "overrides"} & set(sys.modules)
assert sys.modules[client].ApiClient and client + ".api" in sys.modules
import pandas
assert pyarrow.Table.from_pandas(pandas.DataFrame({"x": [1]}))["x"].to_pylist() == [1]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_bm25s_is_imported_without_jax(tmp_path: Path) -> None:
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("raise SystemExit('it would take the memory of a GPU')")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from turnlens.evaluation.bm25 import bm25_scorer
assert bm25_scorer(["my card is lost", "thank you"])("card").argmax() == 0
assert "bm25s" in sys.modules and "jax" not in sys.modules
try:
    import jax
except SystemExit:
    print("whoever wants JAX still has it")
"""
    assert b"still" in subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout


def test_the_cache_is_where_datasets_keeps_its_own() -> None:
    code = "from turnlens._compat import datasets_cache as c; print(c()); import datasets; print(c())"
    paths = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert paths[0] == paths[1]


def test_a_sheet_knows_its_part_of_the_workbook(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.create_sheet("second")
    book.save(tmp_path / "t.xlsx")
    sheets = openpyxl.load_workbook(tmp_path / "t.xlsx", read_only=True).worksheets
    assert [_compat.worksheet_part(sheet) for sheet in sheets] == [
        "xl/worksheets/sheet1.xml",
        "xl/worksheets/sheet2.xml",
    ]
