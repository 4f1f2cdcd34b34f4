"""The index of models: a filter by task, one row per model, and the chosen one in short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from areaviz.cards.card import Card, judge_targets
from areaviz.cards.tasks import TASKS
from areaviz.ui.app.frame import draw_page_link
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.models.comparison import draw_key_variants
from areaviz.ui.models.summary import (
    LOWER_IS_BETTER,
    MODEL_PARAM,
    compare_with_twin,
    describe_attention,
    describe_model,
    draw_target_dots,
    find_page_to_try,
    find_twin,
    format_main_value,
    format_parameters,
    format_training_time,
    get_main_measure,
    get_main_value,
    group_by_task,
    sort_best_first,
)

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
