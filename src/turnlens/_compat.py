"""Private and undocumented names of our dependencies, which may move without notice.

Each has a test in ``tests/test_compat.py`` that says what moved, and so have the names that are overridden elsewhere.
Nothing heavy is imported before it is needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import torch
    from sentence_transformers import SentenceTransformer
    from torch import nn
    from transformers import PreTrainedModel, Trainer


class LoadsCheckpoints:
    """Mixed into a ``SentenceTransformerTrainer``: checkpoints are loaded by `load_checkpoint`.

    The library loads them as stock models, which leaves out what turnlens adds to one, and carries on with the
    last weights where the best checkpoint cannot be read.
    """

    def load_checkpoint(self, folder: Path) -> None:
        """Put the weights of a checkpoint into the model being trained."""
        raise NotImplementedError

    def _load_from_checkpoint(self, checkpoint_path: str) -> None:
        self.load_checkpoint(Path(checkpoint_path))

    def _load_best_model(self) -> None:
        self.load_checkpoint(Path(self.state.best_model_checkpoint))  # type: ignore[attr-defined]


def unlogged_loss(trainer: Trainer) -> tuple[torch.Tensor, int] | None:
    """The sum of a running trainer's losses since its last log line, and the step of that line.

    ``None`` in versions of transformers that keep both to themselves.
    """
    total = getattr(trainer, "_tr_loss", None)
    return None if total is None else (total, trainer._globalstep_last_logged)


def restore_unlogged_loss(trainer: Trainer, total: float, last_logged: int) -> None:
    """Let a trainer that has just begun log as if it had not been interrupted; see `unlogged_loss`."""
    if unlogged_loss(trainer) is not None:
        trainer._tr_loss += total
        trainer._globalstep_last_logged = last_logged


def loaded_from(transformer: PreTrainedModel) -> str:
    """The name or path a transformer was loaded from; "" for one that was built in memory."""
    return str(transformer.config._name_or_path)


def set_loaded_from(transformer: PreTrainedModel, name: str) -> None:
    """Change what `loaded_from` says of a transformer."""
    transformer.config._name_or_path = name


def attention_of(transformer: PreTrainedModel) -> str:
    """The name of the implementation that a transformer computes attention with."""
    return str(transformer.config._attn_implementation)


def accept_messages(encoder: SentenceTransformer) -> None:
    """Let an encoder's own ``encode`` render lists of messages by its tokenizer's chat template, also once saved."""
    transformer: Any = encoder[0]
    # A new dictionary: the old one is shared by all encoders of this architecture.
    transformer.modality_config = {
        **transformer.modality_config,
        "message": {**transformer.modality_config["text"], "format": "flat"},
    }
    transformer.input_formatter.message_format = "flat"
    transformer.input_formatter.supported_modalities = list(transformer.modality_config)


def attention_dropouts(model: nn.Module) -> Iterator[nn.Dropout]:
    """The dropouts of attention weights, as the BERT-like models of transformers name and build them."""
    from torch import nn

    for module in model.modules():
        if type(module).__name__.endswith("SelfAttention"):
            yield from (child for child in module.children() if isinstance(child, nn.Dropout))


def has_onednn_linear() -> bool:
    """Say whether torch computes linear layers by MKL here, and `onednn_linear` can."""
    import torch

    is_available = (
        torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available() and torch.backends.mkldnn.enabled
    )
    return bool(is_available) and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def onednn_linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """``torch.nn.functional.linear`` through oneDNN, without gradients (what torch.compile makes of linear layers)."""
    import torch

    product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return product


def datasets_cache() -> Path:
    """The folder in which ``datasets`` keeps what it has prepared."""
    if "datasets" in sys.modules:  # where it can be changed
        return Path(sys.modules["datasets"].config.HF_DATASETS_CACHE)
    home = Path(os.environ.get("HF_HOME", Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "huggingface"))
    return Path(os.environ.get("HF_DATASETS_CACHE", home / "datasets")).expanduser()


def worksheet_part(sheet: Any) -> str:
    """The name of the part of a workbook that a sheet of openpyxl's read-only mode is read from."""
    return str(sheet._worksheet_path).lstrip("/")


class _Later(ModuleType):
    """A package whose own code runs when one of its names is needed, and not when only its modules are."""

    _loader: Any

    def __getattr__(self, name: str) -> Any:
        loader = None if name.startswith("__") else self.__dict__.pop("_loader", None)
        if loader is not None:
            loader.exec_module(self)
        if name not in self.__dict__:
            raise AttributeError(name)
        return self.__dict__[name]


def lighten_lancedb() -> None:
    """Import LanceDB without a client of remote catalogues, and without a check of its classes.

    The client would take half of the time; the check, which Python 3.12 has no need of, a tenth.
    """
    if "lancedb" in sys.modules or find_spec("lancedb") is None:
        return
    client = "lance_namespace_urllib3_client"
    spec = None if client in sys.modules else find_spec(client)
    if spec is not None:
        package = sys.modules[client] = _Later(client)
        package.__spec__, package.__file__, package._loader = spec, spec.origin, spec.loader
        package.__path__ = spec.submodule_search_locations or []
    unchecked: Any = ModuleType("overrides")
    unchecked.override, unchecked.EnforceOverrides = (lambda method: method), object
    checks, sys.modules["overrides"] = sys.modules.get("overrides"), unchecked
    try:
        import_module("lancedb")
    finally:
        del sys.modules["overrides"]
        if checks is not None:
            sys.modules["overrides"] = checks


def leave_out_pandas() -> None:
    """Let pyarrow do without pandas, which it would import with its first array: for commands that use none."""
    import_without("pandas", "pyarrow.dataset")


def import_bm25s() -> ModuleType:
    """Import bm25s without JAX, where that is installed: on import, it would take three quarters of a GPU's memory.

    JAX would only choose the best scores, which turnlens does itself.
    """
    return import_without("jax", "bm25s")


def import_without(unwanted: str, module: str) -> ModuleType:
    """Import a module without a package that it would use where it is installed, unless that is imported already."""
    if unwanted in sys.modules or module in sys.modules:
        return import_module(module)

    def refuse(name: str, *_: Any) -> None:
        if name == unwanted:
            raise ModuleNotFoundError(name)

    blocker: Any = type("_Blocker", (), {"find_spec": staticmethod(refuse)})
    sys.meta_path.insert(0, blocker)
    try:
        return import_module(module)
    finally:
        sys.meta_path.remove(blocker)


def infer_document(model: Any, words: Sequence[str], epochs: int, seed: int) -> np.ndarray:
    """Do what ``infer_vector`` of gensim's Doc2Vec does (PV-DBOW), but from zeros and with its own seed.

    gensim starts from a vector that depends on Python's hash of the text, different in every process, and draws
    negative samples from wherever the last inference left the generator.

    Args:
        model: A trained ``Doc2Vec``; its weights stay as they are.
        words: The document.
        epochs: Passes over it.
        seed: Seed of the negative samples.

    Returns:
        The document's vector, float32 (dim,).
    """
    import numpy as np
    from gensim.models.doc2vec import train_document_dbow

    model.random.seed(seed)
    vector = np.zeros((1, model.vector_size), dtype=np.float32)
    for alpha in np.linspace(model.alpha, model.min_alpha, epochs):
        train_document_dbow(
            model,
            words,
            [0],
            alpha,
            learn_words=False,
            learn_hidden=False,
            doctag_vectors=vector,
            doctags_lockf=np.ones(1, dtype=np.float32),
        )
    return vector[0]


def raised_in_worker(failure: Exception) -> Exception:
    """The error that was raised in a worker of Ray Train, which wraps it to keep the traceback."""
    return getattr(failure, "_base_exc", failure)
