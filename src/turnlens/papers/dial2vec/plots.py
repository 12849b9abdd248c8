"""Pictures of dialogues and embeddings, as PNG, SVG or PDF by their ending (needs the extra ``plots``)."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from torch.nn.functional import normalize

from turnlens._utils.files import atomic_path, check_file
from turnlens._utils.registries import require
from turnlens._utils.vectors import FloatArray
from turnlens.data.messages import Messages
from turnlens.encoders.forward import encode_rows, padded
from turnlens.encoders.rendering import Renderer

_INCHES_PER_TOKEN = 0.16
_ENDINGS = (".png", ".svg", ".pdf")


def token_interactions(
    encoder: SentenceTransformer, messages: Messages, window: float = 10, dot_products: bool = False
) -> tuple[FloatArray, list[str], list[str]]:
    """Return how well each token of the first speaker matches each token of the others (dial2vec, Eq. 2).

    Args:
        encoder: The encoder.
        messages: One conversation between two or more speakers.
        window: Turns further apart do not match.
        dot_products: Use inner products of the tokens, as in the equation; otherwise cosines, so that tokens with long
            vectors do not dominate.

    Returns:
        The matches (first speaker's tokens, others' tokens), 0 beyond the window, and both lists of tokens.

    Raises:
        ValueError: The conversation has one speaker only.
    """
    rows = padded(Renderer(encoder).rows([messages]), encoder.tokenizer.pad_token_id)
    speaker, turn = rows.speaker[0], rows.turn[0]
    if int(speaker.max()) < 1:
        raise ValueError("the conversation has one speaker only: there is no interaction to show")
    encoder.eval()
    with torch.inference_mode():
        (piece,) = encode_rows(encoder, {name: tensor.to(encoder.device) for name, tensor in rows._asdict().items()})
    tokens = piece.tokens[0].cpu()
    if not dot_products:
        tokens = normalize(tokens, dim=1)
    names = np.array(encoder.tokenizer.convert_ids_to_tokens(rows.input_ids[0].tolist()))
    words = ~np.isin(names, encoder.tokenizer.all_special_tokens)
    first, others = (np.flatnonzero(who.numpy() & words) for who in (speaker == 0, speaker > 0))
    near = (turn[first][:, None] - turn[others][None, :]).abs() <= window
    matches = (tokens[first] @ tokens[others].T) * near
    return matches.numpy(), names[first].tolist(), names[others].tolist()


def plot_interactions(
    encoder: SentenceTransformer,
    messages: Messages,
    output: str | os.PathLike[str],
    window: float = 10,
    dot_products: bool = False,
) -> None:
    """Plot `token_interactions` as a heat map."""
    matches, first, others = token_interactions(encoder, messages, window, dot_products)
    roles = list(dict.fromkeys(message["role"] for message in messages))
    figure, axes = _subplots(2 + _INCHES_PER_TOKEN * len(others), 2 + _INCHES_PER_TOKEN * len(first))
    image = axes.imshow(matches, cmap="magma", aspect="auto")
    axes.set_xticks(range(len(others)), others, rotation=90, fontsize=7)
    axes.set_yticks(range(len(first)), first, fontsize=7)
    axes.set_xlabel(", ".join(roles[1:]))
    axes.set_ylabel(roles[0])
    figure.colorbar(image, ax=axes, label="inner product" if dot_products else "cosine")
    _save(figure, output)


def plot_alignment_uniformity(points: Mapping[str, tuple[float, float]], output: str | os.PathLike[str]) -> None:
    """Plot adjusted alignment against uniformity, one point for each encoder, in the order given (dial2vec, Figure 3).

    Args:
        points: Name of the encoder -> (adjusted alignment, uniformity).
        output: The .png, .svg or .pdf file.
    """
    if not points:
        raise ValueError("no encoders to plot")
    figure, axes = _subplots(6, 5)
    alignment, uniformity = zip(*points.values())
    axes.plot(uniformity, alignment, marker="o", linewidth=0.8)
    for name, (x, y) in zip(points, zip(uniformity, alignment)):
        axes.annotate(name, (x, y), textcoords="offset points", xytext=(5, 5), fontsize=8)
    axes.set_xlabel("uniformity (lower is better)")
    axes.set_ylabel("adjusted alignment (lower is better)")
    _save(figure, output)


def plot_additivity(curves: Mapping[str, Sequence[float]], output: str | os.PathLike[str]) -> None:
    """Plot how much each turn of a context points to what was said next (triple-encoders, Figure 7).

    Args:
        curves: Name of the encoder and mode -> (turns,) the cosine with the true next utterance minus the mean cosine
            with random ones, the latest turn first: ``by_distance`` of the task ``additivity``.
        output: The .png, .svg or .pdf file.
    """
    if not curves:
        raise ValueError("no encoders to plot")
    figure, axes = _subplots(6, 4)
    for name, values in curves.items():
        axes.plot(range(1, len(values) + 1), values, marker="o", linewidth=0.8, label=name)
    axes.axhline(0, color="grey", linewidth=0.5)
    axes.set_xlabel("turns before the next utterance")
    axes.set_ylabel("cosine: true less random")
    axes.legend(fontsize=8)
    _save(figure, output)


def _subplots(width: float, height: float) -> Any:
    require("matplotlib", "plots").use("Agg")
    return require("matplotlib.pyplot", "plots").subplots(figsize=(width, height), layout="constrained")


def check_picture(path: str | os.PathLike[str], force: bool = False) -> Path:
    """Return ``path`` if it can name a picture. Errors are those of `check_file`, or ``ValueError`` for its ending."""
    return check_file(path, force, _ENDINGS)


def _save(figure: Any, output: str | os.PathLike[str]) -> None:
    kind = Path(check_picture(output, force=True)).suffix.lower().removeprefix(".") or "png"
    with atomic_path(output) as temporary, _one_warning_of_missing_characters():
        figure.savefig(temporary, format=kind, dpi=120)
    require("matplotlib.pyplot", "plots").close(figure)


@contextmanager
def _one_warning_of_missing_characters() -> Iterator[None]:
    """Warn once only: Matplotlib warns of a missing character each time that it is drawn or measured."""
    with warnings.catch_warnings(record=True) as caught:
        yield
    others = [warning for warning in caught if "missing from font" not in str(warning.message)]
    if len(others) < len(caught):
        logging.getLogger("turnlens").warning("the plot's font lacks some characters: they are drawn as boxes")
    for warning in others:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
