"""The Trace: what one run of one model attended to, as docs/trace.md specifies.

Shapes: L layers, H heads, Q queries, A areas, N items, T output items, K scales of a glimpse, S
side of a patch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

# Whoever reads a trace needs the types of its arrays, so they are offered here too.
from areaviz.trace.areas import AreaGrid
from areaviz.trace.areas import FloatArray as FloatArray
from areaviz.trace.areas import IntArray as IntArray
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from areaviz.trace.summary import line_of, table_of
from areaviz.trace.tidy_table import tidy_table

if TYPE_CHECKING:
    import pandas as pd

VERSION = 5
# How far a row of weights may be from summing to 1.
TOLERANCE = 1e-3
# Layers of a map, and heads of a layer, at most.
MOST = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """Items that attend or are attended to, anchored in the raw input."""

    # "source", "target" (what was produced), "history" (what the decoder had been fed: a start
    # symbol, then the target but for its last item) or "picture" (the cells of the request's).
    name: str
    # One of `KINDS`.
    kind: str
    # The text, "" for a picture.
    raw: str
    # What each item shows.
    labels: tuple[str, ...]
    # Of a text, int64 [N, 2]: start and end (exclusive) of each item in `raw`, in characters;
    # symbols that stand for no text, such as the end of the sentence, have start = end. Of a
    # picture, int64 [N, 4]: left, top, right and bottom of each cell in pixels of the request's
    # picture, the last two exclusive.
    anchors: IntArray

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True, eq=False)
class AttentionMap:
    """Attention of one site: for every layer, head and query a distribution over areas.

    Weights may lie elsewhere until they are read (`LayeredWeights`), so read them layer by layer:
    `weights[layer]`, `weights[layer, head]`.
    """

    # Such as "encoder self", "decoder self" or "encoder-decoder".
    site: str
    # Names of the fields that attend and are attended to.
    query: str
    memory: str
    # The areas of the memory.
    grid: AreaGrid
    # float32 [L, H, Q, A], each row sums to 1, or to 0 where everything is masked. A layer with
    # smaller areas than the grid has weight 0 on the larger ones.
    weights: FloatArray
    # What the weights sum over, in words, for the reader.
    normalisation: str = "softmax over areas"
    # Of hard attention, int64 [L, H, Q]: the index of the one area that was read; None where all
    # were, by their weights.
    chosen: IntArray | None = None
    # Where the contexts of several attentions are added, float32 [L, H, Q]: the length of this
    # one's, 0 or more, so that one can tell how much of the sum is its own.
    strength: FloatArray | None = None
    # In words, what this follows from where the model itself attended otherwise, such as areas
    # shown of a head that attends to single items; "" where the model attended so.
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
    """Places of a picture that were read in turn: glimpses, or a spatial transformer's one."""

    # "glimpses", "transformer", "context" (a coarse look at the whole), "without context" (the
    # glimpses without that look) or "canvas" (the whole picture as the network got it, which the
    # rest is cut from).
    site: str
    # Name of the field with one item a step, and of the picture's field.
    query: str
    memory: str
    # float32 [Q, K, 4, 2], the corners (x, y) of what was read at each scale, finest first, in
    # pixels of the request's picture, clockwise from what became the top left; they may lie
    # outside.
    corners: FloatArray
    # uint8 [Q, K, S, S], what was read there, 0 black to 255 white.
    seen: npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """What the model produced, from the same pass as the weights."""

    # Name of the field that holds it.
    field: str
    # float32 [T], of each item given those before it.
    probabilities: FloatArray
    # For each item the most probable labels with their probabilities, best first.
    alternatives: tuple[tuple[tuple[str, float], ...], ...]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True, repr=False)
class Trace:
    """One decoded example; fields, maps and gazes are filed under their names and sites."""

    request: Request
    fields: Mapping[str, Field]
    output: Output
    maps: Mapping[str, AttentionMap]
    # Facts about the run for the reader, such as "device", "seconds" or "warning".
    details: Mapping[str, str] = field(default_factory=dict)
    version: int = VERSION
    # The places of a picture that were read.
    gazes: Mapping[str, Gaze] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Bytes of memory of the weights, picture, sound and clip; weights on disk take none."""
        size = 0 if self.request.picture is None else len(self.request.picture.rgb)
        size += 0 if self.request.sound is None else len(self.request.sound.pcm)
        size += 0 if self.request.clip is None else len(self.request.clip.rgb)
        for attention in self.maps.values():
            # Of something that stands in for an array.
            size += getattr(attention.weights, "cached_bytes", 0)
        return size + held_bytes(self.maps.values())

    def __repr__(self) -> str:
        return line_of(self)

    def _repr_html_(self) -> str:
        """A table of its maps, for a notebook; `areaviz.show` is the interactive view."""
        return table_of(self)

    def to_frame(
        self,
        sites: Sequence[str] | None = None,
        layers: Sequence[int] | None = None,
        min_weight: float = 0.0,
    ) -> pd.DataFrame:
        """Return the weights as a tidy table of pandas: a row for each query and area.

        The columns are site, layer, head, query, query_label, top, left, height, width, area_label
        and weight. The sides of an area are counted in items, its label has those of its items, and
        numbers count from 0.

        Args:
            sites: the maps that are taken; None for all.
            layers: the layers that are taken, from 0; None for all.
            min_weight: weights up to this one are left out.

        Raises:
            InputError: there is no such site or layer, pandas is missing, or the table would have
                more than 20 million rows.
        """
        return tidy_table(self, sites, layers, min_weight)

    @classmethod
    def from_arrays(
        cls, weights: npt.ArrayLike | Sequence[object], *given: Any, **named: Any
    ) -> Trace:
        """The same as `areaviz.from_arrays`, which says what it takes."""
        # By the door of the package, as what makes traces imports this module.
        trace: Trace = import_module("areaviz").from_arrays(weights, *given, **named)
        return trace


def held_bytes(maps: Iterable[AttentionMap]) -> int:
    """Bytes in memory of what the weights of maps are, or are made of when they are read."""
    # By identity: several maps may be made of one array.
    arrays = dict[int, int]()
    for attention in maps:
        held = getattr(attention.weights, "made_of", attention.weights)
        # What stands in for an array keeps what it makes its numbers of, if anything.
        size = held.nbytes if isinstance(held, np.ndarray) else getattr(held, "kept", 0)
        arrays[id(held)] = size
    return sum(arrays.values())


# What runs a request: a backend, or a model of this process.
Run = Callable[[Request], Trace]
# What runs requests that share their options together; one that cannot be run is its reason.
RunTogether = Callable[[Sequence[Request]], list[Trace | InputError]]
