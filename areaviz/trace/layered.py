"""Attention weights that lie elsewhere: fetched a layer at a time, when a layer is first read.

Shapes: L layers, H heads, Q queries, A areas.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

FloatArray = npt.NDArray[np.float32]


class LayeredWeights(NDArrayOperatorsMixin):
    """Stands in for a read-only array float32 [L, H, Q, A]; layers that were read are kept.

    shape: of the whole. fetch: gives a layer, float32 [H, Q, A], checked by whoever fetches it; what it raises goes to
    the reader, and the next one asks again. An index that begins with a number stays within that layer; any other
    index, NumPy's functions and an array's methods fetch all layers first.
    """

    dtype = np.dtype(np.float32)
    ndim = 4

    def __init__(self, shape: tuple[int, int, int, int], fetch: Callable[[int], FloatArray]) -> None:
        self.shape, self.size = shape, prod(shape)
        self.nbytes = self.size * self.dtype.itemsize
        self._fetch, self._layers, self._lock = fetch, dict[int, FloatArray](), threading.Lock()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        """What an array of the same shape gives."""
        first, *rest = index if isinstance(index, tuple) else (index,)
        if isinstance(first, int | np.integer):
            return self._layer(range(len(self))[first])[tuple(rest)]
        return np.asarray(self)[index]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """All layers as one array."""
        return np.stack([self._layer(layer) for layer in range(len(self))]).astype(dtype or self.dtype, copy=False)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Operators and NumPy's functions work on all layers."""
        whole = (np.asarray(value) if isinstance(value, LayeredWeights) else value for value in inputs)
        return getattr(ufunc, method)(*whole, **options)

    def __getattr__(self, name: str) -> Any:
        """The methods of an array work on all layers."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def _layer(self, layer: int) -> FloatArray:
        with self._lock:
            if layer not in self._layers:
                self._layers[layer] = self._fetch(layer)
            return self._layers[layer]
