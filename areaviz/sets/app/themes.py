"""Themes and slices on the page, and the search for the cause of a theme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from areaviz.app.run import draw_progress, get_user_digest, get_visitor
from areaviz.app.texts import (
    defer_errors,
    draw_lazy_expander,
    escape_markdown,
    pluralise,
    shorten_line,
    show_deferred,
    show_errors,
)
from areaviz.backend.backend import Backend, Caller
from areaviz.draw.labels import escape_controls
from areaviz.samples.dataset import Dataset
from areaviz.sets.app.filter import format_run_mark
from areaviz.sets.app.state import (
    SECONDS_PER_HOUR,
    AnalysePage,
    RowFilter,
    StoredRows,
    Systems,
    can_write,
    compute_figures,
    filter_rows,
    open_note_store,
)
from areaviz.sets.notes.notes import Slice
from areaviz.sets.notes.store import LONGEST_SLICE
from areaviz.sets.roles import list_categories
from areaviz.sets.table import CIDER
from areaviz.sets.themes.causes import (
    Cause,
    Causes,
    Runner,
    find_cause,
    is_about_input,
    make_cause_key,
)
from areaviz.sets.themes.conditions import MIN_EXAMPLES, Material
from areaviz.sets.themes.themes import (
    METHOD,
    NO_THEMES,
    Theme,
    Themes,
    collect_material,
    describe_rare_conditions,
    find_themes_of_table,
    list_title,
    split_parts,
)
from areaviz.trace.request import Request

# Search for the cause of a theme in a model's attention, behind a button of the theme.


# Session key: causes found, by theme. Only the latest MAX_KEPT_CAUSES are kept.
CAUSES_KEY = "analyse_causes"
MAX_KEPT_CAUSES = 32


@dataclass(frozen=True, slots=True)
class CauseSearch:
    """Everything but the theme that a search for a cause needs.

    Attributes:
        backend: runs the models.
        systems: the systems. A system that is a model has a request.
        materials: one for all systems, or one for each.
        digest: the digest of the content in which the themes were found.
    """

    backend: Backend
    systems: Systems
    materials: Sequence[Material]
    digest: str

    def get_request(self, themes: Themes) -> Request | None:
        """Return the request of the worse system, None for outputs from a file."""
        return self.systems.analyses[themes.worse].request

    def get_material(self, themes: Themes) -> Material:
        """Return the examples in which a list of themes was found."""
        return self.materials[0] if themes.better is not None else self.materials[themes.worse]


def draw_cause_button(page: AnalysePage, search: CauseSearch, themes: Themes, theme: Theme) -> None:
    """Draw a button that searches for the cause of a theme, if its system is a model."""
    if can_search_cause(search, themes, theme):
        key = _make_cause_key(search, themes, theme)
        st.button(
            "Look into attention", key=f"cause {key}", on_click=page.set, kwargs={"cause": key}
        )


def can_search_cause(search: CauseSearch, themes: Themes, theme: Theme) -> bool:
    """Return whether the worse system can be run and the theme is about its input."""
    return is_about_input(theme) and search.get_request(themes) is not None


def list_known_causes(digest: str) -> Causes:
    """Return the causes found so far for the themes of the content with this digest."""
    known: dict[str, Cause] = st.session_state.get(CAUSES_KEY, {})
    found = {}
    for key, cause in known.items():
        if digest and key.startswith(f"{digest} "):
            found[key.removeprefix(f"{digest} ")] = cause.sentences
    return found


def draw_cause(page: AnalysePage, search: CauseSearch, themes: Themes, theme: Theme) -> None:
    """Draw the cause of a theme. Search for it first if the user has just asked for it."""
    key = _make_cause_key(search, themes, theme)
    known: dict[str, Cause] = st.session_state.setdefault(CAUSES_KEY, {})
    if key not in known and page.state.cause == key:
        # Forget the request now: hundreds of runs must not start again after an error.
        page.set(cause="")
        with show_errors("looking into attention"):
            known[key] = _search_cause(search, themes, theme)
            for oldest in list(known)[:-MAX_KEPT_CAUSES]:
                del known[oldest]
    if key in known:
        for sentence in known[key].sentences:
            st.caption(escape_markdown(sentence))


def _make_cause_key(search: CauseSearch, themes: Themes, theme: Theme) -> str:
    return f"{search.digest} {make_cause_key(themes, theme)}"


def _search_cause(search: CauseSearch, themes: Themes, theme: Theme) -> Cause:
    request, owner = search.get_request(themes), get_visitor()
    assert request is not None
    # Hundreds of runs let other users' requests go first.
    caller = Caller(owner, in_background=True)
    with draw_progress("Running examples of the theme") as report:
        runner = Runner(
            search.systems.dataset,
            request,
            lambda one: search.backend.trace(one, None, caller),
            lambda done, all_: report(done / all_, f"Run {done:,} of at most {all_:,}"),
        )
        return find_cause(theme, themes, search.get_material(themes), runner)


# Slices: examples with a name or a tag, with metrics of their own.


# Keys of widgets.
SLICE_NAME_KEY, SLICE_TABLE_KEY = "analyse_slice_name", "slices"
# Session keys: why a slice was not saved, and the number of rows of the table.
PROBLEM_KEY, ROW_COUNT_KEY = "analyse_slice_problem", "slice_rows"
# Largest number of saved slices and of tags, and the number of rows added per click.
MAX_LISTED_SLICES, ROWS_PER_CLICK = 100, 20
WHOLE_SET_TITLE, TAG_PREFIX = "All examples", "Tagged: "
# Titles of the metrics in the table. A slice may lack some of them.
METRIC_TITLES = {
    "corpus_bleu": "BLEU",
    "corpus_chrf": "chrF",
    CIDER: "CIDEr-D",
    "confidence": "Confidence",
    "coverage_deviation": "Coverage dev.",
    "pointing": "Points right",
    "area_size": "Area size",
}
Slices = Mapping[str, tuple[int, ...]]


def list_slices(digest: str) -> Slices:
    """Return the slices of a dataset: saved ones first, then one for each tag of notes.

    At most `MAX_LISTED_SLICES` slices of each kind are returned. The user's own slices come
    first, so that slices of other users cannot push them out.
    """
    reader, store = get_user_digest(), open_note_store()
    saved = store.slices.list_for(digest, reader, MAX_LISTED_SLICES)
    tags = store.notes.list_tags(digest, reader, MAX_LISTED_SLICES)
    tagged = store.notes.list_tagged(digest, sorted(tags))
    slices = {one.name: one.examples for one in saved}
    return slices | {f"{TAG_PREFIX}{tag}": places for tag, places in tagged.items()}


def list_value_slices(dataset: Dataset) -> Slices:
    """Return a slice for each value of each metadata column that groups examples.

    At most `MAX_LISTED_SLICES` are returned. A column in which all values differ has no groups.
    """
    found: dict[str, tuple[int, ...]] = {}
    for column, values in dataset.metadata.items():
        groups = list_categories(values)
        if 1 < len(groups) < len(values):
            for group in groups:
                places = tuple(place for place, value in enumerate(values) if value == group)
                found[f"{column}: {group}"] = places
    return dict(list(found.items())[:MAX_LISTED_SLICES])


def draw_slice_filter(page: AnalysePage, table: pd.DataFrame, slices: Slices) -> pd.DataFrame:
    """Draw the choice of a slice if there are any, and return the rows of the chosen one."""
    if not slices:
        return table
    titles = {"": WHOLE_SET_TITLE} | {name: escape_controls(name) for name in slices}
    name = page.choose(st.selectbox, "Slice", "slice", titles, width=260)
    return table[table.index.isin(slices[name])] if name else table


def list_metric_formats(table: pd.DataFrame) -> dict[str, Any]:
    """Return the formats of the metric columns for `st.dataframe`."""
    column = st.column_config.NumberColumn(format="%.3g")
    return {str(name): column for name in table.select_dtypes("float")}


def draw_slice_menu(digest: str, chosen: pd.DataFrame) -> None:
    """Draw a menu that saves the listed examples under a name, and removes slices."""
    show_deferred(PROBLEM_KEY)
    reader = get_user_digest()
    with st.popover("Save as a slice", key="slice_menu"):
        st.text_input("Name", key=SLICE_NAME_KEY, max_chars=LONGEST_SLICE)
        places = tuple(int(place) for place in chosen.index)
        listed = open_note_store().slices.list_for(digest, reader, MAX_LISTED_SLICES)
        own = {one.name: one for one in listed if one.is_changeable(reader)}
        st.button(
            f"Save {pluralise(len(places), 'example')}",
            on_click=_save_slice,
            args=(digest, places, own),
        )
        if own:
            gone = st.selectbox(
                "Remove one of yours",
                list(own),
                index=None,
                placeholder="Choose a slice",
                format_func=escape_controls,
            )
            st.button(
                "Remove the slice",
                disabled=gone is None,
                on_click=_remove_slice,
                args=(own.get(gone or ""),),
            )


def save_examples_as_slice(digest: str, name: str, places: tuple[int, ...]) -> None:
    """Save examples as a slice in a callback. The user's own slice of that name is replaced.

    The name is shortened if it is too long. An error is shown next to the menu of slices.
    """
    with defer_errors("saving the slice", PROBLEM_KEY):
        short, reader = shorten_line(name, LONGEST_SLICE), get_user_digest()
        listed = open_note_store().slices.list_for(digest, reader, MAX_LISTED_SLICES)
        own = {one.name: one.version for one in listed if one.is_changeable(reader)}
        changed = Slice(digest, short, places, own.get(short, 0))
        made = open_note_store().slices.save(changed, reader)
        st.toast(f"Saved {pluralise(len(made.examples), 'example')} as a slice.")


def _save_slice(digest: str, places: tuple[int, ...], own: Mapping[str, Slice]) -> None:
    """Save the examples as a new slice, or replace the user's slice of that name."""
    with defer_errors("saving the slice", PROBLEM_KEY):
        name = (st.session_state.get(SLICE_NAME_KEY) or "").strip()
        version = own[name].version if name in own else 0
        made = open_note_store().slices.save(
            Slice(digest, name, places, version), get_user_digest()
        )
        st.session_state[SLICE_NAME_KEY] = ""
        st.toast(f"Saved {pluralise(len(made.examples), 'example')}.")


def _remove_slice(gone: Slice | None) -> None:
    with defer_errors("removing the slice", PROBLEM_KEY):
        if gone is not None:
            open_note_store().slices.remove(gone, get_user_digest())


def draw_slice_table(runs: Sequence[StoredRows], slices: Slices) -> None:
    """Draw the slices with their metrics for each model, and their notes by tag."""
    if not slices:
        return
    # Compute the table only while the expander is open: each slice takes a fraction of a second.
    # The label is constant, because a new label would close the expander.
    opened = draw_lazy_expander("Slices", SLICE_TABLE_KEY)
    if not opened.open:
        return
    most = st.session_state.get(ROW_COUNT_KEY, ROWS_PER_CLICK)
    rows = [_build_slice_row(WHOLE_SET_TITLE, None, runs)]
    rows += [_build_slice_row(name, slices[name], runs) for name in list(slices)[:most]]
    # The whole dataset is in the first row and has every metric that a slice has.
    shown = pd.DataFrame(rows)
    with opened:
        st.caption(f"{pluralise(len(slices), 'slice')}, below all examples.")
        st.dataframe(shown, hide_index=True, column_config=list_metric_formats(shown))
        if len(slices) > most:
            st.button("Show more slices", on_click=_show_more_rows, args=(most + ROWS_PER_CLICK,))


def _show_more_rows(most: int) -> None:
    st.session_state[ROW_COUNT_KEY] = most


def _build_slice_row(
    name: str, places: tuple[int, ...] | None, runs: Sequence[StoredRows]
) -> Mapping[str, object]:
    """Return one row of the table. `places` is None for all examples."""
    dataset = runs[0].dataset
    count = len(dataset.examples if places is None else places)
    row: dict[str, object] = {"Slice": escape_controls(name), "Examples": count}
    found = [compute_figures(run, places) for run in runs]
    for key, title in METRIC_TITLES.items():
        for run, values in enumerate(found):
            if key in values:
                row[title + format_run_mark(run, len(runs))] = values[key]
    tags = open_note_store().notes.count_tags(dataset.digest, places)
    row["Notes"] = ", ".join(f"{escape_controls(tag)} {count}" for tag, count in tags.items())
    return row


# Themes on the page: kinds of examples in which a system is worse, with their rows.


# Number of themes per list shown at once. The rest are in an expander.
MAX_SHOWN_THEMES = 6
# Used in place of a digest: themes are wanted for any content.
ANY_CONTENT = "wanted"
# Characters of a theme's title shown above the table of examples.
MAX_TITLE_CHARACTERS = 80


def draw_themes(
    page: AnalysePage, backend: Backend, systems: Systems, table: pd.DataFrame
) -> tuple[Themes, ...]:
    """Draw the section Themes. Return the themes, () before the user has asked for them."""
    dataset, count = systems.dataset, len(systems)
    st.header("Themes", anchor=False)
    if len(table) < MIN_EXAMPLES:
        st.caption(f"Themes need at least {MIN_EXAMPLES} examples. This analysis has {len(table)}.")
        return ()
    materials = _build_materials(dataset, table, count) if page.state.themes else []
    digest = _digest_materials(materials)
    if digest and page.state.themes == ANY_CONTENT:
        page.set(themes=digest)
    if not digest or page.state.themes != digest:
        st.caption("Find the kinds of examples in which outputs are worse, with a proof for each.")
        st.button("Find themes", on_click=_build_cause_search, args=(page, dataset, table, count))
        return ()
    found: tuple[Themes, ...] = ()
    with show_errors("finding themes"):
        found = _find_themes(digest, dataset, table, count)
        st.caption(METHOD)
        search = CauseSearch(backend, systems, materials, digest)
        for number, themes in enumerate(found):
            _draw_theme_list(page, search, themes, number)
        rare = describe_rare_conditions(found)
        if rare:
            st.caption(escape_markdown(rare))
    return found


def _build_materials(dataset: Dataset, table: pd.DataFrame, systems: int) -> list[Material]:
    groups = [(0, 1)] if systems == 2 else [(system,) for system in range(systems)]
    return [collect_material(dataset, table, group) for group in groups]


def _digest_materials(materials: Sequence[Material]) -> str:
    """Return a digest of the content in which themes are searched."""
    return " ".join(one.digest for one in materials)


def _build_cause_search(
    page: AnalysePage, dataset: Dataset, table: pd.DataFrame, systems: int
) -> None:
    page.set(themes=_digest_materials(_build_materials(dataset, table, systems)))


@st.cache_data(show_spinner="Finding themes", max_entries=32, ttl=SECONDS_PER_HOUR)
def _find_themes(
    digest: str, _dataset: Dataset, _table: pd.DataFrame, systems: int
) -> tuple[Themes, ...]:
    """Return the themes of the content that the digest identifies."""
    return find_themes_of_table(_dataset, _table, systems)


def _draw_theme_list(page: AnalysePage, search: CauseSearch, themes: Themes, number: int) -> None:
    """Draw one list of themes. `number` identifies the list."""
    st.subheader(list_title(themes, len(search.systems)), anchor=False)
    if not themes.found:
        st.caption(NO_THEMES)
    for part in split_parts(themes):
        st.caption(f"**{part.title}**")
        # A theme keeps its number when another part is left out.
        numbered = [(themes.found.index(one), one) for one in part.themes]
        for place, theme in numbered[:MAX_SHOWN_THEMES]:
            _draw_theme(page, search, themes, theme, (f"themes {number}", place))
        if len(numbered) > MAX_SHOWN_THEMES:
            rest = numbered[MAX_SHOWN_THEMES:]
            key = f"themes_{number}_{part.title}"
            with st.expander(f"{len(rest)} more", key=key, type="compact"):
                for place, theme in rest:
                    _draw_theme(page, search, themes, theme, (f"themes {number}", place))


def _draw_theme(
    page: AnalysePage, search: CauseSearch, themes: Themes, theme: Theme, chart: tuple[str, int]
) -> None:
    """Draw a theme: its description, its certainty, and buttons for its rows."""
    st.markdown(escape_markdown(f"{theme.statement}."))
    st.caption(escape_markdown(" ".join(filter(None, (f"{theme.proof}.", theme.details)))))
    if not 0 < len(theme.places) < len(search.systems.dataset.examples):
        # A trend has no examples of its own, and all examples are already listed.
        return
    title = f"where {theme.title}"
    row_filter = RowFilter(shorten_line(title, MAX_TITLE_CHARACTERS), theme.places, chart)
    is_shown = page.state.row_filter == row_filter
    with st.container(horizontal=True, gap="small"):
        label = "Show all again" if is_shown else f"Show {len(theme.places):,}"
        key = f"{chart[0]} {chart[1]}"
        st.button(label, key=f"show {key}", on_click=filter_rows, args=(page, row_filter))
        if can_write():
            st.button(
                "Save as a slice",
                key=f"save {key}",
                on_click=save_examples_as_slice,
                args=(search.systems.dataset.digest, title, theme.places),
            )
        draw_cause_button(page, search, themes, theme)
    if can_search_cause(search, themes, theme):
        draw_cause(page, search, themes, theme)
