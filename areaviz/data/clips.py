"""Clips in the form a video captioner was trained on: a fixed number of small square frames.

Drawings are converted to grey, light on dark. Recordings keep their colours.

Shapes: F frames of a clip, N of them, H, W of a frame in pixels, S side of a model's frame, C = 1
or 3 channels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
_GREY = np.array([0.299, 0.587, 0.114], np.float32)
"""Weights of red, green and blue in a grey value (ITU-R BT.601)."""


def choose_frames(frames: int, wanted: int) -> npt.NDArray[np.int64]:
    """Return the indices of `wanted` frames, evenly spaced from first to last: int64 [N].

    Some frames of a shorter clip are repeated.
    """
    return np.linspace(0, frames - 1, wanted).round().astype(np.int64)


def prepare_frames(pixels_FHWC: Pixels, wanted: int, side: int, colour: bool = False) -> Pixels:
    """Return `wanted` frames of a clip as squares: uint8 [N, S, S], in colour [N, S, S, 3].

    Each frame is scaled as a whole and keeps its proportions. Without colour, a clip with light
    edges is assumed to be dark on light and is inverted.
    """
    chosen_NHWC = pixels_FHWC[choose_frames(len(pixels_FHWC), wanted)]
    if colour:
        return _scale_to_squares(chosen_NHWC.astype(np.float32), side)
    edges = [chosen_NHWC[:, 0], chosen_NHWC[:, -1], chosen_NHWC[:, :, 0], chosen_NHWC[:, :, -1]]
    is_dark_on_light = np.median(np.concatenate([edge.ravel() for edge in edges])) > 127
    grey_NHW1 = (chosen_NHWC.astype(np.float32) @ _GREY)[..., None]
    return _scale_to_squares(grey_NHW1, side, is_dark_on_light)[..., 0]


def _scale_to_squares(
    pixels_NHWC: npt.NDArray[np.float32], side: int, is_negative: bool = False
) -> Pixels:
    """Scale frames to squares with black margins, keeping their proportions: [N, S, S, C]."""
    count, height, width, channels = pixels_NHWC.shape
    found = np.zeros((count, side, side, channels), np.uint8)
    scale = side / max(height, width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    left, top = (side - size[0]) // 2, (side - size[1]) // 2
    # Imported here, so that clips can be read and described without torch.
    import torch
    from torch.nn import functional as F

    pixels_NCHW = torch.from_numpy(pixels_NHWC).movedim(3, 1)
    small_NCHW = F.interpolate(pixels_NCHW, size[::-1], mode="bilinear", antialias=True)
    small_NHWC = small_NCHW.round().clamp(0, 255).to(torch.uint8).movedim(1, 3).numpy()
    shown_NHWC = 255 - small_NHWC if is_negative else small_NHWC
    found[:, top : top + size[1], left : left + size[0]] = shown_NHWC
    return found
