"""Tensors in temporary files, for parts of a run that do not fit in memory.

The file has no name, so no other process can open it. It is removed with the tensor, even if the
process is killed. It is in the folder that the variable TMPDIR names.
"""

from __future__ import annotations

import tempfile

import numpy as np
import torch
from torch import Tensor

from areaviz.trace.errors import BackendError


def map_to_file(tensor: Tensor) -> Tensor:
    """Return a tensor whose values are in a file and are loaded into memory when they are read.

    Args:
        tensor: A tensor on the CPU that is not empty.

    Raises:
        BackendError: The disk has no room for it.
    """
    array = tensor.detach().contiguous().numpy()
    try:
        with tempfile.TemporaryFile(prefix="areaviz-") as file:
            # The values are written through the file API. Writing to a memory map on a full disk
            # would kill the process.
            file.write(array.data.cast("B"))
            file.flush()
            # The map is copy-on-write, because torch has no read-only tensors. Changes stay in
            # memory.
            found = np.memmap(file, array.dtype, "c", shape=array.shape)
    except OSError as error:
        raise BackendError(
            f"The disk has no room for {array.nbytes / 2**20:,.0f} MiB of attention"
            f" ({error.strerror or error}). Free some space, or use a shorter text."
        ) from error
    return torch.from_numpy(found)
