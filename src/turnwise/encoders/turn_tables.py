"""Input embeddings of a token's place in the conversation: position within its turn, turn, and role.

dial2vec (Liu et al., EMNLP 2022, section 3.2.1) sums four input embeddings, as PLATO does (Bao et al., ACL 2020):
token, position within the turn, turn and role. Here the last three are tables added to the word embeddings of any
encoder; its own absolute positions stay. The tables are saved with its weights and used where turns are known: in
``Dial2vecLoss`` and ``encode_conversations``. Plain ``SentenceTransformer(path)`` loads such a model without them, and
the model's own ``encode`` never uses them: it knows texts, not turns.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from torch import Tensor, nn
from torch.nn.functional import pad

_PREFIX = "turn_tables."

# How the names of the tables end in published checkpoints; PLATO calls the role "type".
TABLE_NAMES: dict[str, tuple[str, ...]] = {
    "position": ("pos_embedding.weight",),
    "turn": ("turn_embedding.weight", "turn_embeddings.weight"),
    "role": ("type_embedding.weight", "role_embedding.weight", "role_embeddings.weight"),
}


class TurnTables(nn.Module):
    """Embeddings of a token's position within its turn, its turn and its role, summed; zero at first.

    Args:
        turns: Rows of the table of turns; its last row serves all later ones, as in the others.
        positions: Rows of the table of positions within the turn.
        roles: Rows of the table of roles (speakers by first appearance).
        dim: Width.
        from_end: Count turns from the end of the row, the last as 1, as PLATO does (its 0 is a response to come); by
            default from its start, the first as 0.
    """

    from_end: Tensor

    def __init__(self, turns: int, positions: int, roles: int, dim: int, from_end: bool = False) -> None:
        super().__init__()
        for name, rows in (("turns", turns), ("positions", positions), ("roles", roles)):
            if rows < 1:
                raise ValueError(f"{name} must be at least 1, got {rows}")
        self.position, self.turn, self.role = (nn.Embedding(rows, dim) for rows in (positions, turns, roles))
        # A buffer, so that it is saved with the tables.
        self.register_buffer("from_end", torch.tensor(from_end))
        for table in (self.position, self.turn, self.role):
            nn.init.zeros_(table.weight)

    def forward(self, turn: Tensor, speaker: Tensor) -> Tensor:
        """What is added to the word embeddings.

        Args:
            turn: Turn of each token; -1 for tokens of no speaker and padding (rows, length).
            speaker: Speaker of each token, from 0; -1 likewise (rows, length).

        Returns:
            The sum of the three embeddings, zero for tokens of no speaker (rows, length, dim).
        """
        number, position = turn_and_position(turn)
        number = torch.where(self.from_end, number.amax(1, keepdim=True) + 1 - number, number)
        added = _look_up(self.position, position) + _look_up(self.turn, number) + _look_up(self.role, speaker)
        return added.masked_fill(((turn < 0) | (speaker < 0)).unsqueeze(-1), 0)  # (rows, length, dim)


def turn_and_position(turn: Tensor) -> tuple[Tensor, Tensor]:
    """Each token's turn, counted within the row, and its position within that turn, both from 0.

    Turns are counted as they stand in the row, so that a window of a longer conversation looks like a conversation.

    Args:
        turn: Turn of each token, the tokens of a turn together; -1 for tokens of no speaker (rows, length).

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
    encoder: SentenceTransformer, turns: int = 64, positions: int = 128, roles: int = 8, from_end: bool = False
) -> SentenceTransformer:
    """Let an encoder take each token's turn and speaker as additional inputs, ``turn`` and ``speaker`` (rows, length).

    The tables start at zero, so nothing changes until they learn. Without those inputs, nothing ever changes.

    Args:
        encoder: An encoder without such tables; changed in place.
        turns: Rows of the tables, see `TurnTables`.
        positions: Likewise.
        roles: Likewise.
        from_end: Whether turns are counted from the end.

    Raises:
        ValueError: The encoder has such tables already, or its transformer takes no input embeddings.
    """
    if uses_turns(encoder):
        raise ValueError("this encoder already has turn tables")
    _attach(encoder, TurnTables(turns, positions, roles, _width(encoder), from_end))
    return encoder


def uses_turns(model: nn.Module) -> bool:
    """Whether an encoder, possibly wrapped for distributed training, has turn tables."""
    transformer = getattr(getattr(model, "module", model), "transformers_model", None)
    return isinstance(getattr(transformer, "turn_tables", None), TurnTables)


def restore_turn_tables(encoder: SentenceTransformer, weights: str | os.PathLike[str]) -> None:
    """Add the turn tables in a ``model.safetensors`` that turnwise wrote, if there are any.

    Raises:
        ValueError: Some of them are missing, or their width is not the encoder's.
    """
    with safe_open(weights, framework="pt") as file:
        keys = [key for key in list(file.keys()) if key.startswith(_PREFIX)]
        state = {key.removeprefix(_PREFIX): file.get_tensor(key) for key in keys}
    if not state:
        return
    expected = {"from_end", *(f"{name}.weight" for name in TABLE_NAMES)}
    if state.keys() != expected or state["from_end"].numel() != 1:
        got = {name: tuple(tensor.shape) for name, tensor in sorted(state.items())}
        raise ValueError(f"{weights}: expected turn tables {', '.join(sorted(expected))}, got {got}")
    found = {name: state[f"{name}.weight"] for name in TABLE_NAMES}
    _check_shapes(found, _width(encoder), weights, {name: f"{_PREFIX}{name}.weight" for name in TABLE_NAMES})
    _attach(encoder, _tables_of(found, bool(state["from_end"])))


def load_turn_tables(
    encoder: SentenceTransformer,
    path: str | os.PathLike[str],
    names: Mapping[str, str] | None = None,
    from_end: bool = True,
) -> SentenceTransformer:
    """Take the tables of a PLATO-like checkpoint instead of zeros (only those; the encoder keeps its own layers).

    Args:
        encoder: The encoder; changed in place. Tables it has are replaced.
        path: A safetensors file.
        names: The file's names of the tables ``"position"``, ``"turn"`` and ``"role"``, where they do not end like
            those of ``TABLE_NAMES``.
        from_end: Whether the tables count turns from the end, as those of PLATO do.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: Not a safetensors file, no such tables in it, or tables whose width is not the encoder's.
    """
    path = Path(path)
    if path.suffix in (".pt", ".pth", ".bin", ".pkl", ".ckpt"):
        raise ValueError(
            f"{path}: pickled weights can run code and are not read. Convert them once with torch.load(path, "
            "weights_only=True) and safetensors.torch.save_file(weights, 'tables.safetensors')"
        )
    if unknown := sorted(set(names or {}) - set(TABLE_NAMES)):
        raise ValueError(f"names has unknown tables {unknown}: expected some of {', '.join(TABLE_NAMES)}")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected a safetensors file with tables of positions, turns and roles")
    try:
        with safe_open(path, framework="pt") as file:
            keys = list(file.keys())
            found = {table: _key(table, keys, (names or {}).get(table), path) for table in TABLE_NAMES}
            weights = {table: file.get_tensor(key) for table, key in found.items()}
    except SafetensorError as error:
        raise ValueError(f"{path}: not a safetensors file: {error}") from error
    _check_shapes(weights, _width(encoder), path, found)
    _attach(encoder, _tables_of(weights, from_end))
    return encoder


def _check_shapes(
    weights: Mapping[str, Tensor], width: int, path: str | os.PathLike[str], names: Mapping[str, str]
) -> None:
    """Raise ``ValueError`` with the file's name of the first table that does not fit word embeddings of a width."""
    for table, weight in weights.items():
        if weight.ndim != 2 or weight.shape[1] != width or len(weight) < 1:
            raise ValueError(
                f"{path}: expected {names[table]} to be of shape (rows, {width}), the width of the encoder's word "
                f"embeddings, got {tuple(weight.shape)}"
            )


def _key(table: str, keys: list[str], name: str | None, path: Path) -> str:
    """The file's name of a table."""
    if name is not None:
        matching = [key for key in keys if key == name]
    else:
        matching = [key for key in keys if any(f".{key}".endswith(f".{end}") for end in TABLE_NAMES[table])]
    if len(matching) == 1:
        return matching[0]
    wanted = name or " or ".join(f"…{end}" for end in TABLE_NAMES[table])
    got = ", ".join(matching or keys[:8]) or "nothing"
    raise ValueError(
        f"{path}: expected one table of {table}s, {wanted}, got {got}; give its name with names={{{table!r}: …}}"
    )


def _tables_of(weights: Mapping[str, Tensor], from_end: bool) -> TurnTables:
    turns, positions, roles = (len(weights[table]) for table in ("turn", "position", "role"))
    tables = TurnTables(turns, positions, roles, weights["turn"].shape[1], from_end)
    for name, weight in weights.items():
        tables.get_submodule(name).load_state_dict({"weight": weight})
    return tables


def _attach(encoder: SentenceTransformer, tables: TurnTables) -> None:
    """Make tables part of the encoder's transformer, whose weights they are saved with."""
    module = _transformer_module(encoder)
    is_first = not uses_turns(encoder)
    words = module.model.get_input_embeddings().weight
    # Registered last, so that freezing lower layers does not freeze the tables.
    module.model.turn_tables = tables.to(words.device, words.dtype)
    if is_first:
        # On the module around the transformer: it calls the transformer's forward directly, past any hook.
        module.register_forward_pre_hook(_add_to_words)


def _add_to_words(module: Transformer, inputs: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...] | None:
    """Replace ``input_ids``, ``turn`` and ``speaker`` of the features by the input embeddings they add up to."""
    features, *rest = inputs
    if "turn" not in features and "speaker" not in features:
        return None
    if "turn" not in features or "speaker" not in features:
        raise ValueError("an encoder with turn tables needs both 'turn' and 'speaker', or neither")
    others = {name: value for name, value in features.items() if name not in ("input_ids", "turn", "speaker")}
    words = module.model.get_input_embeddings()(features["input_ids"])  # (rows, length, dim)
    added = module.model.turn_tables(features["turn"], features["speaker"])
    return ({**others, "inputs_embeds": words + added}, *rest)


def _transformer_module(encoder: SentenceTransformer) -> Transformer:
    for module in encoder.modules():
        if isinstance(module, Transformer):
            if "inputs_embeds" not in inspect.signature(module.model.forward).parameters:
                raise ValueError("this encoder's transformer takes no input embeddings, which turn tables need")
            return module
    raise ValueError("this encoder is not made of a transformer, which turn tables need")


def _width(encoder: SentenceTransformer) -> int:
    return int(_transformer_module(encoder).model.get_input_embeddings().weight.shape[1])
