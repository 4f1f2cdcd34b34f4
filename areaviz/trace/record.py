"""The Trace, which records what one run of one model attended to, as docs/trace.md specifies.

Shapes: L layers, H heads, Q queries, A areas, N items, T output items, K scales of a glimpse, S
side of a patch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

# Re-exported, because code that reads a trace needs the types of its arrays.
from areaviz.trace.areas import AreaGrid
from areaviz.trace.areas import FloatArray as FloatArray
from areaviz.trace.areas import IntArray as IntArray
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from areaviz.trace.summary import COLUMNS, count_noun, render_table, shorten_to_line
from areaviz.trace.tidy_table import make_tidy_table

if TYPE_CHECKING:
    import pandas as pd

VERSION = 5
# Maximum difference between the sum of a row of weights and 1.
TOLERANCE = 1e-3
# Maximum number of layers of a map, and of heads of a layer.
MAX_LAYERS_AND_HEADS = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """Items that attend or are attended to, anchored in the raw input."""

    # Examples are "source", "target" (the output), "history" (the input of the decoder: a start
    # symbol, then the target without its last item) and "picture" (the cells of the request's
    # picture).
    name: str
    # A key of `KINDS`.
    kind: str
    # The text, or "" for a picture.
    raw: str
    # The displayed text of each item.
    labels: tuple[str, ...]
    # Position of each item, int64. For a text, [N, 2]: start and end (exclusive) in `raw`, in
    # characters. Symbols without text, such as the end of the sentence, have start = end. For a
    # picture, [N, 4]: left, top, right and bottom of each cell in pixels of the request's picture,
    # the last two exclusive. `KINDS` defines the anchors of other kinds.
    anchors: IntArray

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def is_text(self) -> bool:
        """True if the items are pieces of a text."""
        return self.kind == "text"

    @property
    def is_picture(self) -> bool:
        """True if the items are cells of the request's picture."""
        return self.kind == "picture"


@dataclass(frozen=True, slots=True, eq=False)
class AttentionMap:
    """Attention of one site: for every layer, head and query a distribution over areas.

    Weights may be stored elsewhere until they are read (`LayeredWeights`), so read them layer by
    layer: `weights[layer]`, `weights[layer, head]`.
    """

    # For example "encoder self", "decoder self" or "encoder-decoder".
    site: str
    # Name of the field that attends. `memory` names the field that is attended to.
    query: str
    memory: str
    # The areas of the memory.
    grid: AreaGrid
    # float32 [L, H, Q, A]. Each row sums to 1, or to 0 if everything is masked. A layer with
    # smaller areas than the grid has weight 0 on the larger ones.
    weights: FloatArray
    # Text for users: what the weights of a row are normalised over.
    normalisation: str = "softmax over areas"
    # Index of the chosen area for hard attention, int64 [L, H, Q]. None for soft attention, which
    # reads all areas by their weights.
    chosen: IntArray | None = None
    # Length of the context vector of this attention, float32 [L, H, Q], 0 or more. None unless the
    # contexts of several attentions are added. It shows how much this attention contributes to the
    # sum.
    strength: FloatArray | None = None
    # Text for users: what a derived map was computed from, such as areas for a head that attends to
    # single items. "" if the model itself attended in this way.
    derived: str = ""

    @property
    def layers(self) -> int:
        """The number of layers in the map."""
        return int(self.weights.shape[0])

    @property
    def heads(self) -> int:
        """The number of heads per layer."""
        return int(self.weights.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Gaze:
    """Regions of a picture that a model read in turn, by glimpses or by one spatial transformer."""

    # "glimpses", "transformer", "context" (a coarse view of the whole picture), "without context"
    # (the glimpses without that view) or "canvas" (the whole picture as the network received it,
    # from which the patches are cut).
    site: str
    # Names of the field with one item per step, and of the picture's field.
    query: str
    memory: str
    # Corners (x, y) of the region at each scale, finest first, float32 [Q, K, 4, 2]. They are in
    # pixels of the request's picture and may be outside it. Their order is clockwise, from the
    # corner that became the top left of the patch.
    corners: FloatArray
    # The patches that were read, uint8 [Q, K, S, S], 0 black to 255 white.
    seen: npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """The output of the model, from the same pass as the weights."""

    # Name of the field that contains the output.
    field: str
    # Probability of each item given the items before it, float32 [T].
    probabilities: FloatArray
    # The most probable labels of each item with their probabilities, best first.
    alternatives: tuple[tuple[tuple[str, float], ...], ...]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True, repr=False)
class Trace:
    """The record of one decoded example. Fields are stored by name, maps and gazes by site."""

    request: Request
    fields: Mapping[str, Field]
    output: Output
    maps: Mapping[str, AttentionMap]
    # Facts about the run for users, such as "device", "seconds" or "warning".
    details: Mapping[str, str] = field(default_factory=dict)
    version: int = VERSION
    # The regions of a picture that the model read, by site.
    gazes: Mapping[str, Gaze] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """The memory in bytes of weights, picture, sound and clip. Weights on disk count as 0."""
        size = sum(len(medium.content) for medium in self.request.media.values())
        for attention in self.maps.values():
            # Stand-ins for arrays report the size of their cache.
            size += getattr(attention.weights, "cached_bytes", 0)
        return size + count_held_bytes(self.maps.values())

    @property
    def answer(self) -> str:
        """The text that the model wrote, or the answer of a digit classifier.

        A digit classifier predicts a digit at every step. Its answer is the final prediction.
        """
        written = self.fields[self.output.field].raw
        return written if self.request.picture is None else self.details.get("answer", written)

    def __repr__(self) -> str:
        """Return a line such as '<Trace of char-tiny: "A dog." to "Ein Hund.", 3 maps>'."""
        parts = [f"<Trace of {self.request.model}"]
        if self.request.text.strip():
            parts.append(f': "{shorten_to_line(self.request.text)}"')
        answer = self.answer if self.output.field in self.fields else ""
        if answer.strip():
            parts.append(f' to "{shorten_to_line(answer)}"')
        counts = [count_noun(len(self.maps), "map")] if self.maps else []
        if self.gazes:
            counts.append(count_noun(len(self.gazes), "gaze"))
        return f"{''.join(parts)}, {', '.join(counts) or 'no attention'}>"

    def _repr_html_(self) -> str:
        """Return a table of the maps for a notebook. `areaviz.show` gives the interactive view."""
        rows: list[Sequence[object]] = [COLUMNS]
        for site, one in self.maps.items():
            note = "derived" if one.derived else ""
            layers, heads, queries, areas = one.weights.shape
            rows.append((site, layers, heads, queries, one.grid.items, areas, note))
        for site, gaze in self.gazes.items():
            steps, scales = gaze.seen.shape[:2]
            note = f"{count_noun(steps, 'step')}, {count_noun(scales, 'scale')}"
            rows.append((site, "", "", steps, "", "", note))
        return render_table(repr(self).strip("<>"), rows)

    def to_frame(
        self,
        sites: Sequence[str] | None = None,
        layers: Sequence[int] | None = None,
        min_weight: float = 0.0,
    ) -> pd.DataFrame:
        """Return the weights as a tidy pandas table with one row per query and area.

        The columns are site, layer, head, query, query_label, top, left, height, width, area_label
        and weight. The sides of an area are in items. Its label joins the labels of its items. All
        numbers count from 0.

        Args:
            sites: Sites of the maps to include. None includes all.
            layers: Layers to include, from 0. None includes all.
            min_weight: Leave out weights up to this value.

        Raises:
            InputError: A site or layer does not exist, pandas is missing, or the table would have
                more than 20 million rows.
        """
        return make_tidy_table(self, sites, layers, min_weight)


def count_held_bytes(maps: Iterable[AttentionMap]) -> int:
    """Return the size in bytes of the arrays that hold or determine the weights of maps."""
    # Arrays are compared by identity, because several maps may be computed from one array.
    arrays = dict[int, int]()
    for attention in maps:
        held = getattr(attention.weights, "made_of", attention.weights)
        # A stand-in for an array states the size of the data that its numbers are computed from.
        size = held.nbytes if isinstance(held, np.ndarray) else getattr(held, "kept", 0)
        arrays[id(held)] = size
    return sum(arrays.values())


# Function that runs one request, in a backend or with a model in this process.
Run = Callable[[Request], Trace]
# Function that runs several requests with common options together. For a request that cannot be
# run, it returns the error.
RunTogether = Callable[[Sequence[Request]], list[Trace | InputError]]
