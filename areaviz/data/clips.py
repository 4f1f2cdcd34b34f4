"""Clips as a watcher was trained on them: so many small square grey frames, light on dark.

Shapes: F frames of a clip, N of them, H, W of a frame in pixels, S side of what is watched.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
_GREY = np.array([0.299, 0.587, 0.114], np.float32)
"""How much red, green and blue add to a grey (ITU-R BT.601)."""


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
    grey_NHW = chosen_NHWC.astype(np.float32) @ _GREY
    # Here, so that clips are read and described without torch.
    import torch
    from torch.nn import functional as F

    small_N1HW = F.interpolate(
        torch.from_numpy(grey_NHW)[:, None], size[::-1], mode="bilinear", antialias=True
    )
    small_NHW = small_N1HW[:, 0].round().clamp(0, 255).to(torch.uint8).numpy()
    shown_NHW = 255 - small_NHW if is_dark_on_light else small_NHW
    found[:, top : top + size[1], left : left + size[0]] = shown_NHW
    return found
