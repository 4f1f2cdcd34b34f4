"""The page Models: texts about models, charts, the page of a model, and the index."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from areaviz.app.card_tables import (
    WHAT_IS_COUNTED,
    WHAT_IT_MEANS,
    WHAT_NAMES_MEAN,
    Attention,
    build_all_metrics_table,
    build_attention_table,
    build_columns,
    build_metric_table,
    build_quality_table,
    build_size_table,
    build_target_table,
    draw_heads,
    draw_links,
    draw_table,
    format_measure_name,
    format_metric,
    has_links,
    list_site_names,
)
from areaviz.app.chart import (
    build_table_columns,
    draw_data_table,
    draw_titled_figure,
    explain_attention_doubt,
)
from areaviz.app.four_ways import PICTURE_KINDS
from areaviz.app.frame import draw_page_link
from areaviz.app.key_forms import FORM_TABLES, describe_baselines, list_missing_runs, read_forms
from areaviz.app.texts import draw_text_table, escape_markdown
from areaviz.cards.card import Card, TargetResult, judge_targets
from areaviz.cards.tasks import LOOK_MEASURES, TASKS, LookMeasures
from areaviz.draw.charts import (
    has_pairs,
    history_figure,
    history_table,
    length_figure,
    length_table,
    pairs_figure,
    pairs_table,
    with_and_without,
)
from areaviz.draw.labels import number_text
from areaviz.samples.paths import CHECKPOINTS

# Texts about a model for the index and the card page: one line, its main result and its twin.


MODEL_PARAM = "model"
"""The URL parameter that names a model."""
TASK_PAGES = {
    "translation": "translate",
    "caption": "caption",
    "picture translation": "translate_picture",
    "reading": "read",
    "digits": "four_ways",
    "speech": "listen",
    "video": "watch",
    "points": "reason",
    "parsing": "reason",
    "questions": "reason",
}
"""The page that runs the models of a task."""
LOWER_IS_BETTER = frozenset({"error", "perplexity"})
"""Metrics by which the best model has the lowest value."""
NO_TARGETS = "none set"
_HOURS = re.compile(r"([0-9.]+) hours")


def group_by_task(cards: Iterable[Card]) -> Mapping[str, list[Card]]:
    """Return the cards by task, in the order of `TASKS`, without tasks that have no card."""
    groups: dict[str, list[Card]] = {task: [] for task in TASKS}
    for card in cards:
        if card.task in groups:
            groups[card.task].append(card)
    return {task: group for task, group in groups.items() if group}


def get_main_measure(task: str) -> str:
    """Return the key of a task's first metric, "" if its models are not measured."""
    return next(iter(TASKS[task].measures), "")


def get_main_value(card: Card) -> float | None:
    """Return a model's value of its task's first metric, None if it was not measured."""
    value = card.figures.get(TASKS[card.task].headline, {}).get(get_main_measure(card.task))
    return None if value is None else float(value)


def format_main_value(card: Card) -> str:
    """Return a model's main result with the name of its metric."""
    value = get_main_value(card)
    if value is None:
        return "–"
    key = get_main_measure(card.task)
    return f"{TASKS[card.task].measures[key]} {format_metric(card.task, key, value)}"


def sort_best_first(cards: Iterable[Card]) -> list[Card]:
    """Return the cards of one task by their main result. Cards without a result come last."""

    def rank(card: Card) -> tuple[bool, float]:
        value = get_main_value(card)
        if value is None:
            return True, 0.0
        return False, value if get_main_measure(card.task) in LOWER_IS_BETTER else -value

    return sorted(cards, key=rank)


def describe_attention(card: Card) -> str:
    """Return the kind of a model's attention in words."""
    return {"area": "areas", "none": "no attention"}.get(card.mechanism, card.mechanism)


def format_parameters(card: Card) -> str:
    """Return the number of learned parameters, in millions from 100,000 on."""
    if card.parameters < 100_000:
        return f"{card.parameters:,}"
    return f"{card.parameters / 1e6:.1f} million"


def format_training_time(card: Card) -> str:
    """Return the training time, "–" if the card does not say."""
    found = _HOURS.search(card.trained_on)
    return f"{found[1]} hours" if found else "–"


def get_start_run(card: Card) -> str:
    """Return the run from whose weights the training started, or "" for initial weights."""
    return str(card.recipe.get("start_run", ""))


def count_targets(targets: Sequence[TargetResult]) -> str:
    """Return how many targets were reached, such as "6 of 8"."""
    if not targets:
        return NO_TARGETS
    return f"{sum(target.reached is True for target in targets)} of {len(targets)}"


def draw_target_dots(targets: Sequence[TargetResult]) -> str:
    """Return a filled dot per target that was reached, a ring per other target, and the counts."""
    if not targets:
        return NO_TARGETS
    dots = "".join("●" for target in targets if target.reached)
    return f"{dots.ljust(len(targets), '○')} {count_targets(targets)}"


def describe_model(card: Card) -> str:
    """Describe a model in one sentence, and its training in another."""
    size = f", size {card.size}" if card.size else ""
    reads = "reads digits" if card.level == "digit" else f"{card.level} level"
    attention = "no" if card.mechanism == "none" else card.mechanism
    trained, reach = "", ""
    if TASKS[card.task].follows_words:
        reach = f", on texts of up to {card.trained_length:,} items"
    if card.trained_on:
        trained = f" Trained on {card.trained_on}{reach}, with code version {card.code_version}."
    start = get_start_run(card)
    if start:
        trained += f" The time does not include that of {start}, from whose weights it started."
    return (
        f"{card.name}: {reads}, {attention} attention{size}, {card.parameters:,} parameters."
        f"{trained}"
    )


def find_twin(card: Card, cards: Iterable[Card]) -> Card | None:
    """Return the model that differs from `card` only in its attention, None if there is none."""
    if not card.pair:
        return None
    for other in cards:
        is_pair = (other.task, other.pair) == (card.task, card.pair)
        if is_pair and other.mechanism != card.mechanism:
            return other
    return None


def compare_with_twin(card: Card, twin: Card) -> str:
    """Compare the main results of a model and its twin in one sentence."""
    ours, theirs = get_main_value(card), get_main_value(twin)
    if ours is None or theirs is None:
        return f"Its twin “{twin.title}” differs only in its attention."
    key = get_main_measure(card.task)
    is_share = key in TASKS[card.task].percent
    change = number_text((ours - theirs) * (100 if is_share else 1), "+.2f")
    unit = "points of " if is_share else ""
    return (
        f"{change} {unit}{TASKS[card.task].measures[key]} compared with its twin “{twin.title}”,"
        " one run each."
    )


def find_page_to_try(card: Card) -> tuple[str, Mapping[str, str]] | None:
    """Return the path and the URL parameters of the page that runs a model, None if none does."""
    if card.task not in TASK_PAGES:
        return None
    asked = {MODEL_PARAM: card.name}
    if card.task == "digits":
        pictures = PICTURE_KINDS.get(str(card.config.get("kind")))
        if pictures is None or card.mechanism == "none":
            return None
        # This page runs all models for the picture, so select this model among them.
        asked = {"picture": pictures.first, "reading": card.name}
    return f"pages/{TASK_PAGES[card.task]}.py", asked


# Charts that compare models: quality by length, pairs of digits, and variants of keys.


KEY_VARIANTS = "Comparison of key variants"


def has_lengths(card: Card, cards: Sequence[Card]) -> bool:
    """Return whether the models compared by sentence length include this model."""
    return card in with_and_without(card.task, cards)


def draw_quality_by_length(task: str, cards: Sequence[Card]) -> None:
    """Draw quality by sentence length, with and without attention."""
    compared = with_and_without(task, cards)
    figure = length_figure(task, compared)
    draw_titled_figure(figure, f"lengths_{task}", figure.layout.meta["title"])
    draw_data_table(length_table(task, compared))


def is_paired(card: Card, cards: Sequence[Card]) -> bool:
    """Return whether a model is part of the survey's table of pairs of digits."""
    return has_pairs([card]) and has_pairs(cards)


def draw_pairs_of_digits(task: str, cards: Sequence[Card]) -> None:
    """Draw the survey's Table 1 with our digit classifiers added."""
    figure = pairs_figure(cards)
    draw_titled_figure(figure, f"pairs_{task}", figure.layout.meta["title"])
    draw_data_table(pairs_table(cards))


def draw_key_variants() -> None:
    """Draw what different keys learn, by seed, in an expander, if it was measured."""
    tables = [(table, read_forms(table)) for table in FORM_TABLES.values()]
    tables = [(table, rows) for table, rows in tables if any(row.seeds for row in rows)]
    if not tables:
        return
    expander = st.expander(KEY_VARIANTS, key="key_variants", type="compact", on_change="rerun")
    if not expander.open:
        return
    with expander:
        for table, rows in tables:
            st.caption(table.about)
            draw_text_table(build_columns(table.columns, [row.cells(table) for row in rows]))
            st.caption(f"{list_missing_runs(table, rows)} {describe_baselines(table, CHECKPOINTS)}")


# The tabs of a model's page: heads, attention, test sets, comparisons, recipe and all metrics.


Tab = tuple[str, Callable[[], None]]
HEADS_TAB, WORDS_TAB, TEST_SETS_TAB = "Heads", "Do areas match words?", "Test sets"
LENGTHS_TAB, PAIRS_TAB, RECIPE_TAB, METRICS_TAB = (
    "By length",
    "Pairs of digits",
    "Data and recipe",
    "All metrics",
)


def list_card_tabs(card: Card, cards: Mapping[str, Card]) -> Iterator[Tab]:
    """Yield the names of the tabs that have content, and the functions that draw it."""
    of_task = [other for other in cards.values() if other.task == card.task]
    if card.heads:
        yield HEADS_TAB, partial(_draw_heads, card)
    looks = LOOK_MEASURES.get(card.task)
    if TASKS[card.task].follows_words:
        if has_links(card) or _has_key(card.attention, "area_size"):
            yield WORDS_TAB, partial(_draw_word_match, card)
    elif looks is not None and _has_key(card.attention, tuple(looks.shares)):
        yield looks.question, partial(_draw_attention_quality, card, looks)
    if card.figures:
        yield TEST_SETS_TAB, partial(_draw_test_sets, card)
    if has_lengths(card, of_task):
        yield LENGTHS_TAB, partial(draw_quality_by_length, card.task, of_task)
    if is_paired(card, of_task):
        yield PAIRS_TAB, partial(draw_pairs_of_digits, card.task, of_task)
    yield RECIPE_TAB, partial(_draw_recipe, card)
    if card.attention or card.history:
        yield METRICS_TAB, partial(_draw_all_metrics, card)


def _draw_heads(card: Card) -> None:
    """Draw the statistics of every head, one table per site."""
    names = list_site_names(card)
    st.caption(WHAT_NAMES_MEAN)
    for site in card.heads:
        st.write(f"**{escape_markdown(names.get(site, site))}**")
        draw_heads(card, site, f"{card.name}_{site}")


def _draw_word_match(card: Card) -> None:
    """Draw how well areas match words, compared with chance, and alignment errors."""
    draw_links(card)
    attention, names = card.attention, list_site_names(card)
    if not _has_key(attention, "area_size"):
        return
    for counted, words in WHAT_IS_COUNTED.items():
        if _has_key(attention, f"{counted}purity"):
            st.caption(words)
            draw_table(build_attention_table(attention, counted, names))
    st.caption(WHAT_IT_MEANS)
    draw_table(build_size_table(attention, names))


def _draw_attention_quality(card: Card, looks: LookMeasures) -> None:
    """Draw how well attention finds the right places, compared with baselines."""
    draw_table(build_quality_table(card.attention, looks))
    if _has_key(card.attention, tuple(looks.beside)):
        st.caption(looks.meaning)


def _draw_test_sets(card: Card) -> None:
    """Draw the results on every dataset, with the signatures of the scores."""
    st.caption(escape_markdown(TASKS[card.task].about))
    draw_table(build_metric_table(card.task, card.figures))
    signatures = set()
    for values in card.figures.values():
        signatures |= {str(values[name]) for name in values if "signature" in name}
    if signatures:
        st.caption(escape_markdown("Signatures: " + ", ".join(sorted(signatures))))


def _draw_recipe(card: Card) -> None:
    """Draw the data, the recipe, the configuration, the code version and the licence."""
    st.caption(escape_markdown(describe_model(card)))
    parts = {"Data": card.data, "Recipe": card.recipe, "Configuration": card.config}
    for title, content in parts.items():
        st.caption(title)
        names = [format_measure_name(name) for name in content]
        draw_table({"Setting": names, "Value": [str(value) for value in content.values()]})
    st.caption(f"Licence: {escape_markdown(card.licence)}")


def _draw_all_metrics(card: Card) -> None:
    """Draw all metrics of attention, and the losses during training."""
    of_sites = {site: one for site, one in card.attention.items() if "queries" in one}
    others = {site: one for site, one in card.attention.items() if site not in of_sites}
    for attention in (of_sites, others):
        if attention:
            draw_table(build_all_metrics_table(attention, list_site_names(card)))
    if card.history:
        st.caption("Losses during training")
        st.dataframe(build_table_columns(history_table(card)), hide_index=True)


def _has_key(attention: Attention, ending: str | Sequence[str]) -> bool:
    """Return whether the key of some metric has this suffix, or one of these."""
    endings = ending if isinstance(ending, str) else tuple(ending)
    return any(key.endswith(endings) for values in attention.values() for key in values)


# The page of one model: its result, targets, training and limits, and the rest in tabs.


CHART_PX = 340


def draw_card_page(card: Card, cards: Mapping[str, Card]) -> None:
    """Draw the page of a model. `cards` has all models, because a model can be a baseline."""
    with st.container(horizontal=True, gap="medium"):
        draw_page_link("pages/models.py", "All models")
        tried = find_page_to_try(card)
        if tried is not None:
            draw_page_link(tried[0], "Try this model", tried[1])
    if doubt := explain_attention_doubt(card):
        st.warning(escape_markdown(doubt))
    targets = judge_targets(card, cards)
    _draw_metrics(card, targets, cards)
    _draw_targets_and_training(card, targets)
    with st.container(border=True, key="limits", gap="xsmall"):
        st.markdown(f"**Limits.** {escape_markdown(card.limits)}")
        for note in card.notes:
            st.caption(escape_markdown(note))
    tabs = dict(list_card_tabs(card, cards))
    if targets:
        tabs = {"Targets in full": partial(_draw_target_table, targets)} | tabs
    _draw_tabs(card, tabs)


def _draw_metrics(card: Card, targets: Sequence[TargetResult], cards: Mapping[str, Card]) -> None:
    """Draw the main result, the targets, the parameters and the training time."""
    places = st.columns(4)
    key = get_main_measure(card.task)
    title = TASKS[card.task].measures.get(key, "Result")
    twin, beside = find_twin(card, cards.values()), "held-out data"
    if twin is not None and get_main_value(twin) is not None:
        result = format_metric(card.task, key, get_main_value(twin))
        beside = f"twin with {_describe_attention(twin)}: {result}"
    _draw_metric(places[0], title, format_metric(card.task, key, get_main_value(card)), beside)
    _draw_metric(places[1], "Targets reached", count_targets(targets), "set in the training recipe")
    _draw_metric(places[2], "Parameters", format_parameters(card), f"exactly {card.parameters:,}")
    machine = card.trained_on.rsplit(",", 1)[0] or "machine unknown"
    start = get_start_run(card)
    note = f"after {start}" if start else machine
    _draw_metric(places[3], "Training", format_training_time(card), note)


def _describe_attention(card: Card) -> str:
    return "no attention" if card.mechanism == "none" else f"{card.mechanism} attention"


def _draw_metric(place: DeltaGenerator, title: str, value: str, note: str) -> None:
    place.metric(title, value, note, delta_color="off", delta_arrow="off", border=True)


def _draw_targets_and_training(card: Card, targets: Sequence[TargetResult]) -> None:
    """Draw the targets next to the training curve. A model may lack either."""
    parts: list[Callable[[], None]] = []
    if targets:
        parts.append(partial(_draw_targets, targets))
    if card.history:
        parts.append(partial(_draw_training_curve, card))
    if not parts:
        return
    for part, place in zip(parts, st.columns(len(parts)), strict=True):
        with place.container(border=True, height="stretch", gap="xsmall"):
            part()


def _draw_targets(targets: Sequence[TargetResult]) -> None:
    """Draw one line per target: whether it was reached, its text, and the measured value."""
    st.header("Targets", anchor=False)
    lines = []
    for target in targets:
        dot = ":green[●]" if target.reached else "○"
        wanted = escape_markdown(f"{target.measured}, wanted {target.wanted}")
        lines.append(f"{dot} {escape_markdown(target.what)}: **{wanted}**")
    st.markdown("  \n".join(lines))


def _draw_training_curve(card: Card) -> None:
    st.plotly_chart(
        history_figure(card).update_layout(height=CHART_PX),
        key=f"history_{card.name}",
        config={"displayModeBar": False},
        alt=f"Loss of {card.title} over training steps, on training and validation data",
    )


def _draw_target_table(targets: Sequence[TargetResult]) -> None:
    """Draw the targets as a table, with the reason for each one that was missed."""
    draw_table(build_target_table(targets))
    for target in targets:
        if target.why:
            st.caption(escape_markdown(f"Target not reached: “{target.what}”. {target.why}"))


def _draw_tabs(card: Card, tabs: Mapping[str, Callable[[], None]]) -> None:
    """Draw the names of the tabs, and the content of the open tab. At first no tab is open."""
    opened = st.segmented_control(
        "More about this model", list(tabs), key=f"tab_{card.name}", label_visibility="collapsed"
    )
    if opened is not None:
        tabs[opened]()


# The index of models: a filter by task, one row per model, and the chosen one in short.


ALL_TASKS = "all"
ROW_PX, EDGES_PX = 38, 6
"""Height of a row, and of the edges of all rows together."""
_RESULT_PX = 110
"""Width of the column with the result. It is narrow, so that the targets next to it are in view."""
WHAT_DOTS_MEAN = (
    "A longer bar means a higher figure. A filled dot is a target that the"
    " model reached, a ring one that it missed. The full tables are in docs/results.md."
)
BOUNDARY_KEYS_NOTE = " With boundary keys, the key of an area says where it begins and ends."

Columns = dict[str, list[Any]]


def draw_models_index(cards: Mapping[str, Card]) -> None:
    """Draw the filter, the rows, and the chosen model with its links."""
    groups = group_by_task(cards.values())
    if not groups:
        return
    task = _choose_task(groups)
    config: Mapping[str, Any] = {}
    if task == ALL_TASKS:
        shown = [card for group in groups.values() for card in sort_best_first(group)]
        columns = _build_all_columns(shown, cards)
    else:
        shown = sort_best_first(groups[task])
        columns, config = _build_task_columns(task, shown, cards)
    chosen = shown[_choose_row(task, columns, config)]
    meaning = f"{TASKS[task].about}. ".replace("..", ".") if task != ALL_TASKS else ""
    keys = BOUNDARY_KEYS_NOTE if any("boundary keys" in card.title for card in shown) else ""
    st.caption(escape_markdown(meaning + WHAT_DOTS_MEAN + keys))
    _draw_short_card(chosen, cards)
    draw_key_variants()


def _choose_task(groups: Mapping[str, Sequence[Card]]) -> str:
    """Draw a button per task with its number of models. The first task is the default."""
    count = sum(map(len, groups.values()))
    labels = {ALL_TASKS: f"All {count}"}
    labels |= {task: f"{TASKS[task].title} {len(group)}" for task, group in groups.items()}
    chosen = st.pills(
        "Task",
        list(labels),
        default=next(iter(groups)),
        format_func=labels.__getitem__,
        required=True,
        key="models_task",
        label_visibility="collapsed",
    )
    return str(chosen)


def _choose_row(task: str, columns: Columns, config: Mapping[str, Any]) -> int:
    """Draw the rows, and return the chosen one, the first by default."""
    count = len(columns["Model"])
    event = st.dataframe(
        columns,
        hide_index=True,
        height=(count + 1) * ROW_PX + EDGES_PX,
        row_height=ROW_PX,
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": [0]}},
        column_config=dict(config),
        key=f"models_{task}",
        alt=f"{count} models",
    )
    rows = event.selection.rows
    return rows[0] if rows and rows[0] < count else 0


def _build_task_columns(
    task: str, shown: Sequence[Card], cards: Mapping[str, Card]
) -> tuple[Columns, Mapping[str, Any]]:
    """Return the columns for the models of one task, and how to draw their result."""
    columns = _build_common_columns(shown, cards)
    key = get_main_measure(task)
    values = [get_main_value(card) for card in shown]
    if not key or all(value is None for value in values):
        return columns, {}
    is_share = key in TASKS[task].percent
    scaled = [None if value is None else value * (100 if is_share else 1) for value in values]
    title = TASKS[task].measures[key]
    form = "%.2f %%" if is_share else f"%.{TASKS[task].decimals.get(key, 2)}f"
    config: Any = st.column_config.NumberColumn(title, format=form, width=_RESULT_PX)
    if key not in LOWER_IS_BETTER:
        most = max(value for value in scaled if value is not None)
        # Leave a tenth of the bar free, so that the best model does not look perfect.
        top = 100.0 if is_share else most * 1.1
        config = st.column_config.ProgressColumn(
            title, format=form, min_value=0.0, max_value=top or 1.0, width=_RESULT_PX
        )
    # The result comes after the model and its attention.
    names = list(columns)
    placed = {name: columns[name] for name in names[:2]} | {title: scaled}
    return placed | {name: columns[name] for name in names[2:]}, {title: config}


def _build_all_columns(shown: Sequence[Card], cards: Mapping[str, Card]) -> Columns:
    """Return the columns for the models of all tasks, whose results have different metrics."""
    columns = _build_common_columns(shown, cards)
    placed = {"Model": columns.pop("Model"), "Task": [TASKS[card.task].title for card in shown]}
    attention = {"Attention": columns.pop("Attention")}
    return placed | attention | {"Result": [format_main_value(card) for card in shown]} | columns


def _build_common_columns(shown: Sequence[Card], cards: Mapping[str, Card]) -> Columns:
    return {
        "Model": [card.title for card in shown],
        "Attention": [describe_attention(card) for card in shown],
        "Targets reached": [draw_target_dots(judge_targets(card, cards)) for card in shown],
        "Parameters": [format_parameters(card) for card in shown],
        "Training": [format_training_time(card) for card in shown],
    }


def _draw_short_card(card: Card, cards: Mapping[str, Card]) -> None:
    """Draw the chosen model in two lines, with links to its card and to its pages."""
    twin = find_twin(card, cards.values())
    with st.container(border=True, key="chosen_model"):
        st.header(escape_markdown(card.title), anchor=False)
        st.markdown(
            escape_markdown(compare_with_twin(card, twin) if twin else describe_model(card))
        )
        with st.container(horizontal=True, gap="medium"):
            draw_page_link("pages/model.py", "Open the model card", {MODEL_PARAM: card.name})
            tried = find_page_to_try(card)
            if tried is not None:
                draw_page_link(tried[0], "Try this model", tried[1])
                if twin and MODEL_PARAM in tried[1]:
                    both = {**tried[1], "compare": twin.name}
                    draw_page_link(tried[0], "Compare with its twin", both)
