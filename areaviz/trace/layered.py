"""Attention weights that lie elsewhere, on a disk or another machine, and are read by layer.

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
    """Stands in for a read-only array float32 [L, H, Q, A].

    An index that begins with a number stays within that layer; any other index, NumPy's functions
    and an array's methods fetch all layers first.

    Args:
        shape: of the whole.
        fetch: gives a layer, float32 [H, Q, A], checked by whoever fetches it; what it raises goes
            to the reader, and the next one asks again.
        heads: gives the heads from the second argument to the third, exclusive, of the layer that
            is the first. Where it is given, reading is cheap, and no layer is cached; else the
            layers that were read are.
        most: how many layers are cached, those that were read last; all where it is None.
        kept: bytes of memory of what they are made of, which is no array.
    """

    # What they are made of when they are read, another's weights or logs, where they are.
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
        # In the order they were read, the last one last.
        self._layers = dict[int, FloatArray]()
        self._order = threading.Lock()
        # One for each layer: who waits for a slow one does not stall those who read another.
        self._locks = [threading.Lock() for _ in range(shape[0])]

    @property
    def cached_bytes(self) -> int:
        """The bytes of memory that it holds once all of it was read."""
        return 0 if self._heads else self._most * (self.nbytes // len(self))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        """What an array of the same shape gives."""
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
        """All layers as one array."""
        whole = np.empty(self.shape, dtype or self.dtype)
        for layer in range(len(self)):
            whole[layer] = self._layer(layer)
        return whole

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Operators and NumPy's functions work on all layers."""
        whole = (
            np.asarray(value) if isinstance(value, LayeredWeights) else value for value in inputs
        )
        return getattr(ufunc, method)(*whole, **options)

    def __getattr__(self, name: str) -> Any:
        """The methods of an array work on all layers."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def _some_heads(self, layer: int, index: Any) -> tuple[FloatArray, Any]:
        """The heads that an index names, and the index of these in what was read."""
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
        """Cache a layer as the one read last; the one unused for longest goes."""
        with self._order:
            self._layers.pop(layer, None)
            self._layers[layer] = found
            if len(self._layers) > self._most:
                del self._layers[next(iter(self._layers))]
