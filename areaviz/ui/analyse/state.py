"""What the page Analyse holds: which set, which systems, and what is looked at among the examples.

The set, the models with their options and the opened example fit in the page's address, so an
analysis is a link: a reload, Back, and coming from another page restore it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from areaviz.analysis.reader_files import is_set_id
from areaviz.data.example_samples import SAMPLE_SETS
from areaviz.trace.limits import MAX_POSITION, shown
from areaviz.ui.forms.options import ModelState
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import Link

SAMPLES, UPLOAD, FOLDER = "Samples", "Upload", "Folder"
WORST, BEST, AS_GIVEN = "worst", "best", "given"
# Parameters of the address; before a folder's name stands "folder:".
SET, EXAMPLE, IN_FOLDER, BLIND, SHARE = "set", "example", "folder:", "blind", "share"


@dataclass(frozen=True, slots=True)
class Kept:
    """Examples that a click on a bucket or on words keeps in the table.

    Args:
        title: what they have in common, for people.
        places: theirs in the set.
        chart: which chart or table was clicked, and its place there.
    """

    title: str
    places: tuple[int, ...]
    chart: tuple[str, int]


@dataclass(frozen=True)
class AnalyseState(ModelState):
    """What Analyse holds."""

    # Where the set comes from, and which one it is: a sample, ...
    source: str = SAMPLES
    sample: str = next(iter(SAMPLE_SETS))
    # ... a folder of this machine, or a set of the reader's own, by what an address calls it.
    folder: str | None = None
    own: str = ""
    # Whether a link names the model, which then stays though the set may show something else; and
    # whether it names a set of the reader's own, before which chosen files go.
    has_linked_model: bool = False
    has_linked_set: bool = False
    # The digest of the set that is looked at, "" before there is one.
    digest: str = ""
    # Whether a model stands beside outputs from a file; of several files, whose outputs are shown
    # and which systems there were to choose from.
    with_model: bool = False
    outputs: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    # What the table is searched for, the measure that orders it, and the other one it is plotted
    # against.
    search: str = ""
    measure: str = ""
    against: str | None = None
    order: str = WORST
    # The column of metadata whose values have colours in the plot.
    colour: str | None = None
    # The column of metadata that filters the table, and its values that are kept, () for all.
    filter_column: str | None = None
    filter_values: tuple[str, ...] = ()
    # The name of the slice that is looked at; "" for all examples.
    slice: str = ""
    kept: Kept | None = None
    # How often what was kept was let go: a chart that is drawn anew has nothing marked.
    let_go: int = 0
    # The place in the set of the example that is open, and the first row of the table's page.
    example: int | None = None
    first_row: int = 0
    # What buckets are sorted by, what is shown of them, and how many words an n-gram has.
    bucket: str = "length"
    bucket_shown: str = ""
    gram: int = 1
    # Whether only examples are listed where both systems fail, and whose output is judged.
    both_fail: bool = False
    judged: str = ""
    # Whether raters see the systems without their names.
    is_blind: bool = False
    # What the outputs of the open example are compared with.
    base: str = ""
    # What identifies the content that themes were looked for in, "" before they are.
    themes: str = ""
    # The theme whose cause is looked for in a model's attention, "" for none.
    cause: str = ""
    # The analysis that the reader's list was told of last.
    noted: str = ""
    # The token of the shared link that the analysis is seen by, "" for the reader's own.
    share: str = ""

    def from_link(self, link: Link) -> Self:
        """With the set, the models and the example of a link."""
        params = link.params
        state = replace(super().from_link(link), example=None, has_linked_model="model" in params)
        state = replace(state, is_blind=BLIND in params)
        share = params.get(SHARE, "")
        if share != state.share:
            state = replace(state.of_another_set(), share=share)
        name = params.get(SET)
        # Of the same set a search, say, stays: Back leads from example to example.
        if name is not None and name != state.set_name and not share:
            state = state.of_another_set().with_set(name)
        place = params.get(EXAMPLE)
        if place is None or state.problem:
            return state
        if not (place.isascii() and place.isdigit() and 1 <= int(place[:9]) <= MAX_POSITION):
            sentence = f'The link opens the example "{shown(place)}", which is no number; remove it'
            return replace(state, problem=f"{sentence}.")
        return replace(state, example=int(place) - 1)

    @property
    def set_name(self) -> str:
        """What an address calls the set; "" for none."""
        if self.source == UPLOAD:
            return self.own
        if self.source == FOLDER:
            return f"{IN_FOLDER}{self.folder}" if self.folder else ""
        return self.sample

    def with_set(self, name: str) -> Self:
        """This state with the set that an address calls by a name."""
        if name in SAMPLE_SETS:
            return replace(self, source=SAMPLES, sample=name)
        if is_set_id(name):
            return replace(self, source=UPLOAD, own=name, has_linked_set=True)
        if name.startswith(IN_FOLDER):
            return replace(self, source=FOLDER, folder=name.removeprefix(IN_FOLDER))
        sentence = f'The link asks for the set "{shown(name)}", which is not here; choose another.'
        return replace(self, problem=sentence)

    def listing(self, places: Sequence[int]) -> tuple[int | None, int | None]:
        """The examples before and after the open one, in the order of a table that lists them."""
        if self.example not in places:
            return None, None
        at = places.index(self.example)
        before = places[at - 1] if at > 0 else None
        after = places[at + 1] if at + 1 < len(places) else None
        return before, after

    def leaving_share(self) -> Self:
        """This state without a shared link: the set and the systems are the reader's own again."""
        return replace(self.of_another_set(), share="", is_blind=False, address={})

    def of_another_set(self, digest: str = "") -> Self:
        """This state for other examples: what was looked at among the former ones is gone."""
        first = replace(self, digest=digest, example=None, first_row=0)
        return replace(first, kept=None, slice="", search="", filter_column=None, filter_values=())


AnalysePage = Page[AnalyseState]


def keep_rows(page: AnalysePage, kept: Kept) -> None:
    """Keep these examples alone in the table; all again where they were kept already."""
    if page.state.kept == kept:
        let_go(page)
    else:
        page.set(kept=kept, first_row=0)


def let_go(page: AnalysePage) -> None:
    """Keep all examples again; charts forget what was marked in them."""
    page.set(kept=None, first_row=0, let_go=page.state.let_go + 1)
