"""Tensors in temporary files, for what of a run has no room in memory.

The file has no name, so nobody else can open it, and it is gone with the tensor, even after a kill.
Its place is where Python puts temporary files (TMPDIR).
"""

from __future__ import annotations

import tempfile

import numpy as np
import torch
from torch import Tensor

from areaviz.trace.errors import BackendError


def mapped(tensor: Tensor) -> Tensor:
    """The same numbers in a file, whose pages come into memory when they are read.

    Args:
        tensor: on the CPU, not empty.

    Raises:
        BackendError: the disk has no room for it.
    """
    array = tensor.detach().contiguous().numpy()
    try:
        with tempfile.TemporaryFile(prefix="areaviz-") as file:
            # Written as a file is, as a map of a full disk would end the process.
            file.write(array.data.cast("B"))
            file.flush()
            # What is changed stays in memory: torch knows no tensors that cannot be changed.
            found = np.memmap(file, array.dtype, "c", shape=array.shape)
    except OSError as error:
        raise BackendError(
            f"The disk has no room for {array.nbytes / 2**20:,.0f} MiB of attention"
            f" ({error.strerror or error}); free some, or take a shorter text."
        ) from error
    return torch.from_numpy(found)
