"""A trace as an HTML page or another file, and a server that shows a page on this machine.

`export` comes first and chooses the format by the file extension. `make_page` builds the page.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from secrets import compare_digest, token_urlsafe
from typing import Any

from areaviz.draw.labels import (
    Markup,
    escape_controls,
    make_data_block,
    make_document,
    make_raw_element,
    truncate,
)
from areaviz.draw.select import list_sites
from areaviz.draw.view import EXPORT_FORMATS, Paper, View, encode_csv, encode_figure, format_json
from areaviz.page.body import (
    Content,
    Home,
    collect_script_settings,
    make_title,
    render_page_body,
    render_payload,
)
from areaviz.page.content import (
    PageOptions,
    Payload,
    Place,
    Theme,
    choose_opening_focus,
    draw_named_views,
    draw_page_substitute,
    draw_still,
    draw_stills,
    find_view,
    find_why_view,
    format_initial_focus,
    list_places,
    list_wanted_sites,
    make_first_payloads,
    make_opening_payloads,
    make_payloads,
)
from areaviz.texts.catalogue import ENGLISH
from areaviz.trace.document import check_focus
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace, check_trace, expand_path
from areaviz.trace.request import Focus
from areaviz.trace.safe_files import write_whole
from areaviz.views.parts import read_parts, read_text
from areaviz.views.views import KINDS, VIEWS

# Writing a trace to a file in the format of the file extension.


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
        view: a name in `areaviz.views.views.VIEWS`, "ribbon" or "grid". None uses the first that
            applies.
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


# Python code for users that draws a figure again from the downloaded trace.


MAX_LABEL_CHARACTERS = 20
"""Maximum number of characters of an item's label in a file name."""


def make_file_stem(name: str, trace: Trace, focus: Focus) -> str:
    """Return a figure's file name of model, layer, head, first selected item and view.

    An example is "char-tiny-area_L1_H2_dog_pyramid". Parts that are not selected are left out.
    """
    parts = [trace.request.model or "attention"]
    attention = trace.maps.get(focus.site)
    if attention is not None:
        parts.append(f"L{focus.layer + 1}")
        if focus.head is not None:
            parts.append(f"H{focus.head + 1}")
        field = trace.fields[attention.query if focus.side == "query" else attention.memory]
        if focus.items and focus.items[0] < len(field):
            parts.append(re.sub(r"\W+", "", field.labels[focus.items[0]])[:MAX_LABEL_CHARACTERS])
    return "_".join(part for part in (*parts, name) if part)


def write_python_lines(name: str, trace: Trace, focus: Focus, paper: Paper, trace_file: str) -> str:
    """Return the code that writes a view's figure as a PDF. It uses only public functions.

    Args:
        name: the name of the view.
        trace: the trace of the figure.
        focus: the selection.
        paper: the size of the figure.
        trace_file: the name of the trace's file.
    """
    figure = f"{make_file_stem(name, trace, focus)}.pdf"
    lines = [
        "import areaviz",
        "",
        f"trace = areaviz.load({trace_file!r})",
        f"focus = areaviz.Focus({_format_arguments(focus)})",
    ]
    size = ""
    if paper != Paper():
        lines.append(f"paper = areaviz.Paper(width={paper.width!r}, letters={paper.letters!r})")
        size = ", paper=paper"
    lines.append(f"areaviz.export(trace, {figure!r}, focus=focus, view={name!r}{size})")
    return "\n".join(lines)


def _format_arguments(focus: Focus) -> str:
    """Return the arguments that differ from their defaults, as keywords."""
    given = [f"site={focus.site!r}"]
    for field in fields(Focus):
        value = getattr(focus, field.name)
        if field.name != "site" and value != field.default:
            given.append(f"{field.name}={value!r}")
    return ", ".join(given)


# A trace as an HTML page: in one file, or in the frame of a notebook's output.
#
# The page has no external links, and its security policy allows only its own scripts.


_DARK_RULE, _SCHEME = "@media (prefers-color-scheme: dark)", "color-scheme: light dark"
MOST_GROWN = 6
"""Maximum factor by which the weights of a trace grow in a page.

For each 4-byte weight, a page has up to three pairs of an index and a weight, in base64.
"""


def make_page(
    trace: Trace,
    focus: Focus | None = None,
    options: PageOptions | None = None,
    also: Sequence[View] = (),
) -> str:
    """Return an HTML page in which every site, layer and head of a trace can be explored.

    Maps without a component are still figures. The page needs a browser of 2024 or later. If the
    policy of a website forbids scripts, the page shows a still image of the opening selection.

    Args:
        trace: the trace.
        focus: the opening selection. None selects a word of the first map.
        options: the content of the page.
        also: further views. Their figures of the opening selection are added below the maps.

    Raises:
        InputError: the page would exceed its size limit, or an option or the selection does not
            exist in the trace.
    """
    options = (options or PageOptions()).checked()
    found = list_places(trace, options)
    content = collect_page_content(trace, found, focus, options, also=also)
    # The size of the page without payloads shows how much room they have.
    taken = len(_render_document(content, []).encode("utf-8", "replace"))
    return _render_document(content, make_payloads(trace, found, options, taken))


def make_frame_page(trace: Trace, focus: Focus | None, options: PageOptions) -> str:
    """Return a page for a frame in a notebook's output. It reports its height to the notebook.

    The page contains one layer of each map, or the layers in the options. For other layers it shows
    the code to run.

    Raises:
        InputError: see `make_page`.
    """
    found = list_places(trace, options)
    content = collect_page_content(trace, found, focus, options, "frame")
    taken = len(_render_document(content, []).encode("utf-8", "replace"))
    return _render_document(content, make_frame_payloads(trace, found, focus, options, taken))


def make_frame_payloads(
    trace: Trace, found: Sequence[Place], focus: Focus | None, options: PageOptions, taken: int
) -> list[Payload]:
    """Return the payloads in a notebook's output: one layer of each map, or the chosen layers.

    Args:
        trace: the trace.
        found: the interactive maps.
        focus: the opening selection.
        options: the options of the page.
        taken: size of the output without payloads, in bytes.

    Raises:
        InputError: the output would exceed the size limit.
    """
    if options.layers:
        return make_payloads(trace, found, options, taken)
    opening = choose_opening_focus(trace, found, focus)
    return make_opening_payloads(trace, found, options, opening, taken)


def find_opening(trace: Trace, focus: Focus | None, options: PageOptions) -> Focus | None:
    """Return the opening selection, or None if no map is interactive.

    Raises:
        InputError: see `make_page`.
    """
    return choose_opening_focus(trace, list_places(trace, options), focus)


def collect_page_content(
    trace: Trace,
    found: Sequence[Place],
    focus: Focus | None,
    options: PageOptions,
    home: Home = "file",
    also: Sequence[View] = (),
    has_stills: bool = True,
) -> Content:
    """Return the content of a page.

    Args:
        trace: the trace.
        found: the interactive maps.
        focus: the opening selection.
        options: the options of the page.
        home: the place where the page is shown.
        also: further views. Their figures of the opening selection are added below the maps.
        has_stills: whether to draw figures of maps without a component, and of gazes.
    """
    shown: dict[str, list[Place]] = {}
    order = list(KINDS)
    for place in sorted(found, key=lambda place: order.index(place.kind)):
        shown.setdefault(place.kind, []).append(place)
    # Draw figures of gazes, too. They show more than the component, such as every scale of a
    # glimpse.
    interactive = {place.site for place in found} - trace.gazes.keys()
    rest = [site for site in list_wanted_sites(trace, options) if site not in interactive]
    where = choose_opening_focus(trace, found, focus)
    views = draw_named_views(trace, where, options.views)
    if where is not None:
        views += [draw_still(view, trace, where) for view in also or find_why_view(trace, where)]
    opening = format_initial_focus(trace, found, focus)
    is_whole = bool(options.layers) or all(len(place.layers) == 1 for place in found)
    instead = Markup()
    if home == "file" and where is not None:
        instead = draw_page_substitute(trace, where, options.limit)
    return Content(
        trace,
        options,
        shown,
        draw_stills(trace, rest) if has_stills else (),
        views,
        opening,
        home,
        home == "file" or is_whole,
        instead,
    )


def check_page(trace: Trace, options: PageOptions | None = None) -> None:
    """Check the estimated size of a page, based on the first layer of each map.

    A trace that is small in any case is accepted without an estimate.

    Raises:
        InputError: the page would exceed its size limit, or an option does not exist in the trace.
    """
    options = (options or PageOptions()).checked()
    if sum(one.weights.nbytes for one in trace.maps.values()) * MOST_GROWN > options.limit:
        make_first_payloads(trace, list_places(trace, options), options, 0)


def _render_document(content: Content, carried: Sequence[Payload]) -> str:
    """Return the HTML of a page. Payloads come last, so the text is visible while they load."""
    style = make_page_style(content.options.theme)
    script = make_page_script(content.shown, "page/page.js", content.options.language)
    styles = [style, *(read_parts(kind).css for kind in content.shown)]
    body = render_page_body(content)
    if content.has_script:
        body.append(make_data_block(collect_script_settings(content), id="panels"))
        body += [*map(render_payload, carried), make_raw_element("script", script, type="module")]
    language = content.options.language
    return make_document(_make_tab_title(content), styles, [script], body, language=language)


def make_page_style(theme: Theme) -> str:
    """Return the page's style sheet with a theme. "auto" follows the reader's system."""
    style = read_text("page/page.css")
    if theme == "auto":
        return style
    holds = "@media all" if theme == "dark" else "@media not all"
    return style.replace(_DARK_RULE, holds).replace(_SCHEME, f"color-scheme: {theme}")


def _make_tab_title(content: Content) -> str:
    title = make_title(content.trace, content.options)
    output = escape_controls(content.trace.fields[content.trace.output.field].raw)
    start = truncate(" ".join(output.split()), 60)
    return f"{title}: {start}" if start else title


def make_page_script(kinds: Iterable[str], last: str, language: str = ENGLISH) -> str:
    """Return the page's script: the components, the panels, and the file that starts them.

    Args:
        kinds: the components of the page.
        last: the file that starts the components, as a path in `areaviz`.
        language: the language of the components' texts.
    """
    shared = "\n".join(map(read_text, ("views/message.js", "page/panels.js", last)))
    return f"{make_mount_script(kinds, language)}\n{shared}"


def make_mount_script(kinds: Iterable[str], language: str = ENGLISH) -> str:
    """Return a script that defines `mounts`: the function of each component that draws it.

    Each component has its own scope, because different components use the same names.
    """
    own = ""
    for kind in kinds:
        own += f"{kind}: (() => {{\n{read_parts(kind, language).js}\nreturn mount;\n}})(),\n"
    return f"const mounts = {{\n{own}}};"


# A server that shows one page to browsers on this machine only, for `areaviz show`.


HOST = "127.0.0.1"
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}


class PageServer(ThreadingHTTPServer):
    """A server of one page at a loopback URL that cannot be guessed.

    `serve_forever` runs the server, and leaving its `with` block closes it. It answers a request
    for another path, or with another Host header, with 404. A website could otherwise read the page
    through a DNS name of its own that leads to this machine.

    Args:
        html: the page.
        port: the port, or 0 for a free one.

    Raises:
        InputError: the port is in use or not allowed.
    """

    daemon_threads = True

    def __init__(self, html: str, port: int = 0) -> None:
        self.content = html.encode("utf-8", "replace")
        self.path = f"/{token_urlsafe(16)}"
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            reason = f"cannot be used ({error.strerror or error})"
            if error.errno == errno.EADDRINUSE:
                reason = "is taken"
            raise InputError(
                f"The port {port} {reason}. Choose another port, or 0 for a free one."
            ) from error

    @property
    def url(self) -> str:
        """The URL of the page."""
        return f"http://{HOST}:{self.server_port}{self.path}"

    def found(self, host: str, path: str) -> bytes | None:
        """Return the page, or None if the path or Host header of a request is wrong."""
        own = (f"{HOST}:{self.server_port}", f"localhost:{self.server_port}")
        # Compare in constant time, so that the path cannot be guessed character by character.
        is_known = compare_digest(path.encode(), self.path.encode())
        return self.content if host in own and is_known else None


class _Handler(BaseHTTPRequestHandler):
    server: PageServer

    def do_GET(self) -> None:
        """Send the page, or 404."""
        content = self.server.found(self.headers.get("Host", ""), self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log, because it would contain the secret path."""
