"""Tables on the page of a model: quality, targets, and statistics of its heads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import streamlit as st

from areaviz.app.texts import draw_text_table, escape_markdown
from areaviz.cards.card import Card, TargetResult
from areaviz.cards.tasks import TASKS, LookMeasures
from areaviz.draw.select import ONE_TEXT, PICTURE_SITES, TEXT_SITES
from areaviz.measures.heads import Figures, name_head

# Tables of measured values of models as text: quality, targets, and alignment of attention.


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


# Statistics of every head of a model over a dataset: name, query dependence and spans.


Cells = dict[str, list[Any]]

MEASURE_TITLES = {
    "dependence": "Query dependence (bits)",
    "dependence_share": "of the most possible (%)",
    "sink": "Most on one item (%)",
    "cell": "Most on one cell (%)",
    "multi_share": "Several items on top (%)",
    "multi_share_untrained": "the same untrained (%)",
    "long_exact": "of these exactly a word (%)",
    "long_exact_lift": "times chance",
    "long_exact_lift_untrained": "times chance, untrained",
    "aer": "Alignment error (%)",
}
"""Shown metrics of `Card.heads` in order; those with (%) in the title are stored as shares."""
MIN_HEADS = 2
"""Number of decimals of values that are not shares."""
WHAT_NAMES_MEAN = (
    "A head has a name if one thing explains much of what it does. Previous item or position: its"
    " heaviest item is there in half of the queries. Sink: one item has more than half of its mean"
    " map. Alignment: its links are better than the diagonal's. Word edge: its heaviest area begins"
    " or ends a word twice as often as by chance. Click a column to sort."
)
LINK_BASELINES = {
    "aer": "This model, the head or mean of heads that validation chose",
    "best": "This model, the best alignment that validation chose",
    "aer_aligner": "A statistical aligner trained on the same sentences",
    "aer_diagonal": "The diagonal",
    "aer_untrained": "The network untrained, its head chosen alike",
    "best_untrained": "The network untrained, its best alignment chosen alike",
    "best_position": "The position alone: links of the best alignment in another caption",
}
SPAN_BASELINES = {
    "span": "Heaviest areas of two items or more",
    "span_random": "Areas of these sizes anywhere",
    "span_diagonal": "Areas of these sizes on the diagonal",
    "span_untrained": "Heaviest areas of two items or more in the untrained network",
    "single": "Single items on top in the same head",
    "best_pair": "The best head's heaviest item with its heavier neighbour, all queries",
}


def build_heads_table(figures: Figures, site: str) -> Cells:
    """Return one row per head. Layers and heads count from 1, shares are in per cent."""
    places = []
    for layer, row in enumerate(figures["dependence"]):
        places += [(layer, head) for head in range(len(row))]
    names = []
    for place in places:
        names.append("; ".join(map(str, name_head(figures, site, *place))))
    cells: Cells = {
        "Layer": [layer + 1 for layer, _ in places],
        "Head": [head + 1 for _, head in places],
        "Name": names,
    }
    for key, title in MEASURE_TITLES.items():
        # For pictures, "cell" is more informative, because a cell has one position in all examples.
        if key not in figures or key == "sink" and "cell" in figures:
            continue
        values = [figures[key][layer][head] for layer, head in places]
        cells[title] = [_format_value(value, title) for value in values]
    return cells


def _format_value(value: float | None, title: str) -> float | None:
    if value is None:
        return None
    return round(100 * value, 1) if title.endswith("(%)") else round(value, MIN_HEADS)


def describe_heads(figures: Figures) -> str:
    """Describe the scale for the query dependence of a site's heads."""
    return (
        f"Over {figures['examples']:,} validation examples. Query dependence: how much an item"
        " that is attended to tells of the query, 0 where every query looks at the same place. A"
        " head that goes along the items would have"
        f" {figures['dependence_diagonal']:.2f} bits. Before training, no head has more"
        f" than {figures['dependence_untrained']:.2f}."
    )


def draw_heads(card: Card, site: str, key: str) -> None:
    """Draw the statistics of a site's heads, if they were measured."""
    figures = card.heads.get(site)
    if not figures:
        return
    st.caption(escape_markdown(describe_heads(figures)))
    st.dataframe(
        build_heads_table(figures, site),
        hide_index=True,
        key=f"heads_{key}",
        column_config={"Name": st.column_config.TextColumn(width="medium")},
    )


def build_links_table(attention: Mapping[str, Mapping[str, float]]) -> Columns:
    """Return alignment error rates against manual alignments, lowest is best; {} if unknown."""
    found = {**attention.get("word links", {}), **attention.get("best alignment", {})}
    known = [name for name in LINK_BASELINES if name in found]
    if not known:
        return {}
    return {
        "Links between words": [LINK_BASELINES[name] for name in known],
        "Alignment error": [f"{found[name]:.1%}" for name in known],
    }


def build_linked_words_table(attention: Mapping[str, Mapping[str, float]]) -> Columns:
    """Return how often spans contain the manually aligned word, with baselines; {} if unknown.

    "Whole" counts only spans that contain all items of an aligned word.
    """
    found = attention.get("linked words", {})
    if "span" not in found and "best_pair" not in found:
        return {}
    known = [name for name in SPAN_BASELINES if name in found]
    columns: Columns = {"Holds the linked word": [SPAN_BASELINES[name] for name in known]}
    for title, end in (("or a part of it", ""), ("all of it", "_whole")):
        cells = []
        for name in known:
            value = found.get(name + end)
            cells.append("–" if value is None else f"{value:.1%}")
        columns[title] = cells
    return columns


def has_links(card: Card) -> bool:
    """Return whether the alignment of words was measured."""
    return bool(build_links_table(card.attention) or build_linked_words_table(card.attention))


def draw_links(card: Card) -> None:
    """Draw how a translation model's attention aligns words, if it was measured."""
    links, words = build_links_table(card.attention), build_linked_words_table(card.attention)
    if not (links or words):
        return
    st.write("**Word alignment**")
    if links:
        count = int(card.attention["word links"]["sentences"])
        draw_table(links)
        st.caption(
            f"Alignment error rate against links by one annotator on {count} test captions. Layer"
            " and head were chosen on 20 validation captions. 0 % is best."
        )
    if words:
        draw_table(words)
        st.caption(escape_markdown(_describe_linked_words(card)))


def _describe_linked_words(card: Card) -> str:
    found = card.attention["linked words"]
    if "layer" not in found:
        return "No head that depends on its query has an area of two items or more on top."
    before = ""
    if "linked_span_share_untrained" in found:
        before = (
            f" ({found['linked_span_share']:.0%} of the linked words on test, and"
            f" {found['linked_span_share_untrained']:.0%} before training)"
        )
    return (
        f"Of layer {int(found['layer']) + 1}, head {int(found['head']) + 1}, where an area of two"
        f" items or more is on top in {found['multi_share']:.0%} of validation's queries{before}."
        f" On the same test captions, {int(found['spans']):,} such areas were counted."
    )
