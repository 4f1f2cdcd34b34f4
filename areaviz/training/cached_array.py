"""Arrays that take long to make, kept beside the runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


def kept(path: Path, make: Callable[[], npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """What `make` gives, mapped from `path`; made on the first call and saved whole or
    not at all.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npy")
        np.save(part, make())
        part.replace(path)
    found: npt.NDArray[Any] = np.load(path, mmap_mode="c")
    return found
