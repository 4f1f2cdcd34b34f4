"""A trace as a tidy pandas table: one row for each weight of a query on an area."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from areaviz.trace.areas import AreaGrid
from areaviz.trace.errors import InputError
from areaviz.trace.limits import check_chosen, check_range

if TYPE_CHECKING:
    import pandas as pd

    from areaviz.trace.record import AttentionMap, Field, Trace

MOST_ROWS = 20_000_000
COLUMNS = (
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

    Its columns are `COLUMNS`. The sides of an area are in items. Its label joins the labels of its
    items. All numbers count from 0.

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
        return pd.DataFrame({name: [] for name in COLUMNS})
    joined = {name: np.concatenate([part[name] for part in parts]) for name in COLUMNS}
    table = pd.DataFrame(joined)
    for name in ("site", "query_label", "area_label"):
        table[name] = table[name].astype("category")
    return table
