"""Writing a trace to a file in the format of the file extension."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from areaviz.draw.select import list_sites
from areaviz.draw.view import EXPORT_FORMATS, Paper, encode_csv, encode_figure, format_json
from areaviz.publish.figures import find_view
from areaviz.publish.options import PageOptions, Theme
from areaviz.publish.page import make_page
from areaviz.show.views import VIEWS
from areaviz.trace.document import check_focus
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace, check_trace, expand_path
from areaviz.trace.request import Focus
from areaviz.trace.safe_files import write_whole

Writer = Callable[[Trace, Focus, str | None, Paper], bytes]
"""Function that returns the content of a file.

Its arguments are a trace, a selection, the name of a view or None, and a paper size.
"""


def export(
    trace: Trace,
    path: Path | str,
    focus: Focus | None = None,
    options: PageOptions | None = None,
    view: str | None = None,
    paper: Paper | None = None,
    theme: Theme | None = None,
) -> Path:
    """Write a trace to a file in the format of its extension, and return the path.

    .html is an interactive page in one file, which opens without areaviz. .svg, .pdf and .png
    contain the figure of a view, .csv and .json its numbers, and .gif an animated view. If writing
    fails, an existing file is not changed.

    Args:
        trace: the trace.
        path: the file to write.
        focus: the selection that a page first shows, or that a figure shows.
        options: options of a page.
        view: a name in `areaviz.show.views.VIEWS`, "ribbon" or "grid". None uses the first that applies.
        paper: the width and the font size of a figure.
        theme: the theme of a page, "light", "dark" or "auto". None uses that of the options.

    Raises:
        InputError: the extension or the view is unknown, the view does not apply, the page would
            exceed its size limit, or a size of the paper is out of range.
        BackendError: the file cannot be written.
    """
    check_trace(trace)
    path = expand_path(path)
    ending = path.suffix.lower()
    if ending == ".html":
        if theme is not None:
            options = replace(options or PageOptions(), theme=theme)
        content = make_page(trace, focus, options).encode("utf-8", "replace")
    elif ending in WRITERS:
        content = WRITERS[ending](
            trace, _choose_focus(trace, focus), view, (paper or Paper()).checked()
        )
    else:
        raise InputError(
            f'The file extension "{path.suffix or path.name}" is not supported. Use one of'
            f" {', '.join(ENDINGS)}."
        )
    # An existing file is not changed if writing fails.
    write_whole(path, content)
    return path


def _choose_focus(trace: Trace, focus: Focus | None) -> Focus:
    """Return the selection if it is valid for the trace, or select the first attention type.

    Raises:
        InputError: the trace has nothing to show, or the selection is not valid for it.
    """
    if not list_sites(trace):
        raise InputError("This model has no attention to draw. Export a page (.html) instead.")
    if focus is None:
        return Focus(list_sites(trace)[0])
    if focus.site not in trace.gazes:
        check_focus(trace, focus)
    return focus


def _export_figure(kind: str, trace: Trace, focus: Focus, view: str | None, paper: Paper) -> bytes:
    return encode_figure(find_view(trace, focus, view).print(trace, focus), kind, paper)


def _export_csv(trace: Trace, focus: Focus, view: str | None, _: Paper) -> bytes:
    return encode_csv(find_view(trace, focus, view).table(trace, focus))


def _export_json(trace: Trace, focus: Focus, view: str | None, _: Paper) -> bytes:
    return format_json(find_view(trace, focus, view).table(trace, focus)).encode()


def _export_film(trace: Trace, focus: Focus, view: str | None, _: Paper) -> bytes:
    if view is None:
        fitting = [one for one in VIEWS.values() if one.movie and one.fits(trace, focus)]
        make = fitting[0].movie if fitting else None
    else:
        make = find_view(trace, focus, view).movie
    if make is None:
        raise InputError("This view is not animated. Use .html, .svg, .pdf or .png.")
    return make(trace, focus)


WRITERS: Mapping[str, Writer] = {
    **{f".{kind}": partial(_export_figure, kind) for kind in EXPORT_FORMATS},
    ".csv": _export_csv,
    ".json": _export_json,
    ".gif": _export_film,
}
"""Functions that write the figure, the numbers or the animation of a view, by extension."""
ENDINGS = (".html", *WRITERS)
"""All extensions to which a trace can be written."""
