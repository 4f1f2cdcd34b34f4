"""The Trace: what one run of one model attended to, without any framework. Specified in
docs/trace.md.

Shapes: L layers, H heads, Q queries, A areas, N items, T output items, K scales of a glimpse, S
side of a patch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import AreaGrid
from areaviz.trace.layered import LayeredWeights
from areaviz.trace.picture import Picture
from areaviz.trace.request import Request

VERSION = 3
TOLERANCE = 1e-3
"""How far a row of weights may be from summing to 1."""
MOST = 1024
"""Layers of a map, and heads of a layer, at most."""

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """Items that attend or are attended to, anchored in the raw input.

    name: "source", "target" (what was produced) or "history" (what the decoder had been fed: a
    start symbol, then the target but for its last item), "picture" (the cells of the request's
    picture). kind: "text" or "picture". raw: the text, "" for a picture. labels: what each item
    shows, one for each item.
    anchors of a text: int64 [N, 2], start and end (exclusive) of each item in `raw`, in characters;
    symbols that stand for no text, such as the end of the sentence, have start = end. anchors of a
    picture: int64 [N, 4], left, top, right and bottom of each cell in pixels of the request's
    picture, the last two exclusive.
    """

    name: str
    kind: str
    raw: str
    labels: tuple[str, ...]
    anchors: IntArray

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True, eq=False)
class AttentionMap:
    """Attention of one site: for every layer, head and query a distribution over areas of the
    memory.

    site: such as "encoder self", "decoder self" or "encoder-decoder". query, memory: names of
    fields. grid: the areas of the memory. weights: float32 [L, H, Q, A], each row sums to 1 (or to
    0 where everything is masked). A layer with smaller areas than the grid has weight 0 on the
    larger ones. normalisation: what the weights sum over, in words, for the reader. chosen: of hard
    attention, int64 [L, H, Q], the index of the one area that was read; None where all were, by
    their weights. strength: where the contexts of several attentions are added, float32 [L, H, Q],
    the length of this one's, 0 or more, so that one can tell how much of the sum is its own; else
    None. derived: in words, what this follows from where the model itself attended otherwise, such
    as areas shown of a head that attends to single items; "" where the model attended so. Weights
    may lie elsewhere until they are read (`LayeredWeights`), so read them layer by layer:
    `weights[layer]`, `weights[layer, head]`.
    """

    site: str
    query: str
    memory: str
    grid: AreaGrid
    weights: FloatArray
    normalisation: str = "softmax over areas"
    chosen: IntArray | None = None
    strength: FloatArray | None = None
    derived: str = ""

    @property
    def layers(self) -> int:
        """How many layers the map has."""
        return int(self.weights.shape[0])

    @property
    def heads(self) -> int:
        """How many heads a layer has."""
        return int(self.weights.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Gaze:
    """Places of a picture that were read one after the other: glimpses, or a spatial transformer's
    quadrilateral.

    site: "glimpses", "transformer", "context" (a coarse look at the whole), "without context" (the
    glimpses without that look) or "canvas" (the whole picture as the network got it, which the rest
    is cut from). query: name of the field with one item a step. memory: name of the picture's
    field. corners: float32 [Q, K, 4, 2], the corners (x, y) of what was read at each scale, finest
    first, in pixels of the request's picture, clockwise from what became the top left; they may lie
    outside.
    seen: uint8 [Q, K, S, S], what was read there, 0 black to 255 white.
    """

    site: str
    query: str
    memory: str
    corners: FloatArray
    seen: npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """What the model produced, from the same pass as the weights.

    field: name of the field that holds it. probabilities: float32 [T], of each item given those
    before it. alternatives: for each item the most probable labels with their probabilities, best
    first.
    """

    field: str
    probabilities: FloatArray
    alternatives: tuple[tuple[tuple[str, float], ...], ...]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Trace:
    """One decoded example: fields, output, one attention map a site, and the places that were
    looked at.

    details: facts about the run for the reader, such as "device", "seconds" or "warning".
    """

    request: Request
    fields: Mapping[str, Field]
    output: Output
    maps: Mapping[str, AttentionMap]
    details: Mapping[str, str] = field(default_factory=dict)
    version: int = VERSION
    gazes: Mapping[str, Gaze] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the weights and the picture take; of weights that stay
        on disk none.
        """
        picture = 0 if self.request.picture is None else len(self.request.picture.rgb)
        return picture + sum(_in_memory(attention.weights) for attention in self.maps.values())

    @classmethod
    def from_arrays(
        cls,
        weights: npt.ArrayLike,
        memory: Sequence[str] | None = None,
        queries: Sequence[str] | None = None,
        shape: tuple[int, int] | None = None,
        picture: Picture | npt.NDArray[np.uint8] | None = None,
        area_size: int = 3,
        name: str = "your-arrays",
    ) -> Trace:
        """A trace of attention that was computed elsewhere, with the sums of its weights over areas
        beside it.

        Args:
            weights: floating-point [L, H, Q, N], each row a distribution over the N items (or 0
                where all are masked).
            memory: a label for each of the N items; by default their numbers. Not used with
                `shape`.
            queries: a label for each of the Q queries; by default the memory itself where Q = N,
                else their numbers.
            shape: (rows, columns) where the items are cells of a picture, row by row.
            picture: the picture of the cells, uint8 [height, width, 3]; by default a grey one.
            area_size: most items of an area, or rows and columns of one, 1..16; 1 leaves the areas
                out.
            name: what the model is called, letters, digits, dots, hyphens and underscores.

        Raises:
            InputError: the arrays do not fit each other, are too large, have weights below 0 or not
                finite, or rows that sum to neither 1 nor 0.
        """
        from areaviz.trace.arrays import from_arrays  # it makes traces, so it imports this module

        return from_arrays(weights, memory, queries, shape, picture, area_size, name)


def _in_memory(weights: FloatArray | LayeredWeights) -> int:
    return weights.kept_bytes if isinstance(weights, LayeredWeights) else weights.nbytes
