"""Views of a trace as figures: the choice of a view by its name, and figures for pages."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from areaviz.draw.labels import Markup
from areaviz.draw.select import list_sites
from areaviz.draw.view import Download, Table, View, convert_to_inline_svg, encode_figure
from areaviz.show.grid.grid import GRID_TAKEAWAY as GRID
from areaviz.show.ribbon.ribbon import RIBBON_TAKEAWAY as RIBBON
from areaviz.show.views import KINDS, VIEWS, find_kind
from areaviz.show.why import find_first_question, make_weight_view
from areaviz.trace.derived import find_known_logits
from areaviz.trace.errors import InputError, shorten
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

POINTED = {one.name: one for one in (RIBBON, GRID)}
"""The ribbon and the image grid as figures, by their names. They can be chosen like views."""
DEFAULT_VIEW = "alignment"
"""The view to draw if no view is named and this view applies."""


@dataclass(frozen=True, slots=True)
class Still:
    """A still figure in a page.

    Args:
        title: the title of its view.
        question: the question that it answers.
        source: a data URL with an SVG image.
        how_to_read: an explanation of the figure, or "" if another text explains it.
    """

    title: str
    question: str
    source: str
    how_to_read: str = ""


def find_view(trace: Trace, focus: Focus, name: str | None) -> Download:
    """Return the view of a name, or by default the alignment or the first view that applies.

    Raises:
        InputError: the view does not exist or does not apply to the selection, or no view applies.
    """
    if name in POINTED and focus.site in trace.maps and KINDS[name].fits(trace, focus):
        return POINTED[name]
    fitting = [view.name for view in VIEWS.values() if view.fits(trace, focus)]
    if name is not None and name not in VIEWS:
        raise InputError(
            f'View "{shorten(name)}" does not exist. Choose one of {", ".join(VIEWS)}.'
        )
    if not fitting:
        raise InputError(
            f'No view fits the site "{focus.site}" of this trace. Choose another site.'
        )
    if name is None:
        name = DEFAULT_VIEW if DEFAULT_VIEW in fitting else fitting[0]
    if name not in fitting:
        raise InputError(
            f'The view "{name}" does not fit the site "{focus.site}" of this trace. Choose'
            f" one of {', '.join(fitting)}."
        )
    return VIEWS[name]


def choose_figure(trace: Trace, focus: Focus) -> Download:
    """Return the figure of the component that shows this site, or the first view that applies."""
    kind = KINDS.get(find_kind(trace, focus.site))
    return (kind and kind.takeaway) or find_view(trace, focus, None)


def draw_stills(trace: Trace, shown: Sequence[str]) -> list[Still]:
    """Draw every view that applies to an attention type, each once, in print quality."""
    found: dict[str, Still] = {}
    for site in shown:
        focus = Focus(site)
        for name, view in VIEWS.items():
            if name not in found and view.fits(trace, focus):
                found[name] = draw_still(view, trace, focus)
    return list(found.values())


def draw_named_views(trace: Trace, focus: Focus | None, names: Sequence[str]) -> list[Still]:
    """Draw the named views that apply to a selection, in print quality.

    Raises:
        InputError: a name is not a view.
    """
    for name in names:
        if name not in VIEWS:
            raise InputError(
                f'View "{shorten(name)}" does not exist. Choose one of {", ".join(VIEWS)}.'
            )
    if focus is None:
        return []
    return [
        draw_still(VIEWS[name], trace, focus) for name in names if VIEWS[name].fits(trace, focus)
    ]


def find_why_view(trace: Trace, focus: Focus | None) -> list[View]:
    """Return the view that explains the top area's weight, or [] if the trace has no logits."""
    if focus is None or focus.site not in trace.maps:
        return []
    logits = find_known_logits(trace, focus.site, focus.layer)
    question = find_first_question(trace, focus)
    return [] if logits is None or question is None else [make_weight_view(logits, question)]


def draw_opening_png(trace: Trace, focus: Focus | None) -> bytes:
    """Return a PNG of a page's opening selection, or b"" if the trace has no attention."""
    if focus is None:
        return b""
    return encode_figure(choose_figure(trace, focus).print(trace, focus), "png")


def list_opening_numbers(trace: Trace, focus: Focus | None) -> Table:
    """Return the table of the opening selection. It is empty if the trace has no attention."""
    if focus is None:
        return Table((), ())
    return choose_figure(trace, focus).table(trace, focus).filled()


def draw_page_substitute(trace: Trace, focus: Focus, limit: int) -> Markup:
    """Return an SVG of the page's opening selection, for browsers that forbid the page's script.

    The result is empty if the SVG has more than an eighth of `limit`, the page's limit in bytes.
    """
    figure = choose_figure(trace, focus).print(trace, focus)
    drawn = convert_to_inline_svg(figure, "What the page opens with")
    return drawn if len(drawn) <= limit / 8 else Markup()


def select_first_site(trace: Trace) -> Focus | None:
    """Return a selection of the first attention type, or None if the trace has no attention."""
    found = list_sites(trace)
    return Focus(found[0]) if found else None


def draw_still(view: View, trace: Trace, focus: Focus) -> Still:
    """Draw the figure of a view in print quality."""
    drawn = base64.b64encode(encode_figure(view.print(trace, focus), "svg")).decode()
    source = f"data:image/svg+xml;base64,{drawn}"
    return Still(view.title, view.question, source, view.how_to_read)
