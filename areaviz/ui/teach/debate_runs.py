"""Three runs for the debate: unchanged, with an area banned, and with a word hidden.

Both runs are computed with the model of the sentence. No result is written down here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from areaviz.backend.backend import Backend
from areaviz.show.message import SITE
from areaviz.trace.areas import Area
from areaviz.trace.changes import Hide, Weigh
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.tour.step_texts import get_span_text, list_top_areas

DEBATED_TEXT = "A young woman in a blue dress is reading a book."
HIDDEN_WORD, DEBATED_LAYER = "young", 0
"""The word to hide, and the layer whose heads are compared."""


@dataclass(frozen=True, slots=True, eq=False)
class DebateRuns:
    """A translation as it is, with an area banned, and with a word hidden.

    Args:
        plain: the trace without a change.
        item: the output item whose area is banned, counted from 0.
        area: the area that most heads of the layer take for it.
        takers: the number of these heads.
        banned: the trace with the area banned at every layer and head of the site.
        hidden: the trace with the word hidden.
    """

    plain: Trace
    item: int
    area: Area
    takers: int
    banned: Trace
    hidden: Trace

    @property
    def word(self) -> str:
        """The output word whose area is banned."""
        return self.plain.fields[self.plain.output.field].labels[self.item].strip()

    @property
    def span(self) -> str:
        """The words of the banned area."""
        return get_span_text(self.plain.fields[self.plain.maps[SITE].memory], self.area)


def run_debate(backend: Backend, model: str) -> DebateRuns:
    """Run the three translations with a translator that attends to areas.

    Raises:
        InputError: the model cannot be changed in this way.
        BackendError: the model is missing.
    """
    request = Request(model, DEBATED_TEXT)
    plain = backend.trace(request)
    attention = plain.maps[SITE]
    memory = plain.fields[attention.memory]
    hidden_item = [label.strip() for label in memory.labels].index(HIDDEN_WORD)
    item, area, takers = _find_most_agreed_item(plain, hidden_item)
    ban = Weigh(SITE, areas=(area,))
    hide = Hide(attention.memory, (hidden_item,))
    banned = backend.trace(replace(request, changes=(ban,)))
    hidden = backend.trace(replace(request, changes=(hide,)))
    return DebateRuns(plain, item, area, takers, banned, hidden)


def get_output_text(trace: Trace) -> str:
    """Return the text that a trace's model wrote."""
    return trace.fields[trace.output.field].raw


def _find_most_agreed_item(trace: Trace, inside: int) -> tuple[int, Area, int]:
    """Return the item for which most heads take one area of several words with `inside` in it."""
    attention = trace.maps[SITE]
    found: Counter[tuple[int, Area]] = Counter()
    for item in range(len(trace.fields[attention.query])):
        for top in list_top_areas(attention, DEBATED_LAYER, item):
            area = top.area
            if area.width > 1 and area.left <= inside < area.left + area.width:
                found[item, area] += 1
    (item, area), takers = found.most_common(1)[0]
    return item, area, takers
