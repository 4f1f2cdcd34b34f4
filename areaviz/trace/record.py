"""The Trace: what one run of one model attended to, without any framework. Specified in docs/trace.md.

Shapes: L layers, H heads, Q queries, A areas, N items, T output items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import AreaGrid
from areaviz.trace.request import Request

VERSION = 1
FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """Items that attend or are attended to, anchored in the raw input.

    name: "source", "target" (what was produced) or "history" (what the decoder had been fed: a start
    symbol, then the target but for its last item). kind: "text". raw: the text. labels: what each item
    shows, one for each item. anchors: int64 [N, 2], start and end (exclusive) of each item in `raw`, in
    characters; symbols that stand for no text, such as the end of the sentence, have start = end.
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
    """Attention of one site: for every layer, head and query a distribution over areas of the memory.

    site: "encoder self", "decoder self" or "encoder-decoder". query, memory: names of fields. grid: the
    areas of the memory. weights: float32 [L, H, Q, A], each row sums to 1 (or to 0 where everything is
    masked). A layer with smaller areas than the grid has weight 0 on the larger ones. normalisation: what
    the weights sum over, in words, for the reader.
    """

    site: str
    query: str
    memory: str
    grid: AreaGrid
    weights: FloatArray
    normalisation: str = "softmax over areas"

    @property
    def layers(self) -> int:
        """How many layers the map has."""
        return int(self.weights.shape[0])

    @property
    def heads(self) -> int:
        """How many heads a layer has."""
        return int(self.weights.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """What the model produced, from the same pass as the weights.

    field: name of the field that holds it. probabilities: float32 [T], of each item given those before
    it. alternatives: for each item the most probable labels with their probabilities, best first.
    """

    field: str
    probabilities: FloatArray
    alternatives: tuple[tuple[tuple[str, float], ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """One decoded example: fields, output, and one attention map a site.

    details: facts about the run for the reader, such as "device", "seconds" or "warning".
    """

    request: Request
    fields: Mapping[str, Field]
    output: Output
    maps: Mapping[str, AttentionMap]
    details: Mapping[str, str] = field(default_factory=dict)
    version: int = VERSION
