"""Features of pictures by a finished encoder, computed once and kept on the disk.

A file holds one view of all pictures. It grows part by part, so a run that was killed goes on where
it stopped.
Shapes: N pictures, M cells, C channels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from areaviz.models.efficientnet import EfficientNetLite0
from areaviz.models.encoders import ResNet152
from areaviz.models.grid_encoder import GridEncoder
from areaviz.training.photo_changes import PhotoChanges
from areaviz.training.task import only_one

PART = 64
"""Pictures that are encoded and written at a time."""

Features = npt.NDArray[np.float16]


def load_encoder(encoder: GridEncoder, run: Path) -> None:
    """Load the weights that a run of the task "encoder" trained, or a published file in `run`."""
    if isinstance(encoder, (ResNet152, EfficientNetLite0)):
        encoder.read(run)
        return
    weights: dict[str, Any] = torch.load(run / "best.pt", map_location="cpu", weights_only=True)
    start = "captioner.pictures."
    own = {name.removeprefix(start): x for name, x in weights.items() if name.startswith(start)}
    encoder.load_state_dict(own)


def finished_features(
    encoder: GridEncoder,
    pixels: npt.NDArray[np.uint8],
    changes: Sequence[PhotoChanges],
    folder: Path,
    device: torch.device,
) -> tuple[Features, ...]:
    """The features of pictures as they are and after each of the changes, mapped from `folder`.

    Args:
        encoder: a finished one, with its weights.
        pixels: uint8 [N, H, W, 3].
        changes: of every picture, one entry a further view.
        folder: where the files are or are made.
        device: that encodes.

    Returns:
        Of each view float16 [N, M, C].
    """
    digest, grid = _digest(encoder, pixels), encoder.config.grids[0]
    found = []
    for view, changed in enumerate((None, *changes)):
        path = folder / f"features-{grid}-{len(pixels)}-view{view}-{digest}.npy"
        with only_one(path):
            if not path.exists():
                _encode(encoder, pixels, changed, path, device)
        mapped: Features = np.load(path, mmap_mode="c")
        found.append(mapped)
    return tuple(found)


@torch.no_grad()
def _encode(
    encoder: GridEncoder,
    pixels: npt.NDArray[np.uint8],
    changed: PhotoChanges | None,
    path: Path,
    device: torch.device,
) -> None:
    """Write one view to `path`, whole or not at all; what an earlier try wrote is kept."""
    encoder.eval()
    grid, part = encoder.config.grids[0], path.with_suffix(".part.npy")
    written: Any = np.lib.format.open_memmap(part, "r+") if part.exists() else None
    for some in np.split(np.arange(len(pixels)), range(PART, len(pixels), PART)):
        # Features that are all zero were not written yet: no encoder gives such a picture.
        if written is not None and written[some[-1]].any():
            continue
        looks = torch.from_numpy(pixels[some])
        if changed is not None:
            looks = changed.of(some).change(looks)
        features = encoder(looks.to(device))[grid].half().cpu().numpy()
        if written is None:
            shape = (len(pixels), *features.shape[1:])
            written = np.lib.format.open_memmap(part, "w+", np.float16, shape)
        written[some] = features
        written.flush()
    part.replace(path)


def _digest(encoder: GridEncoder, pixels: npt.NDArray[np.uint8]) -> str:
    """Eight letters that other weights or other pictures would change."""
    found = hashlib.blake2b(digest_size=4)
    for name, value in encoder.state_dict().items():
        found.update(name.encode() + value.cpu().numpy().tobytes())
    found.update(np.ascontiguousarray(pixels).data)
    return found.hexdigest()
