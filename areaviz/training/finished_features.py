"""Features of pictures from an encoder that is not trained further, computed once and kept on disk.

A file has one view of all pictures. A view is one version of each picture: unchanged, or with
random changes. The file is written in parts, so a run that was killed continues where it stopped.
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

from areaviz.models.pictures import EfficientNetLite0, GridEncoder, ResNet152
from areaviz.training.photo_changes import PhotoChanges
from areaviz.training.task import lock_path

PART = 64
"""Pictures that are encoded and written together."""

Features = npt.NDArray[np.float16]


def load_encoder(encoder: GridEncoder, run: Path) -> None:
    """Load an encoder's weights from a run of the task "encoder", or from a published file.

    Args:
        encoder: Encoder to load.
        run: Folder of the run or of the published file.
    """
    if isinstance(encoder, (ResNet152, EfficientNetLite0)):
        encoder.read_weights(run)
        return
    weights: dict[str, Any] = torch.load(run / "best.pt", map_location="cpu", weights_only=True)
    start = "captioner.pictures."
    own = {name.removeprefix(start): x for name, x in weights.items() if name.startswith(start)}
    encoder.load_state_dict(own)


def encode_finished_features(
    encoder: GridEncoder,
    pixels: npt.NDArray[np.uint8],
    changes: Sequence[PhotoChanges],
    folder: Path,
    device: torch.device,
) -> tuple[Features, ...]:
    """Return the features of the unchanged pictures and of each change, mapped from files.

    Args:
        encoder: A finished encoder with its weights.
        pixels: uint8 [N, H, W, 3].
        changes: Changes to all pictures, one entry per additional view.
        folder: Folder of the files. Missing files are written.
        device: Device that encodes.

    Returns:
        One float16 array [N, M, C] per view.
    """
    digest, grid = _hash_encoder_and_pictures(encoder, pixels), encoder.config.grids[0]
    found = []
    for view, changed in enumerate((None, *changes)):
        path = folder / f"features-{grid}-{len(pixels)}-view{view}-{digest}.npy"
        with lock_path(path):
            if not path.exists():
                _encode_view(encoder, pixels, changed, path, device)
        mapped: Features = np.load(path, mmap_mode="c")
        found.append(mapped)
    return tuple(found)


@torch.no_grad()
def _encode_view(
    encoder: GridEncoder,
    pixels: npt.NDArray[np.uint8],
    changed: PhotoChanges | None,
    path: Path,
    device: torch.device,
) -> None:
    """Encode one view and write it to `path`. Parts of an interrupted attempt are used again.

    The file appears at `path` only when it is complete.
    """
    encoder.eval()
    grid, part = encoder.config.grids[0], path.with_suffix(".part.npy")
    written: Any = np.lib.format.open_memmap(part, "r+") if part.exists() else None
    for some in np.split(np.arange(len(pixels)), range(PART, len(pixels), PART)):
        # Features that are all zero have not been written yet, because no picture has such
        # features.
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


def _hash_encoder_and_pictures(encoder: GridEncoder, pixels: npt.NDArray[np.uint8]) -> str:
    """Return an eight-character digest of the weights and the pictures."""
    found = hashlib.blake2b(digest_size=4)
    for name, value in encoder.state_dict().items():
        found.update(name.encode() + value.cpu().numpy().tobytes())
    found.update(np.ascontiguousarray(pixels).data)
    return found.hexdigest()
