"""The state of the page: access by a link, the selection, stored data, and the systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar

import pandas as pd
import streamlit as st

from areaviz.app.options import ModelState
from areaviz.app.page import TOUR, Link, Page
from areaviz.app.run import get_user_digest
from areaviz.cards.card import Card
from areaviz.draw.labels import escape_controls
from areaviz.samples.dataset import Dataset
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.sets.notes.notes import Annotations, Judgement, Judgements, Slices
from areaviz.sets.notes.store import LONGEST_NAME, Store
from areaviz.sets.retention import (
    Removed,
    get_notes_address,
    is_date_steady,
    make_private,
    remove_old,
)
from areaviz.sets.run import (
    DamagedHeader,
    Header,
    Row,
    RowFile,
    find_analyses_folder,
    find_rows_path,
    find_stored_analysis,
    hash_outputs,
    make_header,
    make_rows_from_outputs,
)
from areaviz.sets.table import build_table, summarise_table
from areaviz.sets.user_files import Mode, SharedLink, SharedLinks, is_set_id
from areaviz.shares import keep_days
from areaviz.trace.errors import MAX_POSITION, InputError, shorten
from areaviz.trace.request import Request

# Access by a shared link: whether a link opened the page, and what the link allows.
#
# Every run of the page and every change asks here, so withdrawing a link takes effect at once.


# Session key: the token of the shared link by which the page is open, "" for none.
TOKEN_KEY = "analyse_shared_token"
T = TypeVar("T")


def get_shared_links() -> SharedLinks:
    """Return the links of all users."""
    return SharedLinks(find_analyses_folder())


def set_link_token(token: str) -> None:
    """Record the shared link by which the page is open from now on, "" for none."""
    st.session_state[TOKEN_KEY] = token


def is_guest() -> bool:
    """Return whether the page is open by a shared link."""
    return bool(st.session_state.get(TOKEN_KEY))


def get_valid_link() -> SharedLink | None:
    """Return the shared link by which the page is open, None for none.

    Raises:
        InputError: the link was withdrawn.
    """
    token: str = st.session_state.get(TOKEN_KEY, "")
    return get_shared_links().open(token) if token else None


def can_write() -> bool:
    """Return whether the user may add notes, marks and slices.

    Raises:
        InputError: the link was withdrawn.
    """
    link = get_valid_link()
    return link is None or link.analysis.mode == Mode.NOTE


def check_writing() -> None:
    """Raise InputError if the user may not add notes, marks and slices."""
    if not can_write():
        raise InputError(
            "This analysis is shared read only, so nothing was saved. Ask its owner for a link that"
            " lets you add notes and marks."
        )


def guard_by_link(make: Callable[[], T]) -> Callable[[], T]:
    """Return a function for a download that fails once the link is withdrawn.

    Downloads are created when they are clicked, outside the session.
    """
    token: str = st.session_state.get(TOKEN_KEY, "")

    def make_checked() -> T:
        if token:
            get_shared_links().open(token)
        return make()

    return make_checked


def draw_download_button(
    label: str, make: Callable[[], bytes | str], name: str, mime: str, key: str, **options: Any
) -> None:
    """Draw the button of a download that fails once the shared link is withdrawn."""
    made = guard_by_link(make)
    st.download_button(label, made, name, mime, key=key, on_click="ignore", **options)


# The state of the page Analyse: dataset, systems, and the selection among the examples.
#
# The URL contains the dataset, the models with their options and the open example. An analysis is
# therefore a link: a reload, Back, and returning from another page restore it.


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


# Stored data of a dataset: the rows of its analyses, notes, judgements and slices.


# Seconds that results computed from rows are cached, and between deletions of old work.
SECONDS_PER_HOUR = 3600
# Largest number of damaged lines listed.
MAX_LISTED_LINES = 5


@dataclass(frozen=True, slots=True)
class Analysis:
    """A system's analysis of a dataset: a model with its options, or outputs from a file."""

    # The title of the model, or the name of the file of outputs.
    title: str
    # The request without text and picture, for every example; None for outputs from a file.
    request: Request | None = None
    # The file with a model's rows, and its header.
    path: Path | None = None
    header: Header | None = None
    # The outputs from a file: one per example, or None for a missing output.
    outputs: tuple[str | None, ...] = ()
    # Additional metrics by name, a value for each example (`areaviz/sets/table.py`).
    scores: Mapping[str, Sequence[float]] = field(default_factory=dict)
    # In blind rating, where the title is an alias: the name by which marks and notes refer to it.
    name: str = ""

    def read_rows(self, dataset: Dataset) -> StoredRows:
        """Return its present rows on its dataset; raises as `read_stored_rows`."""
        if self.path is not None:
            return read_stored_rows(self.path, dataset)
        mark = hash_outputs(self.outputs), len(self.outputs), 0
        return StoredRows(
            dataset, mark, _measure_outputs(mark[0], dataset.digest, dataset, self.outputs)
        )


def build_model_analysis(dataset: Dataset, request: Request, card: Card) -> Analysis:
    """Return the analysis of a dataset by a model with its options."""
    about = make_header(dataset, request, card, get_user_digest())
    path = find_rows_path(about)
    if not path.exists():
        # The rows with which the page opens are part of the app.
        path = find_stored_analysis(about) or path
    return Analysis(card.title, request, path, about)


def build_outputs_analysis(
    name: str, outputs: tuple[str | None, ...], scores: Mapping[str, Sequence[float]]
) -> Analysis:
    """Return the analysis of another system's outputs, with its scores from files."""
    return Analysis(escape_controls(name), outputs=outputs, scores=scores)


@dataclass(frozen=True, slots=True)
class StoredRows:
    """One system's rows on a dataset so far."""

    dataset: Dataset
    # Identifies the rows: their file, its size in bytes and its time.
    mark: tuple[str, int, int]
    rows: Mapping[int, Row] = field(default_factory=dict)
    # The id of the user who started it, "" for the command line.
    reader: str = ""
    # A sentence about unreadable parts, or "".
    damage: str = ""


def read_stored_rows(path: Path, dataset: Dataset) -> StoredRows:
    """Return the present rows in a file on a dataset. A missing file has none.

    Raises:
        InputError: a newer version of the app wrote the file.
        BackendError: the file cannot be read.
    """
    name, damage = str(path.absolute()), ""
    try:
        about = path.stat()
        mark = name, about.st_size, about.st_mtime_ns
        return StoredRows(dataset, mark, *_read_rows(*mark))
    except FileNotFoundError:
        pass
    except DamagedHeader:
        damage = (
            f"The first line of {path.name} is damaged, so its rows cannot be used. If you run"
            " this analysis, the file is kept under another name."
        )
    return StoredRows(dataset, (name, 0, 0), damage=damage)


@st.cache_resource(show_spinner="Measuring the outputs", max_entries=8, ttl=SECONDS_PER_HOUR)
def _measure_outputs(
    outputs: str, digest: str, _dataset: Dataset, _lines: Sequence[str | None]
) -> Mapping[int, Row]:
    """Return the rows of outputs, cached by the digests of the outputs and of the dataset."""
    return make_rows_from_outputs(_dataset, _lines)


def _make_rows_key(stored: StoredRows) -> tuple[object, ...]:
    """Return a key that identifies these rows on this dataset.

    The outputs may be uploaded for two datasets, and a dataset may be uploaded with other metadata.
    """
    return *stored.mark, stored.dataset.digest, stored.dataset.metadata_digest


@st.cache_resource(show_spinner=False, max_entries=8, ttl=SECONDS_PER_HOUR)
def _read_rows(path: str, size: int, modified: int) -> tuple[Mapping[int, Row], str, str]:
    """Return the rows, the user's id and the damage. Size and time identify a file's version."""
    file = RowFile.read(Path(path))
    return file.rows, file.header.reader, _describe_damage(file) if file.damaged else ""


def _describe_damage(file: RowFile) -> str:
    numbers = ", ".join(f"{number:,}" for number in file.damaged[:MAX_LISTED_LINES])
    if len(file.damaged) > MAX_LISTED_LINES:
        numbers += f" and {len(file.damaged) - MAX_LISTED_LINES:,} more"
    if len(file.damaged) == 1:
        lines, are, examples = "Line", "is", "its example is"
    else:
        lines, are, examples = "Lines", "are", "their examples are"
    return (
        f"{lines} {numbers} of {file.path.name} {are} damaged and left out. If you continue,"
        f" {examples} run again, and the damaged file is kept under another name."
    )


@st.cache_resource(
    show_spinner=False, max_entries=8, ttl=SECONDS_PER_HOUR, hash_funcs={StoredRows: _make_rows_key}
)
def build_examples_table(runs: tuple[StoredRows, ...]) -> pd.DataFrame:
    """Return `build_table` of these runs. The object is cached and shared, so never change it."""
    return build_table(runs[0].dataset, [run.rows for run in runs])


@st.cache_data(
    show_spinner=False,
    max_entries=512,
    ttl=SECONDS_PER_HOUR,
    hash_funcs={StoredRows: _make_rows_key, tuple: repr},
)
def compute_figures(run: StoredRows, places: tuple[int, ...] | None = None) -> Mapping[str, float]:
    """Return `summarise_table` of a run, or of its rows for some examples."""
    if places is None:
        return summarise_table(run.dataset, run.rows)
    chosen = {place: run.rows[place] for place in places if place in run.rows}
    return summarise_table(run.dataset, chosen)


@dataclass(frozen=True, slots=True)
class NoteStore:
    """A store with its tables; opened once for all sessions."""

    store: Store
    notes: Annotations
    slices: Slices
    judgements: Judgements


def open_note_store() -> NoteStore:
    """Return the store of notes. Raise BackendError if it cannot be opened.

    Users of a shared link get a store that refuses changes that the link does not allow.
    """
    opened = _open_store(get_notes_address())
    return _build_note_store(opened.store.checked(check_writing)) if is_guest() else opened


def list_judgements(dataset: str) -> Sequence[Judgement]:
    """Return all judgements of a dataset. The result is cached until a judgement changes."""
    mark = open_note_store().judgements.revision(dataset)
    return _read_judgements(get_notes_address(), dataset, mark)


@st.cache_resource(show_spinner=False, max_entries=4, ttl=SECONDS_PER_HOUR)
def _read_judgements(url: str, dataset: str, revision: tuple[object, ...]) -> Sequence[Judgement]:
    return tuple(_open_store(url).judgements.list_all(dataset))


def remove_old_work() -> None:
    """Remove items older than the operator's retention period, at most once per hour.

    Nothing is removed within a day after a jump of this machine's date.

    Raises:
        InputError: the setting is not a number of days.
        BackendError: the store cannot be opened or written to.
    """
    days = keep_days()
    if days is not None:
        _remove_old_items(days, get_notes_address(), str(find_analyses_folder()))


@st.cache_resource(show_spinner=False, max_entries=4, ttl=SECONDS_PER_HOUR)
def _remove_old_items(days: float, url: str, folder: str) -> Removed | None:
    if not is_date_steady(Path(folder), datetime.now(UTC)):
        return None
    return remove_old(_open_store(url).store, Path(folder), days)


@st.cache_resource(show_spinner="Opening the notes", max_entries=4)
def _open_store(url: str) -> NoteStore:
    make_private(find_analyses_folder())
    return _build_note_store(Store.open(url))


def _build_note_store(store: Store) -> NoteStore:
    return NoteStore(store, Annotations(store), Slices(store), Judgements(store))


# The systems that an analysis compares, models and outputs from files, with their rows.


@dataclass(frozen=True, slots=True)
class Systems:
    """The analyses of one dataset, and the rows of each."""

    dataset: Dataset
    analyses: tuple[Analysis, ...]
    runs: tuple[StoredRows, ...]

    @classmethod
    def read(cls, dataset: Dataset, analyses: Sequence[Analysis]) -> Self:
        """Read the present rows of analyses; raises as `read_stored_rows`."""
        return cls(dataset, tuple(analyses), tuple(one.read_rows(dataset) for one in analyses))

    def __len__(self) -> int:
        return len(self.analyses)

    @property
    def are_run(self) -> bool:
        """Whether every system has rows."""
        return all(run.rows for run in self.runs)

    @property
    def has_models(self) -> bool:
        """Whether some system is a model, whose attention the page shows."""
        return any(one.request for one in self.analyses)

    @property
    def titles(self) -> list[str]:
        """The titles, each with its number if there are several systems.

        An alias in blind rating already contains the number.
        """
        if len(self) == 1:
            return [self.analyses[0].title]
        found = []
        for number, one in enumerate(self.analyses, 1):
            found.append(one.title if one.name else f"({number}) {one.title}")
        return found

    @property
    def names(self) -> list[str]:
        """The names by which notes and marks refer to the systems."""
        names = []
        for one in self.analyses:
            name = one.request.model if one.request else one.name or one.title
            names.append(name[:LONGEST_NAME])
        return names

    @property
    def titles_by_name(self) -> dict[str, str]:
        """The plain titles by the names."""
        return dict(zip(self.names, [one.title for one in self.analyses], strict=True))

    @property
    def outputs(self) -> dict[str, dict[int, str]]:
        """The output of each system, by its name and the example's index, without failed runs."""
        found: dict[str, dict[int, str]] = {}
        for name, run in zip(self.names, self.runs, strict=True):
            found[name] = {place: row.output for place, row in run.rows.items() if not row.error}
        return found
