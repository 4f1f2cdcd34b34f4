"""A small example of raw arrays, to look at and to begin with: made by rule and chance, by no
model.

Shapes: L layers, H heads, Q queries, N items.
"""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt

MEMORY = ("The", "old", "red", "train", "stops", "in", "the", "small", "station", ".")
QUERIES = ("Der", "alte", "rote", "Zug", "hält", "im", "kleinen", "Bahnhof", ".")
_MEANT = (0, 1, 2, 3, 4, 5, 7, 8, 9)
"""The word of MEMORY behind each of QUERIES."""
_LAYERS, _HEADS, _SPREADS = 2, 4, (0.5, 1.0, 1.5, 3.0)


def example_arrays() -> dict[str, npt.NDArray[np.generic]]:
    """weights [2, 4, 9, 10]: each head looks around the word that is meant, the later ones more
    widely; and labels.
    """
    distance_QN = np.abs(np.arange(len(MEMORY))[None] - np.array(_MEANT)[:, None])
    chance = np.random.default_rng(0).normal(0, 0.7, (_LAYERS, _HEADS, *distance_QN.shape))
    scores = (
        chance
        - distance_QN
        / np.array(_SPREADS)[:, None, None]
        * np.array([0.5, 1.0])[:, None, None, None]
    )
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    return {
        "weights": weights.astype(np.float32),
        "memory": np.array(MEMORY),
        "queries": np.array(QUERIES),
    }


def example_file() -> bytes:
    """The same as an npz file."""
    file = io.BytesIO()
    np.savez_compressed(file, **example_arrays())  # type: ignore[arg-type]
    return file.getvalue()
