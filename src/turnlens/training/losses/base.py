"""The common part of all losses: the settings, the features of a batch and the papers to cite."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Generic, TypeVar

from torch import Tensor, nn

from turnlens._utils.arguments import Settings, check_positive

SettingsT = TypeVar("SettingsT", bound=Settings)


@dataclass(frozen=True)
class CosineSettings(Settings):
    """Settings of losses on cosines.

    Attributes:
        temperature: Divides the cosines.
    """

    temperature: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "temperature")


class ConversationLoss(nn.Module, Generic[SettingsT]):
    """A loss on batches of conversations, for sentence-transformers' trainer.

    Args:
        model: The encoder. The names of its parameters begin with ``model.``; all others are the loss's own.
        settings: The settings of the loss.

    Attributes:
        citation: BibTeX of the papers that define the loss.
    """

    citation: ClassVar[str]

    def __init__(self, model: nn.Module, settings: SettingsT) -> None:
        super().__init__()
        self.model = model
        self.settings = settings

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor | None = None) -> Tensor:
        """The loss of a batch; ``sentence_features`` holds the one feature dict of the collator."""
        (features,) = sentence_features
        return self.compute_loss(features)

    def compute_loss(self, features: dict[str, Tensor]) -> Tensor:
        """The loss of a batch from the features of the collator, a scalar."""
        raise NotImplementedError

    def get_config_dict(self) -> dict[str, Any]:
        """The settings, for model cards."""
        return asdict(self.settings)
