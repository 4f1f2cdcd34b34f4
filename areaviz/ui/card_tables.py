"""What a model measured, as tables in words: translation on each set of sentences, and what its attention follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from areaviz.trace.published import HEADLINE
from areaviz.ui.focus_state import SITE_NAMES
from areaviz.ui.measures import MEASURES, measure_name, number

Columns = dict[str, list[str]]

SETS = {
    HEADLINE: "Test 2016",
    "test_2017_flickr": "Test 2017",
    "val": "Validation, which chose the checkpoint",
}
KINDS = {"purity": "lies within one word", "cover": "holds a whole word", "exact": "is exactly one word"}
BASELINES = {"": "Measured", "_random": "Random places", "_position": "Positions alone"}
WHAT_IT_MEANS = (
    "Each query's heaviest area, over all layers and heads, on held-out sentences. Random places: areas of the same "
    "sizes anywhere in the same sentence. Positions alone: a head that knows distances but no text. Lift: measured "
    "over random. Where the model has areas of two or more items, only those are counted, as a single item always lies "
    "within its word."
)


def translation_table(figures: Mapping[str, Mapping[str, Any]]) -> Columns:
    """One row a set of sentences, the test sets first."""
    names = sorted(figures, key=lambda name: list(SETS).index(name) if name in SETS else len(SETS))
    shown = {**MEASURES, "sentences": "Sentences", "beam": "Beam"}
    columns = {title: [number(figures[name].get(key)) for name in names] for key, title in shown.items()}
    return {"Sentences from": [SETS.get(name, measure_name(name)) for name in names], **columns}


def attention_table(attention: Mapping[str, Mapping[str, float]]) -> Columns:
    """One row a site and kind of hit: how often, how often by chance, and the ratio."""
    rows = [
        (site, values, kind) for site, values in attention.items() for kind in KINDS if _key(values, kind) in values
    ]
    table = {
        "Attention": [SITE_NAMES.get(site, site) for site, _, _ in rows],
        "The heaviest area": [KINDS[kind] for _, _, kind in rows],
    }
    for suffix, title in BASELINES.items():
        table[title] = [_share(values.get(f"{_key(values, kind)}{suffix}")) for _, values, kind in rows]
    return table | {"Lift": [number(values.get(f"{_key(values, kind)}_lift")) for _, values, kind in rows]}


def size_table(attention: Mapping[str, Mapping[str, float]]) -> Columns:
    """One row a site: how large its areas are and how spread its weights."""
    sites = list(attention)
    measures = {
        "area_size": "Mean area size (items)",
        "uniform_area_size": "If all areas weighed the same",
        "entropy": "Entropy (bits)",
    }
    columns = {title: [number(attention[site].get(key)) for site in sites] for key, title in measures.items()}
    return {
        "Attention": [SITE_NAMES.get(site, site) for site in sites],
        **columns,
        "Entropy, share of the most possible": [_share(attention[site].get("entropy_normalised")) for site in sites],
    }


def all_measures(attention: Mapping[str, Mapping[str, float]]) -> Columns:
    """Every measure as a row, every site as a column."""
    names = list(dict.fromkeys(name for values in attention.values() for name in values))
    columns = {
        SITE_NAMES.get(site, site): [number(values.get(name), 4) for name in names]
        for site, values in attention.items()
    }
    return {"Measure": [measure_name(name) for name in names], **columns}


def _key(values: Mapping[str, float], kind: str) -> str:
    return f"multi_{kind}" if f"multi_{kind}" in values else kind


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
