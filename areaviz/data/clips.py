"""Clips as a watcher was trained on them: so many small square grey frames, light on dark.

Shapes: F frames of a clip, N of them, H, W of a frame in pixels, S side of what is watched.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image

Pixels = npt.NDArray[np.uint8]


def chosen_frames(frames: int, wanted: int) -> npt.NDArray[np.int64]:
    """The numbers of so many frames, evenly through a clip, first and last among them: int64 [N].

    A shorter clip has some of its frames more than once.
    """
    return np.linspace(0, frames - 1, wanted).round().astype(np.int64)


def as_watched(pixels_FHWC: Pixels, wanted: int, side: int) -> Pixels:
    """So many frames of a clip, uint8 [N, S, S]: grey, whole in a square, turned light on dark.

    A clip whose frames are light at their edges is drawn dark on light, and becomes its negative.
    """
    chosen_NHWC = pixels_FHWC[chosen_frames(len(pixels_FHWC), wanted)]
    edges = [chosen_NHWC[:, 0], chosen_NHWC[:, -1], chosen_NHWC[:, :, 0], chosen_NHWC[:, :, -1]]
    is_dark_on_light = np.median(np.concatenate([edge.ravel() for edge in edges])) > 127
    found = np.zeros((wanted, side, side), np.uint8)
    height, width = pixels_FHWC.shape[1:3]
    scale = side / max(height, width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    left, top = (side - size[0]) // 2, (side - size[1]) // 2
    for number, frame_HWC in enumerate(chosen_NHWC):
        grey = Image.fromarray(frame_HWC).convert("L").resize(size, Image.Resampling.BILINEAR)
        small = np.asarray(grey)
        shown = 255 - small if is_dark_on_light else small
        found[number, top : top + size[1], left : left + size[0]] = shown
    return found
