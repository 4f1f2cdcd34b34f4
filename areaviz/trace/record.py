"""The records of a trace: `Trace`, `AttentionMap`, `Field`, `Output` and `Gaze`.

Before them stand weights that are read by layer, the summary and the tidy table. The checks of
the arguments of public functions come last.
"""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from html import escape
from math import prod
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from areaviz.trace.areas import AreaGrid, FloatArray, IntArray
from areaviz.trace.errors import InputError, check_chosen, check_range, describe_value, shorten
from areaviz.trace.request import Request

if TYPE_CHECKING:
    import pandas as pd


# Attention weights on a disk or another machine, read one layer at a time.
#
# Shapes: L layers, H heads, Q queries, A areas.


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


# The parts of a trace's summary: short texts for its line, and a table for a notebook.


MAX_CHARACTERS = 60
"""Maximum number of characters of a text to show."""
SUMMARY_COLUMNS = ("site", "layers", "heads", "queries", "items", "areas", "")
_STYLE = "text-align: left; padding: 2px 12px 2px 0"


def shorten_to_line(text: str) -> str:
    """Return a text as one line without control characters, shortened if it is long."""
    line = " ".join(text.split())
    printable = "".join(letter if letter.isprintable() else "\ufffd" for letter in line)
    return printable if len(printable) <= MAX_CHARACTERS else f"{printable[: MAX_CHARACTERS - 1]}…"


def count_noun(count: int, noun: str) -> str:
    """Return a count with its noun: "1 map", "2,000 maps"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def render_table(line: str, rows: Sequence[Sequence[object]]) -> str:
    """Return HTML with a line about a trace and a table. All texts are escaped.

    Args:
        line: The line above the table.
        rows: The names of the columns, then the values of each row.
    """
    cells = [_render_row(rows[0], "th"), *(_render_row(row, "td") for row in rows[1:])]
    hint = "Call areaviz.show(trace) to see it."
    return f"<div><p>{escape(line)}. {hint}</p><table>{''.join(cells)}</table></div>"


def _render_row(values: Iterable[object], tag: str) -> str:
    cells = []
    for value in values:
        text = f"{value:,}" if isinstance(value, int) else str(value)
        cells.append(f'<{tag} style="{_STYLE}">{escape(text)}</{tag}>')
    return f"<tr>{''.join(cells)}</tr>"


# A trace as a tidy pandas table: one row for each weight of a query on an area.


MOST_ROWS = 20_000_000
TIDY_COLUMNS = (
    *("site", "layer", "head", "query", "query_label"),
    *("top", "left", "height", "width", "area_label", "weight"),
)


def make_tidy_table(
    trace: Trace,
    sites: Sequence[str] | None = None,
    layers: Sequence[int] | None = None,
    min_weight: float = 0.0,
) -> pd.DataFrame:
    """Return the weights as a tidy pandas table with one row per query and area.

    Its columns are `TIDY_COLUMNS`. The sides of an area are in items. Its label joins the labels of
    its items. All numbers count from 0.

    Args:
        trace: The trace with the weights.
        sites: Sites of the maps to include. None includes all.
        layers: Layers to include, from 0. None includes all.
        min_weight: Leave out weights up to this value.

    Raises:
        InputError: A site or layer does not exist, pandas is missing, the table would have more
            than 20 million rows, or an argument has a wrong type.
    """
    check_chosen("sites", sites, str)
    check_chosen("layers", layers, int)
    check_range("min_weight", min_weight, (0, 1))
    chosen = tuple(trace.maps) if sites is None else tuple(sites)
    for site in chosen:
        if site not in trace.maps:
            raise InputError(
                f'The trace has no site "{site}". Its sites are {", ".join(trace.maps)}.'
            )
    parts: list[dict[str, Any]] = []
    rows = 0
    for site in chosen:
        attention = trace.maps[site]
        for layer in _choose_layers(attention, layers):
            part = _make_columns(trace, attention, layer, min_weight)
            rows += len(part["weight"])
            if rows > MOST_ROWS:
                raise InputError(
                    f"The table would have more than {MOST_ROWS:,} rows. Choose sites or"
                    " layers, or leave out small weights (min_weight=)."
                )
            parts.append(part)
    return _join_columns(parts)


def _choose_layers(attention: AttentionMap, chosen: Sequence[int] | None) -> Sequence[int]:
    if chosen is None:
        return range(attention.layers)
    for layer in chosen:
        if not 0 <= layer < attention.layers:
            raise InputError(
                f'"{attention.site}" has {attention.layers} layers, so there is no layer'
                f" {layer}. Count them from 0."
            )
    return chosen


def _make_columns(
    trace: Trace, attention: AttentionMap, layer: int, min_weight: float
) -> dict[str, Any]:
    """Return the columns of one layer.

    The layer is read only once, because its weights may be stored elsewhere.
    """
    weights_HQA = np.asarray(attention.weights[layer])
    heads, queries, areas = np.nonzero(weights_HQA > min_weight)
    labels = np.array(trace.fields[attention.query].labels, object)
    boxes = np.asarray(attention.grid.table())[areas]
    names = np.array(_label_areas(trace.fields[attention.memory], attention.grid), object)
    return {
        "site": np.full(len(areas), attention.site, object),
        "layer": np.full(len(areas), layer, np.int64),
        "head": heads,
        "query": queries,
        "query_label": labels[queries],
        "top": boxes[:, 0],
        "left": boxes[:, 1],
        "height": boxes[:, 2],
        "width": boxes[:, 3],
        "area_label": names[areas],
        "weight": weights_HQA[heads, queries, areas],
    }


def _label_areas(memory: Field, grid: AreaGrid) -> list[str]:
    """Return the labels of the items of each area, row by row, joined by spaces."""
    labels = []
    for top, left, height, width in np.asarray(grid.table()).tolist():
        rows = range(top, top + height)
        items = [row * grid.width + column for row in rows for column in range(left, left + width)]
        labels.append(" ".join(memory.labels[item] for item in items))
    return labels


def _join_columns(parts: Sequence[dict[str, Any]]) -> pd.DataFrame:
    try:
        import pandas as pd
    except ImportError as error:
        raise InputError(
            "A table needs the package pandas. Install it with: pip install pandas"
        ) from error
    if not parts:
        return pd.DataFrame({name: [] for name in TIDY_COLUMNS})
    joined = {name: np.concatenate([part[name] for part in parts]) for name in TIDY_COLUMNS}
    table = pd.DataFrame(joined)
    for name in ("site", "query_label", "area_label"):
        table[name] = table[name].astype("category")
    return table


# The Trace, which records what one run of one model attended to, as docs/trace.md specifies.
#
# Shapes: L layers, H heads, Q queries, A areas, N items, T output items, K scales of a glimpse, S
# side of a patch.


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
        rows: list[Sequence[object]] = [SUMMARY_COLUMNS]
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


# Checks of the arguments of public functions, which give clear errors.


# Limits of Linux. Other systems have these limits or lower ones.
MAX_NAME_BYTES, MAX_PATH_BYTES = 255, 4095

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
# Numeric arguments other than positions in the map, with the minimum of each.
_COUNTS, _SHARES = {"k": 0, "min_size": 1}, ("mass", "max_overlap")


def check_arguments(ask: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """Return a function that checks its arguments before it calls `ask`.

    Args:
        ask: Function whose first argument is a map. It may also take a layer, head, query and
            numbers.

    Raises:
        InputError: On a call, if the attention is not a map, or an argument is outside the map or
            not a number.
    """
    signature = inspect.signature(ask)

    @wraps(ask)
    def asked(*given: _Given.args, **named: _Given.kwargs) -> _Result:
        _check_values(signature.bind(*given, **named).arguments)
        return ask(*given, **named)

    return asked


def _check_values(arguments: dict[str, Any]) -> None:
    attention = arguments["attention"]
    if not isinstance(attention, AttentionMap):
        raise InputError(
            "The attention must be a map of a trace but is of type"
            f' {type(attention).__name__}. Give one, such as trace.maps["encoder self"].'
        )
    layers, heads, queries, _ = attention.weights.shape
    counts = {"layer": layers, "head": heads, "query": queries, "item": attention.grid.items}
    for name, value in arguments.items():
        if name in counts and not (name == "head" and value is None):
            _check_place(name, value, counts[name])
        if name in _COUNTS and not (isinstance(value, Integral) and int(value) >= _COUNTS[name]):
            raise InputError(
                f'"{name}" must be a whole number from {_COUNTS[name]} but is'
                f" {describe_value(value)}. Give one."
            )
        if name in _SHARES and not (isinstance(value, Real) and 0 <= float(value) <= 1):
            raise InputError(
                f'"{name}" must be between 0 and 1 but is {describe_value(value)}. Give a share.'
            )
    chosen = arguments.get("layers")
    if chosen is not None and not isinstance(chosen, Iterable):
        raise InputError(
            f"The layers must be a list of whole numbers but are {describe_value(chosen)}. Give a"
            " list."
        )
    if chosen is not None and not list(chosen):
        raise InputError("No layer is chosen. Choose at least one, or leave layers out.")
    for layer in () if chosen is None else chosen:
        _check_place("layer", layer, layers)


def _check_place(name: str, value: Any, count: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(
            f"The {name} must be a whole number but is {describe_value(value)}. Count from 0."
        )
    # Negative numbers count from the end, as usual in Python.
    if not -count <= int(value) < count:
        raise InputError(
            f"The map has {count:,} of its {name} but {value} was requested. Count from 0."
        )


def check_trace(trace: object) -> None:
    """Check that an object is a trace.

    Raises:
        InputError: The object has another type.
    """
    if not isinstance(trace, Trace):
        raise InputError(
            f"A trace is needed but this is of type {type(trace).__name__}. Give what"
            " areaviz.attend, from_arrays or load returns."
        )


def expand_path(given: object) -> Path:
    """Return a path with "~" expanded to the home folder.

    Raises:
        InputError: The argument is not a valid path.
    """
    if not isinstance(given, str | Path) or not str(given) or "\0" in str(given):
        raise InputError(
            f"A path is needed but this is {describe_value(given)}. Give a file's path."
        )
    try:
        path = Path(given).expanduser()
    except RuntimeError as error:
        raise InputError(
            f"There is no home folder for {shorten(str(given))}. Give the whole path."
        ) from error
    longest = max(len(os.fsencode(part)) for part in (path.name, *path.parts))
    if longest > MAX_NAME_BYTES or len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise InputError(
            f"The path {shorten(str(given))} is longer than a file system allows. Check it,"
            " or choose a shorter one."
        )
    return path


def find_file(given: object) -> Path:
    """Return the path of a file that exists, with "~" expanded to the home folder.

    Raises:
        InputError: The argument is not a valid path, or there is no file at it that can be read.
    """
    path = expand_path(given)
    if path.is_dir():
        raise InputError(f'"{path}" is a folder. Give the files in it.')
    if not path.is_file():
        raise InputError(f'File "{path}" does not exist. Check the path.')
    if not os.access(path, os.R_OK):
        raise InputError(f'You may not read the file "{path}". Change its permissions.')
    return path
