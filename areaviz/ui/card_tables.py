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
WEIGHTED, HEAVIEST = "weighted_", "multi_"
WHAT_IS_COUNTED = {
    WEIGHTED: "All areas by their weight: the share of its attention on areas of which this is true",
    HEAVIEST: "The heaviest area of two or more items of every query: how often this is true of it",
}
WHAT_IT_MEANS = (
    "Over all layers and heads, on held-out sentences. Random places: areas of the same sizes and weights anywhere in "
    "the same sentence. Positions alone: a head that knows distances but no text. Lift: measured over random. "
    "Where keys are means, no area outweighs its best item, so the heaviest area of all is always a single item: a "
    "table of heaviest areas leaves those out."
)


def translation_table(figures: Mapping[str, Mapping[str, Any]]) -> Columns:
    """One row a set of sentences, the test sets first."""
    names = sorted(figures, key=lambda name: list(SETS).index(name) if name in SETS else len(SETS))
    shown = {**MEASURES, "sentences": "Sentences", "beam": "Beam"}
    columns = {title: [number(figures[name].get(key)) for name in names] for key, title in shown.items()}
    return {"Sentences from": [SETS.get(name, measure_name(name)) for name in names], **columns}


def attention_table(attention: Mapping[str, Mapping[str, float]], counted: str) -> Columns:
    """One row a site and kind of hit: how often, how often by chance, and the ratio; no row where nothing is known.

    counted: WEIGHTED or HEAVIEST.
    """
    rows = [(site, f"{counted}{kind}", kind) for site in attention for kind in KINDS]
    rows = [(site, key, kind) for site, key, kind in rows if key in attention[site]]
    table = {
        "Attention": [SITE_NAMES.get(site, site) for site, _, _ in rows],
        "The area": [KINDS[kind] for _, _, kind in rows],
    }
    for suffix, title in BASELINES.items():
        cells = [_share(attention[site].get(f"{key}{suffix}")) for site, key, _ in rows]
        if any(f"{key}{suffix}" in attention[site] for site, key, _ in rows):
            table[title] = cells
    return table | {"Lift": [number(attention[site].get(f"{key}_lift")) for site, key, _ in rows]}


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


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
