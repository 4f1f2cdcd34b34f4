"""A trace as an HTML page: in one file, or in the frame of a notebook's output.

The page has no external links, and its security policy allows only its own scripts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from areaviz.draw.labels import (
    Markup,
    escape_controls,
    make_data_block,
    make_document,
    make_raw_element,
    truncate,
)
from areaviz.draw.view import View
from areaviz.publish.content import (
    Payload,
    Place,
    choose_opening_focus,
    format_initial_focus,
    list_places,
    list_wanted_sites,
    make_first_payloads,
    make_opening_payloads,
    make_payloads,
)
from areaviz.publish.figures import (
    draw_named_views,
    draw_page_substitute,
    draw_still,
    draw_stills,
    find_why_view,
)
from areaviz.publish.options import PageOptions, Theme
from areaviz.publish.page_body import (
    Content,
    Home,
    collect_script_settings,
    render_page_body,
    render_payload,
)
from areaviz.publish.page_text import make_title
from areaviz.show.parts import read_parts, read_text
from areaviz.show.views import KINDS
from areaviz.texts.catalogue import ENGLISH
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

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
    shared = "\n".join(map(read_text, ("show/message.js", "page/panels.js", last)))
    return f"{make_mount_script(kinds, language)}\n{shared}"


def make_mount_script(kinds: Iterable[str], language: str = ENGLISH) -> str:
    """Return a script that defines `mounts`: the function of each component that draws it.

    Each component has its own scope, because different components use the same names.
    """
    own = ""
    for kind in kinds:
        own += f"{kind}: (() => {{\n{read_parts(kind, language).js}\nreturn mount;\n}})(),\n"
    return f"const mounts = {{\n{own}}};"
