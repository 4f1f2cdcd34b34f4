"""Tables of measured values of models as text: quality, targets, and alignment of attention."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from areaviz.cards.card import Card, TargetResult
from areaviz.cards.tasks import TASKS, LookMeasures
from areaviz.draw.select import ONE_TEXT, PICTURE_SITES, TEXT_SITES
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.app.table import draw_text_table

Columns = dict[str, list[str]]
# Site or dataset -> metric -> value, as in `Card.attention`.
Attention = Mapping[str, Mapping[str, float]]

DATASET_TITLES = {
    "test": "Test",
    "test_2016_flickr": "Test 2016",
    "test_2017_flickr": "Test 2017",
    "test_genres": "Test, other kinds of text",
    "val": "Validation, which chose the checkpoint",
}
COUNT_TITLES = {
    "sentences": "Sentences",
    "captions": "Pictures",
    "pictures": "Pictures",
    "beam": "Beam",
}
# Linguistic units that an area may match, and the suffixes of the keys of their baselines.
MATCH_TITLES = {
    "purity": "lies within one word",
    "cover": "holds a whole word",
    "exact": "is exactly one word",
}
BASELINE_TITLES = {
    "": "Measured",
    "_random": "Random places",
    "_position": "Positions alone",
    "_untrained": "Untrained",
}
# Prefixes of keys: all areas counted by their weight, or the top areas of several items.
WEIGHTED_PREFIX, HEAVIEST_PREFIX = "weighted_", "multi_"
WHAT_IS_COUNTED = {
    WEIGHTED_PREFIX: (
        "All areas by their weight: the share of its attention on areas of which this is true"
    ),
    HEAVIEST_PREFIX: (
        "The heaviest area of two or more items of every query: how often this is true of it"
    ),
}
WHAT_IT_MEANS = (
    "Over all layers and heads, on held-out sentences. Random places: areas of the same sizes and"
    " weights anywhere in the same sentence. Positions alone: a head that knows distances but no"
    " text. Untrained: the same network before training, which reads the same outputs."
    " Lift: measured over random. Where keys are means, no area outweighs its best item, so"
    " the heaviest area of all is always a single item: a table of heaviest areas leaves those out."
)
SIZE_TITLES = {
    "area_size": "Mean area size (items)",
    "uniform_area_size": "If all areas weighed the same",
    "entropy": "Entropy (bits)",
}
UNTRAINED_SIZE_TITLES = {
    "area_size_untrained": "Mean area size, untrained",
    "entropy_untrained": "Entropy, untrained (bits)",
}


def draw_table(columns: Columns) -> None:
    """Draw a table whose cells are plain text."""
    safe = {name: [escape_markdown(cell) for cell in cells] for name, cells in columns.items()}
    draw_text_table(safe)


def format_measure_name(key: str) -> str:
    """Return the key of a metric or an option as words."""
    for task in TASKS.values():
        if key in task.measures:
            return task.measures[key]
    return key.replace("_", " ").capitalize()


def format_metric(task: str, key: str, value: object) -> str:
    """Format a metric of a task. Shares are in per cent."""
    if isinstance(value, float) and key in TASKS[task].percent:
        return f"{value:.2%}"
    return format_number(value, TASKS[task].decimals.get(key, 2))


def format_number(value: object, decimals: int = 2) -> str:
    """Format a value with `decimals` decimals unless it is whole. A missing value is "–"."""
    match value:
        case None:
            return "–"
        case float():
            return f"{value:,.{decimals}f}"
        case int():
            return f"{value:,}"
    return str(value)


def build_columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Columns:
    """Return a table of rows as columns by their headers."""
    return {head: [row[place] for row in rows] for place, head in enumerate(heads)}


def build_metric_table(task: str, figures: Mapping[str, Mapping[str, Any]]) -> Columns:
    """Return the metrics of one model: one row per dataset and condition, test sets first."""
    # Datasets with a title come first, in the order of `DATASET_TITLES`.
    names = [name for name in DATASET_TITLES if name in figures]
    names += [name for name in figures if name not in DATASET_TITLES]
    places, rows = [], []
    for name in names:
        counts = {key: figures[name][key] for key in COUNT_TITLES if key in figures[name]}
        for condition, values in TASKS[task].by_condition(figures[name]).items():
            places.append(DATASET_TITLES.get(name, format_measure_name(name)))
            rows.append((condition, counts | dict(values)))
    measures = TASKS[task].measures
    return {
        "Examples from": places,
        **_list_metric_columns(task, rows, {**measures, **COUNT_TITLES}, measures),
    }


def _list_metric_columns(
    task: str,
    rows: Sequence[tuple[str, Mapping[str, Any]]],
    titles: Mapping[str, str],
    always: Collection[str] = (),
) -> Columns:
    """Return the columns of metrics, and of conditions if a task has several.

    Args:
        task: a key of `TASKS`.
        rows: condition and values.
        titles: the titles of the metrics.
        always: metrics that get a column even if no row has them.
    """
    columns = {}
    if len(TASKS[task].conditions) > 1:
        columns["Sees"] = [condition for condition, _ in rows]
    for key, title in titles.items():
        if key in always or any(key in values for _, values in rows):
            columns[title] = [format_metric(task, key, values.get(key)) for _, values in rows]
    return columns


def build_target_table(gates: Sequence[TargetResult]) -> Columns:
    """Return the targets that a model had to reach before release, one row per target."""
    verdicts = {True: "reached", False: "missed", None: "not measured yet"}
    rows = [(gate.what, gate.wanted, gate.measured, verdicts[gate.reached]) for gate in gates]
    # Some targets were set later, and their text says so.
    before = not any("set after training" in gate.what for gate in gates)
    target = "Target set before training" if before else "Target"
    return build_columns((target, "Needed", "Result", "Verdict"), rows)


def build_quality_table(attention: Attention, looks: LookMeasures) -> Columns:
    """Return how well glimpses match the target regions, compared with blind baselines."""
    rows = [(place, key) for place in attention for key in looks.shares if key in attention[place]]
    # A key is a site and a dataset, such as "encoder-decoder, test".
    return {
        "Measured on": [DATASET_TITLES.get(place.split(", ")[-1], place) for place, _ in rows],
        "Share": [looks.shares[key] for _, key in rows],
        **_list_share_columns(attention, rows, {"": "Measured", **looks.beside}),
    }


def build_attention_table(attention: Attention, counted: str, names: Mapping[str, str]) -> Columns:
    """Return how often areas match words, with chance levels: one row per site and known kind.

    `counted` is WEIGHTED or HEAVIEST.
    """
    rows, kinds, lifts = [], [], []
    for site, values in attention.items():
        for kind, title in MATCH_TITLES.items():
            key = counted + kind
            if key in values:
                rows.append((site, key))
                kinds.append(title)
                lifts.append(format_number(values.get(f"{key}_lift")))
    table = {"Attention": [names.get(site, site) for site, _ in rows], "The area": kinds}
    return table | _list_share_columns(attention, rows, BASELINE_TITLES) | {"Lift": lifts}


def _list_share_columns(
    attention: Attention, rows: Sequence[tuple[str, str]], endings: Mapping[str, str]
) -> Columns:
    """Return a column of shares for each suffix that some row's key has."""
    columns = {}
    for ending, title in endings.items():
        cells = [_format_share(attention[site].get(key + ending)) for site, key in rows]
        if set(cells) - {"–"}:
            columns[title] = cells
    return columns


def build_size_table(attention: Attention, names: Mapping[str, str]) -> Columns:
    """Return the size of areas and the spread of their weights: one row per site."""
    attention = {site: values for site, values in attention.items() if "area_size" in values}
    columns = {"Attention": [names.get(site, site) for site in attention]}
    for key, title in SIZE_TITLES.items():
        columns[title] = [format_number(values.get(key)) for values in attention.values()]
    shares = [_format_share(values.get("entropy_normalised")) for values in attention.values()]
    columns["Entropy, share of the most possible"] = shares
    for key, title in UNTRAINED_SIZE_TITLES.items():
        if any(key in values for values in attention.values()):
            columns[title] = [format_number(values.get(key)) for values in attention.values()]
    return columns


def build_all_metrics_table(attention: Attention, sites: Mapping[str, str]) -> Columns:
    """Return every metric as a row and every site as a column."""
    names = list(dict.fromkeys(name for values in attention.values() for name in values))
    columns = {"Measure": [format_measure_name(name) for name in names]}
    for site, values in attention.items():
        columns[sites.get(site, site)] = [format_number(values.get(name), 4) for name in names]
    return columns


def list_site_names(card: Card) -> Mapping[str, str]:
    """Return the displayed names of the sites in a card's attention."""
    task = TASKS[card.task]
    names = TEXT_SITES if "source" in task.inputs else PICTURE_SITES
    # A model with only one text has no translation.
    return names | ONE_TEXT if task.given == "" else names


def _format_share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
