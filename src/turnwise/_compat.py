"""Everything in turnwise that relies on undocumented names of its dependencies, which may move without notice.

Each has a test in ``tests/test_compat.py`` that says what moved. Nothing heavy is imported before it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import nn
    from transformers import PreTrainedModel


class LoadsCheckpoints:
    """Mixed into a ``SentenceTransformerTrainer``: checkpoints are loaded by :meth:`load_checkpoint`.

    The library loads them as stock models, which leaves out what turnwise adds to one, and carries on with the
    last weights where the best checkpoint cannot be read.
    """

    def load_checkpoint(self, folder: Path) -> None:
        """Put the weights of a checkpoint into the model being trained."""
        raise NotImplementedError

    def _load_from_checkpoint(self, checkpoint_path: str) -> None:
        self.load_checkpoint(Path(checkpoint_path))

    def _load_best_model(self) -> None:
        self.load_checkpoint(Path(self.state.best_model_checkpoint))  # type: ignore[attr-defined]


def loaded_from(transformer: PreTrainedModel) -> str:
    """The name or path a transformer was loaded from; "" for one that was built in memory."""
    return str(transformer.config._name_or_path)


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


def datasets_cache() -> Path:
    """The folder in which ``datasets`` keeps what it has prepared."""
    import datasets

    return Path(datasets.config.HF_DATASETS_CACHE)
