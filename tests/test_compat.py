"""The undocumented names that turnlens leans on: where one is gone, a test fails with what moved and the file to mend.

That they do what they did, other tests say."""

import importlib
import subprocess
import sys
from pathlib import Path

import openpyxl
import pytest
import torch
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
from torch import nn
from transformers import Trainer, TrainerCallback, TrainingArguments

from turnlens import _compat
from turnlens.training.trainer import ConversationTrainer


def moved(owner: object, *names: str, mend: str = "_compat.py") -> None:
    gone = [name for name in names if not hasattr(owner, name)]
    assert not gone, f"{owner} no longer has {', '.join(gone)}: src/turnlens/{mend} has to follow"


def test_the_names_of_transformers_and_sentence_transformers_are_there(tiny_encoder: SentenceTransformer) -> None:
    moved(SentenceTransformerTrainer, "_load_from_checkpoint", "_load_best_model")
    overridden = ("add_model_card_callback", "get_decay_parameter_names", "_save")
    moved(SentenceTransformerTrainer, *overridden, mend="training/trainer.py")
    assert all(name in vars(ConversationTrainer) for name in overridden)
    moved(tiny_encoder, "transformers_model", mend="encoders/transformer.py")
    moved(tiny_encoder.transformers_model.config, "_name_or_path", "_attn_implementation")
    moved(tiny_encoder[0], "modality_config", "input_formatter")
    moved(tiny_encoder[0].input_formatter, "message_format", "supported_modalities")
    assert list(_compat.attention_dropouts(tiny_encoder)), "BERT's dropouts are in no module ending in SelfAttention"


def test_the_names_of_torch_datasets_and_gensim_are_there() -> None:
    moved(importlib.import_module("datasets.config"), "HF_DATASETS_CACHE")
    if torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available():
        assert _compat.has_onednn_linear(), "torch.ops.mkldnn no longer has _linear_pointwise: src/turnlens/_compat.py"
    doc2vec = pytest.importorskip("gensim.models.doc2vec", reason="gensim is not installed")
    moved(doc2vec, "train_document_dbow")
    model = doc2vec.Doc2Vec([doc2vec.TaggedDocument(["card"], [0])], dm=0, vector_size=8, min_count=1, workers=1)
    moved(model, "random", "alpha", "min_alpha", "vector_size")


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
