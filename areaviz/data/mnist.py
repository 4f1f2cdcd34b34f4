"""MNIST: 70,000 handwritten digits of 28 x 28 pixels (LeCun et al. 1998)."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from areaviz.samples.digits import DIGIT_SIDE, Images, Labels
from areaviz.trace.errors import BackendError

VALIDATION = 5000
"""Number of training digits, taken from the end, that are reserved for choosing checkpoints."""

_FILES = {"train": "train", "val": "train", "test": "t10k"}


def read_digits(folder: Path, split: str) -> tuple[Images, Labels]:
    """Read the digits of "train" (55,000), "val" (5,000) or "test" (10,000), and their labels.

    Returns:
        The digits, uint8 [N, 28, 28], with 0 for background and 255 for ink, and the labels, int64
        [N].

    Raises:
        FileNotFoundError: The corpus is not in `folder`.
        BackendError: A file is not a valid idx file.
    """
    name = _FILES[split]
    images = _read_idx(folder / "mnist" / f"{name}-images-idx3-ubyte.gz").reshape(
        -1, DIGIT_SIDE, DIGIT_SIDE
    )
    labels = _read_idx(folder / "mnist" / f"{name}-labels-idx1-ubyte.gz").astype(np.int64)
    if split == "train":
        return images[:-VALIDATION], labels[:-VALIDATION]
    if split == "val":
        return images[-VALIDATION:], labels[-VALIDATION:]
    return images, labels


def _read_idx(path: Path) -> Images:
    """Return the data of an idx file without its header."""
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing. Put MNIST's four idx files (gzipped) into that folder."
        )
    try:
        with gzip.open(path) as file:
            content = file.read()
        # The header has two zeros, type 8 (unsigned byte), the number of axes, and their lengths.
        axes = content[3] if content[:3] == b"\0\0\x08" else 0
        lengths = np.frombuffer(content, ">u4", axes, 4)
        values = np.frombuffer(content, np.uint8, offset=4 + 4 * axes)
        if not axes or values.size != lengths.prod():
            raise ValueError("its header and its length disagree")
    except (EOFError, OSError, ValueError) as error:
        raise BackendError(
            f"{path.name} is not an idx file of bytes, or it is incomplete. Fetch it again."
        ) from error
    return values
