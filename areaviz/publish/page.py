"""A trace as an HTML page: in one file, or in the frame of a notebook's output.

The page has no external links, and its security policy allows only its own scripts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from areaviz.components.parts import parts, text_of
from areaviz.drawing.base import View
from areaviz.drawing.labels import escape_controls, truncate
from areaviz.drawing.markup import Markup, data_block, document, raw
from areaviz.publish.content import (
    Payload,
    Place,
    choose_opening_focus,
    format_initial_focus,
    list_wanted_sites,
    make_first_payloads,
    make_opening_payloads,
    make_payloads,
    places,
)
from areaviz.publish.figures import (
    draw_named_views,
    draw_page_substitute,
    draw_still,
    draw_stills,
    find_why_view,
)
from areaviz.publish.kinds import KINDS
from areaviz.publish.options import PageOptions, Theme
from areaviz.publish.page_body import (
    Content,
    Home,
    collect_script_settings,
    render_page_body,
    render_payload,
)
from areaviz.publish.page_text import make_title
from areaviz.texts.catalogue import ENGLISH
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

_DARK_RULE, _SCHEME = "@media (prefers-color-scheme: dark)", "color-scheme: light dark"
MOST_GROWN = 6
"""Growth from a 4-byte weight to base64: up to three times an index and a share."""


def page(
    trace: Trace,
    focus: Focus | None = None,
    options: PageOptions | None = None,
    also: Sequence[View] = (),
) -> str:
    """Return an HTML page in which every site, layer and head of a trace can be explored.

    Maps without a component are still figures. The page needs a browser of 2024 or later. Where a
    host's policy forbids scripts, it shows a still image of the opening selection.

    Args:
        trace: the trace.
        focus: the selection with which it opens; None selects a word of the first map.
        options: the content of the page.
        also: further views whose figures are added below, for the selection.

    Raises:
        InputError: the page would exceed its size limit, or an option or the selection does not
            exist in the trace.
    """
    options = (options or PageOptions()).checked()
    found = places(trace, options)
    content = collect_page_content(trace, found, focus, options, also=also)
    # The size of the page without payloads shows how much room they have.
    taken = len(_render_document(content, []).encode("utf-8", "replace"))
    return _render_document(content, make_payloads(trace, found, options, taken))


def make_frame_page(trace: Trace, focus: Focus | None, options: PageOptions) -> str:
    """Return a page for the frame of a notebook's output; it reports its height to the notebook.

    It contains one layer of each map, or the layers in the options. For other layers it shows the
    code to run.

    Raises:
        InputError: as `page`.
    """
    found = places(trace, options)
    content = collect_page_content(trace, found, focus, options, "frame")
    taken = len(_render_document(content, []).encode("utf-8", "replace"))
    return _render_document(content, make_frame_payloads(trace, found, focus, options, taken))


def make_frame_payloads(
    trace: Trace, found: Sequence[Place], focus: Focus | None, options: PageOptions, taken: int
) -> list[Payload]:
    """Return the layers in a notebook's output.

    Args:
        trace: the trace.
        found: the interactive maps.
        focus: the selection with which it opens.
        options: the options of the page.
        taken: bytes of the output without payloads.

    Raises:
        InputError: the output would exceed the size limit.
    """
    if options.layers:
        return make_payloads(trace, found, options, taken)
    opening = choose_opening_focus(trace, found, focus)
    return make_opening_payloads(trace, found, options, opening, taken)


def find_opening(trace: Trace, focus: Focus | None, options: PageOptions) -> Focus | None:
    """Return the opening selection; None if no map is interactive; raises as `page`."""
    return choose_opening_focus(trace, places(trace, options), focus)


def collect_page_content(
    trace: Trace,
    found: Sequence[Place],
    focus: Focus | None,
    options: PageOptions,
    home: Home = "file",
    also: Sequence[View] = (),
    has_stills: bool = True,
) -> Content:
    """Return everything that a page shows of a trace.

    Args:
        trace: the trace.
        found: the interactive maps.
        focus: the selection with which it opens.
        options: the options of the page.
        home: the place where it is shown.
        also: further views whose figures are added below, for the selection.
        has_stills: whether there are figures of maps without a component, and of gazes.
    """
    shown: dict[str, list[Place]] = {}
    order = list(KINDS)
    for place in sorted(found, key=lambda place: order.index(place.kind)):
        shown.setdefault(place.kind, []).append(place)
    # Figures of a gaze show more than its component, such as what was seen at every scale.
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

    This is fast for small traces.

    Raises:
        InputError: the page would exceed its size limit, or an option does not exist in the trace.
    """
    options = (options or PageOptions()).checked()
    if sum(one.weights.nbytes for one in trace.maps.values()) * MOST_GROWN > options.limit:
        make_first_payloads(trace, places(trace, options), options, 0)


def _render_document(content: Content, carried: Sequence[Payload]) -> str:
    """Return the HTML; payloads come last, so that the text can be read while they load."""
    style = make_page_style(content.options.theme)
    script = page_script(content.shown, "page/page.js", content.options.language)
    styles = [style, *(parts(kind).css for kind in content.shown)]
    body = render_page_body(content)
    if content.has_script:
        body.append(data_block(collect_script_settings(content), id="panels"))
        body += [*map(render_payload, carried), raw("script", script, type="module")]
    language = content.options.language
    return document(_make_tab_title(content), styles, [script], body, language=language)


def make_page_style(theme: Theme) -> str:
    """Return the page's style sheet; dark colours apply always, never or as the system prefers."""
    style = text_of("page/page.css")
    if theme == "auto":
        return style
    holds = "@media all" if theme == "dark" else "@media not all"
    return style.replace(_DARK_RULE, holds).replace(_SCHEME, f"color-scheme: {theme}")


def _make_tab_title(content: Content) -> str:
    title = make_title(content.trace, content.options)
    output = escape_controls(content.trace.fields[content.trace.output.field].raw)
    start = truncate(" ".join(output.split()), 60)
    return f"{title}: {start}" if start else title


def page_script(kinds: Iterable[str], last: str, language: str = ENGLISH) -> str:
    """Return one script: the components, the panels, and the file that mounts them.

    Args:
        kinds: the components of the page.
        last: the file that mounts them, a path in `areaviz/components`.
        language: the language of their texts.
    """
    shared = "\n".join(map(text_of, ("message.js", "page/panels.js", last)))
    return f"{make_mount_script(kinds, language)}\n{shared}"


def make_mount_script(kinds: Iterable[str], language: str = ENGLISH) -> str:
    """Return a script with the functions that mount components, by the kind of component.

    Each component has its own scope, because components use equal names.
    """
    own = ""
    for kind in kinds:
        own += f"{kind}: (() => {{\n{parts(kind, language).js}\nreturn mount;\n}})(),\n"
    return f"const mounts = {{\n{own}}};"
