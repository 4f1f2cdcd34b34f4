"""Attention weights on a disk or another machine, read one layer at a time.

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

from areaviz.trace.areas import FloatArray

Shape = tuple[int, int, int, int]


class LayeredWeights(NDArrayOperatorsMixin):
    """A stand-in for a read-only array float32 [L, H, Q, A].

    An index that begins with a number reads only that layer. Any other index, NumPy's functions and
    the methods of an array fetch all layers first.

    Args:
        shape: Shape of the whole array.
        fetch: Returns a layer, float32 [H, Q, A], which it has checked. Its errors reach the
            caller, and the next access fetches again.
        heads: Function of a layer, a first head and an end (exclusive) that returns these heads,
            float32 [heads, Q, A]. Give it if reading is cheap. Layers are then not cached.
        most: Maximum number of cached layers. The most recently read ones are kept. None caches
            all.
        kept: Size in bytes of the data that the weights are computed from, if the data are not an
            array.
    """

    # The weights or logarithms that these weights are computed from, if any.
    made_of: FloatArray | None = None
    dtype = np.dtype(np.float32)
    ndim = 4

    def __init__(
        self,
        shape: Shape,
        fetch: Callable[[int], FloatArray],
        heads: Callable[[int, int, int], FloatArray] | None = None,
        most: int | None = None,
        kept: int = 0,
    ) -> None:
        self.shape, self.size, self.kept = shape, prod(shape), kept
        self.nbytes = self.size * self.dtype.itemsize
        self._fetch, self._heads = fetch, heads
        self._most = shape[0] if most is None else min(most, shape[0])
        # The cached layers, the least recently read one first.
        self._layers = dict[int, FloatArray]()
        self._order = threading.Lock()
        # One lock per layer, so that waiting for a slow layer does not block the reading of other
        # layers.
        self._locks = [threading.Lock() for _ in range(shape[0])]

    @property
    def cached_bytes(self) -> int:
        """The memory in bytes that the cache uses after all layers have been read."""
        return 0 if self._heads else self._most * (self.nbytes // len(self))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        """Return what an array of the same shape would return."""
        first, *rest = index if isinstance(index, tuple) else (index,)
        if not isinstance(first, int | np.integer):
            return np.asarray(self)[index]
        layer = range(len(self))[first]
        if self._heads and rest:
            found, rest[0] = self._some_heads(layer, rest[0])
            return found[tuple(rest)]
        return self._layer(layer)[tuple(rest)]

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """Return all layers as one array."""
        whole = np.empty(self.shape, dtype or self.dtype)
        for layer in range(len(self)):
            whole[layer] = self._layer(layer)
        return whole

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply an operator or a function of NumPy to all layers."""
        whole = (
            np.asarray(value) if isinstance(value, LayeredWeights) else value for value in inputs
        )
        return getattr(ufunc, method)(*whole, **options)

    def __getattr__(self, name: str) -> Any:
        """Return a method or attribute of the array of all layers."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def _some_heads(self, layer: int, index: Any) -> tuple[FloatArray, Any]:
        """Return the heads that an index needs, and the index of the result within them."""
        assert self._heads is not None
        heads = range(self.shape[1])
        if isinstance(index, slice) and index.step in (None, 1):
            first, last, _ = index.indices(len(heads))
            return self._heads(layer, first, max(first, last)), slice(None)
        if isinstance(index, int | np.integer):
            return self._heads(layer, heads[index], heads[index] + 1), 0
        return self._fetch(layer), index

    def _layer(self, layer: int) -> FloatArray:
        if self._heads:
            return self._fetch(layer)
        with self._locks[layer]:
            found = self._layers.get(layer)
            if found is None:
                found = self._fetch(layer)
            self._remember(layer, found)
            return found

    def _remember(self, layer: int, found: FloatArray) -> None:
        """Cache a layer as the most recently read. Drop the least recently read one if needed."""
        with self._order:
            self._layers.pop(layer, None)
            self._layers[layer] = found
            if len(self._layers) > self._most:
                del self._layers[next(iter(self._layers))]
