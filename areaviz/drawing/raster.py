"""Large matrices as one small picture: averaged down, looked up in a colour table,
written as PNG.
"""

from __future__ import annotations

import base64
import io
from math import ceil

import numpy as np
import numpy.typing as npt
from PIL import Image

from areaviz.drawing import theme
from areaviz.trace.record import FloatArray

CELLS = 96
"""A matrix with more rows or columns than this is drawn as a picture."""
PIXELS = 400
"""The longest side of such a picture: even noise then stays below 300 KB."""

_OUTSIDE = 255
_TABLE = (
    (theme.SEQUENCE(np.minimum(np.arange(256) / (_OUTSIDE - 1), 1))[:, :3] * 255)
    .round()
    .astype(np.uint8)
)


def block(count: int, limit: int = PIXELS) -> int:
    """How many items share a pixel so that `count` items take at most `limit` pixels."""
    return ceil(count / limit)


def average(values_RC: FloatArray, rows: int, columns: int) -> FloatArray:
    """Means of blocks of `rows` x `columns` cells, the last ones smaller: float32 [ceil(R/rows),
    ceil(C/columns)].

    NaN cells (outside the picture) are left out of the mean; a block of only such cells stays NaN.
    """
    inside_RC = ~np.isnan(values_RC)
    total = _block_sums(np.where(inside_RC, values_RC, 0), rows, columns)
    count = _block_sums(inside_RC.astype(np.float64), rows, columns)
    means: FloatArray = np.divide(
        total, count, out=np.full_like(total, np.nan), where=count > 0
    ).astype(np.float32)
    return means


def _block_sums(
    values_RC: npt.NDArray[np.floating], rows: int, columns: int
) -> npt.NDArray[np.float64]:
    tall = np.add.reduceat(values_RC.astype(np.float64), range(0, values_RC.shape[0], rows), axis=0)
    return np.asarray(np.add.reduceat(tall, range(0, values_RC.shape[1], columns), axis=1))


def png_uri(values_RC: FloatArray, top: float) -> str:
    """A matrix as a PNG data address, 0 to `top` in the colours of the theme, NaN clear, cells kept
    crisp.
    """
    scaled_RC = np.clip(np.nan_to_num(values_RC) / top, 0, 1) * (_OUTSIDE - 1)
    index_RC = np.where(np.isnan(values_RC), _OUTSIDE, scaled_RC.round()).astype(np.uint8)
    # The browser smooths what it enlarges, so cells are enlarged here; repeated cells cost next to
    # nothing.
    rows, columns = (max(1, PIXELS // side) for side in index_RC.shape)
    image = Image.fromarray(index_RC.repeat(rows, 0).repeat(columns, 1), "P")
    image.putpalette(_TABLE.tobytes())
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True, transparency=_OUTSIDE)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
