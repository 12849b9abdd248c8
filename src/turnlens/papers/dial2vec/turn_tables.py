"""Input embeddings of a token's place in the conversation: position within its turn, turn, and role.

dial2vec (Liu et al., EMNLP 2022, section 3.2.1) sums four input embeddings, as PLATO does (Bao et al., ACL 2020):
token, position within the turn, turn and role. Here the last three are tables that are added to the word embeddings of
any encoder, whose own absolute positions stay. Alternatively, the positions within the turn are looked up in the
encoder's own table, and only turn and role are added. The tables are saved with the encoder's weights and used where
turns are known: in ``Dial2vecLoss`` and ``encode_conversations``. Plain ``SentenceTransformer(path)`` loads such a
model without them, and the model's own ``encode`` never uses them: it knows texts, not turns.
"""

from __future__ import annotations

import inspect
import os
from typing import Any

import torch
from safetensors import safe_open
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from torch import Tensor, nn
from torch.nn.functional import pad

from turnlens.encoders.transformer import added_modules, first_position, position_table

_PREFIX = "turn_tables."


class TurnTables(nn.Module):
    """Embeddings of a token's position within its turn, its turn and its role, summed; zero at first.

    Args:
        turns: Rows of the table of turns. In each table, the last row also serves everything beyond it.
        positions: Rows of the table of positions within the turn. With ``None`` there is no such table: the encoder's
            own table of positions then counts within the turn instead of within the row.
        roles: Rows of the table of roles (speakers by first appearance).
        dim: Width.
        from_end: Count turns from the end of the row, where the last turn is 1, as PLATO does (its 0 is a response to
            come). By default turns are counted from the start, where the first turn is 0.
    """

    inputs = ("turn", "speaker")
    from_end: Tensor

    def __init__(self, turns: int, positions: int | None, roles: int, dim: int, from_end: bool = False) -> None:
        super().__init__()
        for name, rows in (("turns", turns), ("positions", positions), ("roles", roles)):
            if rows is not None and rows < 1:
                raise ValueError(f"{name} must be at least 1, got {rows}")
        self.position = nn.Embedding(positions, dim) if positions is not None else None
        self.turn, self.role = nn.Embedding(turns, dim), nn.Embedding(roles, dim)
        # A buffer, so that it is saved with the tables.
        self.register_buffer("from_end", torch.tensor(from_end))
        for parameter in self.parameters():
            nn.init.zeros_(parameter)

    @property
    def have_learned(self) -> bool:
        """Return whether any entry is no longer zero."""
        return any(bool(parameter.any()) for parameter in self.parameters())

    def forward(self, turn: Tensor, speaker: Tensor) -> Tensor:
        """The embeddings to add to the word embeddings.

        Args:
            turn: Turn of each token; -1 for tokens of no speaker and padding (rows, length).
            speaker: Speaker of each token, from 0; -1 for the same tokens (rows, length).

        Returns:
            The sum of the embeddings, zero for tokens of no speaker (rows, length, dim).
        """
        number, position = turn_and_position(turn)
        number = torch.where(self.from_end, number.amax(1, keepdim=True) + 1 - number, number)
        added = _look_up(self.turn, number) + _look_up(self.role, speaker)
        if self.position is not None:
            added = added + _look_up(self.position, position)
        return added.masked_fill(((turn < 0) | (speaker < 0)).unsqueeze(-1), 0)  # (rows, length, dim)


def turn_tables_of(model: nn.Module) -> TurnTables | None:
    """The turn tables of an encoder, possibly wrapped for distributed training; ``None`` if it has none."""
    return next((module for module in added_modules(model) if isinstance(module, TurnTables)), None)


def turn_and_position(turn: Tensor) -> tuple[Tensor, Tensor]:
    """Each token's turn, counted within the row, and its position within that turn, both from 0.

    Turns are counted as they stand in the row, so that a window of a longer conversation looks like a conversation.

    Args:
        turn: Turn of each token, with the tokens of one turn in a row; -1 for tokens of no speaker (rows, length).

    Returns:
        Both (rows, length); meaningless for tokens of no speaker.
    """
    begins = turn != pad(turn[:, :-1], (1, 0), value=-1)
    index = torch.arange(turn.shape[1], device=turn.device)
    start = torch.where(begins, index, 0).cummax(1).values  # (rows, length): where the token's turn begins
    return (begins & (turn >= 0)).cumsum(1) - 1, index - start


def _look_up(table: nn.Embedding, numbers: Tensor) -> Tensor:
    looked_up: Tensor = table(numbers.clamp(0, table.num_embeddings - 1))
    return looked_up


def add_turn_tables(
    encoder: SentenceTransformer,
    turns: int = 64,
    positions: int | None = 128,
    roles: int = 8,
    from_end: bool = False,
) -> SentenceTransformer:
    """Let an encoder take each token's turn and speaker as additional inputs, ``turn`` and ``speaker`` (rows, length).

    The tables start at zero, so nothing changes until they learn, except with ``positions=None``. Where these inputs
    are not given, nothing ever changes.

    Args:
        encoder: An encoder without such tables; changed in place.
        turns: Rows of the tables, see `TurnTables`.
        positions: Rows of the tables, see `TurnTables`; ``None`` lets the encoder's own positions count within the
            turn.
        roles: Rows of the tables, see `TurnTables`.
        from_end: Whether turns are counted from the end.

    Raises:
        ValueError: The encoder has such tables already, or its transformer takes no input embeddings or positions.
    """
    if turn_tables_of(encoder) is not None:
        raise ValueError("this encoder already has turn tables")
    attach_turn_tables(encoder, TurnTables(turns, positions, roles, _width(encoder), from_end))
    return encoder


def restore_turn_tables(encoder: SentenceTransformer, weights: str | os.PathLike[str]) -> None:
    """Add the turn tables in a ``model.safetensors`` that turnlens wrote.

    Raises:
        ValueError: Some of them are missing, or their width is not the encoder's.
    """
    with safe_open(weights, framework="pt") as file:
        keys = [key for key in list(file.keys()) if key.startswith(_PREFIX)]
        state = {key.removeprefix(_PREFIX): file.get_tensor(key) for key in keys}
    tables = ("turn.weight", "role.weight", *(("position.weight",) if "position.weight" in state else ()))
    got = {name: tuple(tensor.shape) for name, tensor in sorted(state.items())}
    if state.keys() != {"from_end", *tables} or state["from_end"].numel() != 1:
        raise ValueError(f"{weights}: expected turn tables from_end, {', '.join(sorted(tables))}, got {got}")
    for name in tables:
        if state[name].ndim != 2 or state[name].shape[1] != _width(encoder) or not len(state[name]):
            raise ValueError(
                f"{weights}: expected {_PREFIX}{name} to be of shape (rows, {_width(encoder)}), the width of the "
                f"encoder's word embeddings, got {got[name]}"
            )
    attach_turn_tables(encoder, tables_from(state))


def tables_from(state: dict[str, Tensor]) -> TurnTables:
    """Tables with these weights, including ``from_end``; no ``position.weight`` means the encoder's own positions."""
    position = state.get("position.weight")
    turns, dim = state["turn.weight"].shape
    tables = TurnTables(turns, len(position) if position is not None else None, len(state["role.weight"]), dim)
    tables.load_state_dict(state)
    return tables


def attach_turn_tables(encoder: SentenceTransformer, tables: TurnTables) -> None:
    """Make tables part of the encoder's transformer, so that they are saved with its weights."""
    module = _transformer_module(encoder)
    if tables.position is None:
        _check_positions(module)
    is_first = turn_tables_of(encoder) is None
    words = module.model.get_input_embeddings().weight
    # Registered last, so that freezing lower layers does not freeze the tables.
    module.model.turn_tables = tables.to(words.device, words.dtype)
    if is_first:
        # The hook is on the module around the transformer, which calls the transformer's forward directly, past any
        # hook.
        module.register_forward_pre_hook(_add_to_words)


def _add_to_words(module: Transformer, inputs: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...] | None:
    """Replace ``input_ids``, ``turn`` and ``speaker`` of the features by the input embeddings they add up to."""
    features, *rest = inputs
    if "turn" not in features and "speaker" not in features:
        return None
    if "turn" not in features or "speaker" not in features:
        raise ValueError("an encoder with turn tables needs both 'turn' and 'speaker', or neither")
    turn, speaker = features["turn"], features["speaker"]
    taken = {name: value for name, value in features.items() if name not in ("input_ids", "turn", "speaker")}
    words = module.model.get_input_embeddings()(features["input_ids"])  # (rows, length, dim)
    tables = module.model.turn_tables
    taken["inputs_embeds"] = words + tables(turn, speaker)
    if tables.position is None:
        _, position = turn_and_position(turn)
        taken["position_ids"] = position.masked_fill(turn < 0, 0) + first_position(module.model)
    return (taken, *rest)


def _transformer_module(encoder: SentenceTransformer) -> Transformer:
    for module in encoder.modules():
        if isinstance(module, Transformer):
            if "inputs_embeds" not in inspect.signature(module.model.forward).parameters:
                raise ValueError("this encoder's transformer takes no input embeddings, which turn tables need")
            return module
    raise ValueError("this encoder is not made of a transformer, which turn tables need")


def _check_positions(module: Transformer) -> None:
    takes_positions = "position_ids" in inspect.signature(module.model.forward).parameters
    if not takes_positions or position_table(module.model) is None:
        raise ValueError(
            "this encoder's transformer has no table of positions to count within the turn: give positions a number"
        )


def _width(encoder: SentenceTransformer) -> int:
    return int(_transformer_module(encoder).model.get_input_embeddings().weight.shape[1])
