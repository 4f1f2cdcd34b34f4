"""The state of the page Analyse: dataset, systems, and the selection among the examples.

The URL contains the dataset, the models with their options and the open example. An analysis is
therefore a link: a reload, Back, and returning from another page restore it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from areaviz.analysis.reader_files import is_set_id
from areaviz.app.options import ModelState
from areaviz.app.page import TOUR, Link, Page
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.trace.errors import MAX_POSITION, shorten

SAMPLES, UPLOAD, FOLDER = "Samples", "Upload", "Folder"
WORST_FIRST, BEST_FIRST, DATASET_ORDER = "worst", "best", "given"
# URL parameters, and the prefix of a folder's name.
SET_PARAM, EXAMPLE_PARAM, FOLDER_PREFIX, BLIND_PARAM, SHARE_PARAM = (
    "set",
    "example",
    "folder:",
    "blind",
    "share",
)
# The URL parameters that open the form for a new analysis, and a tab of the stored analysis.
NEW_PARAM, PART_PARAM = "new", "part"


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Examples that a click on a bucket or on words selects in the table.

    Args:
        title: their common property, for display.
        places: their indices in the dataset.
        chart: the clicked chart or table, and the position in it.
    """

    title: str
    places: tuple[int, ...]
    chart: tuple[str, int]


@dataclass(frozen=True)
class AnalyseState(ModelState):
    """The state of the page Analyse."""

    # Whether the page shows the form and the user's analysis, not the stored one it opens with.
    is_new: bool = False
    # The open tab of the stored analysis, None for none.
    part: str | None = None
    # The origin of the dataset, and the dataset itself: a sample, ...
    source: str = SAMPLES
    sample: str = next(iter(SAMPLE_SETS))
    # ... a folder of this machine, or an uploaded dataset, by its name in URLs.
    folder: str | None = None
    own: str = ""
    # Whether a link names the model, which is then kept for any dataset; and whether the link names
    # an uploaded dataset, which then replaces chosen files.
    has_linked_model: bool = False
    has_linked_set: bool = False
    # The digest of the present dataset, "" before there is one.
    digest: str = ""
    # Whether a model is shown next to outputs from a file; for several files, the systems with
    # shown outputs, and the systems that were offered.
    with_model: bool = False
    outputs: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    # The search text, the metric that orders the table, and the second metric of the plot.
    search: str = ""
    measure: str = ""
    against: str | None = None
    order: str = WORST_FIRST
    # The metadata column whose values have colours in the plot.
    colour: str | None = None
    # The metadata column that filters the table, and its selected values, () for all.
    filter_column: str | None = None
    filter_values: tuple[str, ...] = ()
    # The name of the selected slice; "" for all examples.
    slice: str = ""
    row_filter: RowFilter | None = None
    # How often selections of charts were cleared: it is part of a chart's key, so a new chart has
    # nothing selected.
    filter_clears: int = 0
    # The index of the open example in the dataset, and the first row of the table's page.
    example: int | None = None
    first_row: int = 0
    # The numbers of the systems that are compared: how the second one differs from the first.
    first: int = 0
    second: int = 1
    # The kind of buckets, the metric shown for them, and the number of words per n-gram.
    bucket: str = "length"
    bucket_shown: str = ""
    gram: int = 1
    # Whether only examples are listed in which both systems fail, and the system that is judged.
    both_fail: bool = False
    judged: str = ""
    # Whether raters see the systems without their names.
    is_blind: bool = False
    # The text with which the outputs of the open example are compared.
    base: str = ""
    # Identifies the content in which themes were searched, "" before the search.
    themes: str = ""
    # The theme whose cause is searched in a model's attention, "" for none.
    cause: str = ""
    # The analysis that was last added to the user's list.
    history_entry: str = ""
    # The token of the shared link by which the analysis is open, "" for the user's own.
    share: str = ""

    def from_link(self, link: Link) -> Self:
        """Return this state with the dataset, the models and the example of a link."""
        params = link.params
        state = replace(super().from_link(link), example=None, has_linked_model="model" in params)
        is_new = bool(params.keys() - {EXAMPLE_PARAM, PART_PARAM, TOUR})
        state = replace(
            state, is_blind=BLIND_PARAM in params, is_new=is_new, part=params.get(PART_PARAM)
        )
        share = params.get(SHARE_PARAM, "")
        if share != state.share:
            state = replace(state.for_new_set(), share=share)
        name = params.get(SET_PARAM)
        # For an unchanged dataset keep the search and so on: Back leads from example to example.
        if name is not None and name != state.set_name and not share:
            state = state.for_new_set().with_set(name)
        place = params.get(EXAMPLE_PARAM)
        if place is None or state.problem:
            return state
        if not (place.isascii() and place.isdigit() and 1 <= int(place[:9]) <= MAX_POSITION):
            sentence = (
                f'The link opens the example "{shorten(place)}", which is not a number. Remove it.'
            )
            return replace(state, problem=sentence)
        return replace(state, example=int(place) - 1)

    @property
    def set_name(self) -> str:
        """The name of the dataset in URLs; "" for none."""
        if self.source == UPLOAD:
            return self.own
        if self.source == FOLDER:
            return f"{FOLDER_PREFIX}{self.folder}" if self.folder else ""
        return self.sample

    def with_set(self, name: str) -> Self:
        """Return this state with the dataset that has this name in URLs."""
        if name in SAMPLE_SETS:
            return replace(self, source=SAMPLES, sample=name)
        if is_set_id(name):
            return replace(self, source=UPLOAD, own=name, has_linked_set=True)
        if name.startswith(FOLDER_PREFIX):
            return replace(self, source=FOLDER, folder=name.removeprefix(FOLDER_PREFIX))
        sentence = (
            f'The link asks for the set "{shorten(name)}", which is not here. Choose another.'
        )
        return replace(self, problem=sentence)

    def find_neighbours(self, places: Sequence[int]) -> tuple[int | None, int | None]:
        """Return the examples before and after the open one in a table, None for none."""
        if self.example not in places:
            return None, None
        at = places.index(self.example)
        before = places[at - 1] if at > 0 else None
        after = places[at + 1] if at + 1 < len(places) else None
        return before, after

    def without_share(self) -> Self:
        """Return this state without a shared link, with the user's own dataset and systems."""
        return replace(self.for_new_set(), share="", is_blind=False, address={})

    def for_new_set(self, digest: str = "") -> Self:
        """Return this state for new examples, without the selection among the former ones."""
        first = replace(self, digest=digest, example=None, first_row=0)
        return replace(
            first, row_filter=None, slice="", search="", filter_column=None, filter_values=()
        )


AnalysePage = Page[AnalyseState]


def filter_rows(page: AnalysePage, row_filter: RowFilter) -> None:
    """Filter the table to these examples, or remove the filter if it is already active."""
    if page.state.row_filter == row_filter:
        clear_filter(page)
    else:
        page.set(row_filter=row_filter, first_row=0)


def clear_filter(page: AnalysePage) -> None:
    """Show all examples again. Charts lose their selections."""
    page.set(row_filter=None, first_row=0, filter_clears=page.state.filter_clears + 1)
