"""What a model measured, as tables in words: translation on each set of sentences, and what its
attention follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from areaviz.cards.gates import Judged
from areaviz.cards.tasks import TASKS
from areaviz.drawing.sites import TEXT_SITES
from areaviz.ui.models.measures import measure_name, measured, number

Columns = dict[str, list[str]]

SETS = {
    "test": "Test",
    "test_2016_flickr": "Test 2016",
    "test_2017_flickr": "Test 2017",
    "val": "Validation, which chose the checkpoint",
}
KINDS = {
    "purity": "lies within one word",
    "cover": "holds a whole word",
    "exact": "is exactly one word",
}
BASELINES = {"": "Measured", "_random": "Random places", "_position": "Positions alone"}
COUNTS = {"sentences": "Sentences", "captions": "Pictures", "pictures": "Pictures", "beam": "Beam"}
LOOKS = {
    "pointing": "Words whose heaviest cell lies in the gold box",
    "mass": "Attention inside the gold box",
    "own_pointing": "The same of its own captions' words, where the caption is true",
    "own_mass": "Attention of these inside the gold box",
    "hit": "Looks whose middle lies on a digit",
    "first_hit": "First looks whose middle lies on a digit",
    "coverage": "Digit covered by the glimpses",
    "picture_share": "Part of what is read that the picture gives",
    "overlap": "Overlap of what was cut out and the digit's box",
}
BLIND = {
    "_uniform": "Any place alike",
    "_position": "Blind to the picture",
    "_untrained": "Untrained",
}
WEIGHTED, HEAVIEST = "weighted_", "multi_"
WHAT_IS_COUNTED = {
    WEIGHTED: (
        "All areas by their weight: the share of its attention on areas of which this is true"
    ),
    HEAVIEST: "The heaviest area of two or more items of every query: how often this is true of it",
}
WHAT_BLIND_MEANS = (
    "Any place alike: attention that is the same everywhere, or looks at random places. Blind to"
    " the picture: one mean map for all words, or the looks at another picture. Untrained: the same"
    " network before it learned anything."
)
WHAT_IT_MEANS = (
    "Over all layers and heads, on held-out sentences. Random places: areas of the same sizes and"
    " weights anywhere in the same sentence. Positions alone: a head that knows distances but no"
    " text. Lift: measured over random. Where keys are means, no area outweighs its best item, so"
    " the heaviest area of all is always a single item: a table of heaviest areas leaves those out."
)


def figure_table(task: str, figures: Mapping[str, Mapping[str, Any]]) -> Columns:
    """One row a set of examples and condition, the test sets first; measures nobody took are left
    out.
    """
    about = TASKS[task]
    names = sorted(figures, key=lambda name: list(SETS).index(name) if name in SETS else len(SETS))
    rows = [
        (name, condition, {**counted(figures[name]), **values})
        for name in names
        for condition, values in about.by_condition(figures[name]).items()
    ]
    shown = {**about.measures, **COUNTS}
    taken = [
        key for key in shown if any(key in values for _, _, values in rows) or key in about.measures
    ]
    columns = {
        shown[key]: [measured(task, key, values.get(key)) for _, _, values in rows] for key in taken
    }
    seen = {"Sees": [condition for _, condition, _ in rows]} if len(about.conditions) > 1 else {}
    return {
        "Examples from": [SETS.get(name, measure_name(name)) for name, _, _ in rows],
        **seen,
        **columns,
    }


def counted(figures: Mapping[str, Any]) -> dict[str, Any]:
    """How many examples there were, and how they were decoded."""
    return {key: figures[key] for key in COUNTS if key in figures}


def gate_table(gates: Sequence[Judged]) -> Columns:
    """What a model had to reach before it was shipped, one row a gate."""
    verdicts = {True: "reached", False: "missed", None: "not measured yet"}
    return {
        "Gate": [gate.what for gate in gates],
        "Wanted": [gate.wanted for gate in gates],
        "Measured": [gate.measured for gate in gates],
        "Verdict": [verdicts[gate.reached] for gate in gates],
    }


def quality_table(attention: Mapping[str, Mapping[str, float]]) -> Columns:
    """How well looks at pictures lie on what is there: one row a set and measure, beside looks that
    know nothing.
    """
    rows = [(place, key) for place in attention for key in LOOKS if key in attention[place]]
    table = {
        "Measured on": [SETS.get(place.split(", ")[-1], place) for place, _ in rows],
        "Share": [LOOKS[key] for _, key in rows],
        "Measured": [_share(attention[place][key]) for place, key in rows],
    }
    for suffix, title in BLIND.items():
        cells = [_share(attention[place].get(f"{key}{suffix}")) for place, key in rows]
        if any(cell != "–" for cell in cells):
            table[title] = cells
    return table


def attention_table(attention: Mapping[str, Mapping[str, float]], counted: str) -> Columns:
    """One row a site and kind of hit: how often, how often by chance, and the ratio; no row where
    nothing is known.

    counted: WEIGHTED or HEAVIEST.
    """
    rows = [(site, f"{counted}{kind}", kind) for site in attention for kind in KINDS]
    rows = [(site, key, kind) for site, key, kind in rows if key in attention[site]]
    table = {
        "Attention": [TEXT_SITES.get(site, site) for site, _, _ in rows],
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
    columns = {
        title: [number(attention[site].get(key)) for site in sites]
        for key, title in measures.items()
    }
    return {
        "Attention": [TEXT_SITES.get(site, site) for site in sites],
        **columns,
        "Entropy, share of the most possible": [
            _share(attention[site].get("entropy_normalised")) for site in sites
        ],
    }


def all_measures(attention: Mapping[str, Mapping[str, float]]) -> Columns:
    """Every measure as a row, every site as a column."""
    names = list(dict.fromkeys(name for values in attention.values() for name in values))
    columns = {
        TEXT_SITES.get(site, site): [number(values.get(name), 4) for name in names]
        for site, values in attention.items()
    }
    return {"Measure": [measure_name(name) for name in names], **columns}


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
