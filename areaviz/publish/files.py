"""What a trace can be written as, by the ending of the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from areaviz.drawing.base import View
from areaviz.drawing.export import FORMATS, figure_bytes, table_csv, table_json
from areaviz.drawing.sites import sites
from areaviz.publish.options import PageOptions
from areaviz.publish.page import page
from areaviz.trace.check import check_focus
from areaviz.trace.errors import InputError
from areaviz.trace.limits import shown
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views import VIEWS

Write = Callable[[Trace, Focus | None, PageOptions | None, str | None], bytes]
"""Makes a file of a trace, a focus, a page's options and a view's name."""

USUAL = "alignment"
"""The view that is drawn where none is named and it fits."""


def view_of(trace: Trace, focus: Focus, name: str | None) -> View:
    """The view of this name, or the first that fits; raises InputError where there is none or it
    does not fit.
    """
    fitting = [view.name for view in VIEWS.values() if view.fits(trace, focus)]
    if name is not None and name not in VIEWS:
        raise InputError(f'There is no view "{shown(name)}"; choose one of {", ".join(VIEWS)}.')
    if not fitting:
        raise InputError(
            f'No view fits the site "{focus.site}" of this trace; choose another site.'
        )
    if name is None:
        name = USUAL if USUAL in fitting else fitting[0]
    if name not in fitting:
        raise InputError(
            f'The view "{name}" does not fit the site "{focus.site}" of this trace; choose one of'
            f" {', '.join(fitting)}."
        )
    return VIEWS[name]


def focus_of(trace: Trace, focus: Focus | None) -> Focus:
    """The focus if it points into the trace, else its first site; raises InputError where there is
    nothing to see.
    """
    if not sites(trace):
        raise InputError(
            "This model attends to nothing, so there is no figure of it; export a page (.html)"
            " instead."
        )
    if focus is None:
        return Focus(sites(trace)[0])
    if focus.site not in trace.gazes:
        check_focus(trace, focus)
    return focus


def _figure(
    kind: str, trace: Trace, focus: Focus | None, _: PageOptions | None, view: str | None
) -> bytes:
    focus = focus_of(trace, focus)
    return figure_bytes(view_of(trace, focus, view).print(trace, focus), kind)


def _numbers(
    kind: str, trace: Trace, focus: Focus | None, _: PageOptions | None, view: str | None
) -> bytes:
    focus = focus_of(trace, focus)
    table = view_of(trace, focus, view).table(trace, focus)
    return (table_csv(table) if kind == "csv" else table_json(table)).encode()


def _film(trace: Trace, focus: Focus | None, _: PageOptions | None, view: str | None) -> bytes:
    focus = focus_of(trace, focus)
    films = {one.name: one.movie for one in VIEWS.values() if one.movie and one.fits(trace, focus)}
    make = films.get(view_of(trace, focus, view).name if view else next(iter(films), ""))
    if make is None:
        raise InputError(
            "This cannot be written as a film, as nothing of it moves; choose .html, .svg, .pdf or"
            " .png."
        )
    return make(trace, focus)


def _page(trace: Trace, focus: Focus | None, options: PageOptions | None, _: str | None) -> bytes:
    return page(trace, focus, options).encode("utf-8", "replace")


WRITERS: Mapping[str, Write] = {
    ".html": _page,
    **{f".{kind}": partial(_figure, kind) for kind in FORMATS},
    **{f".{kind}": partial(_numbers, kind) for kind in ("csv", "json")},
    ".gif": _film,
}
"""What makes a file, by its ending."""
