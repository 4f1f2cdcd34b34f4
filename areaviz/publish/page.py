"""One trace as one page in one file.

Nothing in it leads elsewhere, and nothing but its own scripts can run in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from areaviz import __version__
from areaviz.components.parts import parts, text_of
from areaviz.drawing.base import View
from areaviz.drawing.labels import clip, readable
from areaviz.drawing.markup import Markup, data_block, document, element, raw
from areaviz.publish.content import (
    KINDS,
    Payload,
    Place,
    first_payloads,
    initial_focus,
    kind_of,
    opening_focus,
    opening_payloads,
    payloads,
    places,
    wanted_sites,
)
from areaviz.publish.figures import Still, beside, known_why, still, stills
from areaviz.publish.options import PageOptions, Theme
from areaviz.publish.page_input import heard, pictured, played
from areaviz.publish.page_text import (
    facts,
    given_text,
    has_output,
    how_to_read,
    output_text,
    probabilities,
    run_details,
    sureness,
    title_of,
)
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

HEADINGS: Mapping[str, str] = {
    "grid": "Attention to the picture",
    "ribbon": "Attention to the text",
}
NO_SCRIPT = (
    "This page draws its attention with a script, which did not run. Open it in a browser that"
    " allows scripts, or without a policy that forbids them."
)
_DARK_RULE, _SCHEME = "@media (prefers-color-scheme: dark)", "color-scheme: light dark"
MOST_GROWN = 6
"""Of a weight of four bytes a page has at most an index and a share, thrice over, in base64."""
FOOTER = (
    f"Made with areaviz {__version__}. All of this page is in this one file: it fetches nothing and"
    " sends nothing."
)
NOTEBOOK_FOOTER = (
    f"Made with areaviz {__version__}. Layers that are not in this output come from the notebook's"
    " own process, as long as it runs; areaviz.export writes a page with all of them."
)


@dataclass(frozen=True, slots=True, eq=False)
class _Content:
    """What a page shows of a trace.

    Args:
        shown: places to be pointed at, by component.
        stills: figures of all the rest.
        views: figures that were asked for, where the page opens.
        opening: where the page opens, in plain values.
        source: of a page in a notebook, the address that has the layers it does not carry, "" where
            it carries all; None of a page that stands alone.
    """

    trace: Trace
    options: PageOptions
    shown: Mapping[str, Sequence[Place]]
    stills: Sequence[Still]
    views: Sequence[Still]
    opening: Mapping[str, Any] | None
    source: str | None = None

    @property
    def has_script(self) -> bool:
        """Whether it needs its script: to be pointed at, or to tell a notebook its height."""
        return bool(self.shown) or self.source is not None


def page(
    trace: Trace,
    focus: Focus | None = None,
    options: PageOptions | None = None,
    also: Sequence[View] = (),
) -> str:
    """A page in HTML with every site, layer and head of a trace to be looked into.

    Sites that no component can show are figures in it. It needs a browser of 2024 or later.

    Args:
        focus: where it opens; else at the first site, with a word lit.
        options: what it carries.
        also: further views whose figures stand below, at the focus.

    Raises:
        InputError: the page would be larger than its limit, or an option or the focus asks for what
            is not there.
    """
    options = (options or PageOptions()).checked()
    found = places(trace, options)
    content = _content(trace, found, focus, options, also=also)
    # The page without payloads says how much room they have.
    taken = len(_document(content, []).encode("utf-8", "replace"))
    return _document(content, payloads(trace, found, options, taken))


def notebook_page(
    trace: Trace, focus: Focus | None, options: PageOptions | None, source: str
) -> str:
    """The same for a frame in a notebook: it carries one layer of each site, or those that the
    options name, tells the notebook how high it is, and asks `source` for other layers.

    Args:
        source: the address under which SITE/LAYER has a payload's data; "" where none is needed.
    """
    options = (options or PageOptions()).checked()
    # Those that the options name are carried, and no others are offered.
    found = places(trace, options)
    content = _content(trace, found, focus, options, source)
    taken = len(_document(content, []).encode("utf-8", "replace"))
    if options.layers:
        return _document(content, payloads(trace, found, options, taken))
    opening = opening_focus(trace, found, focus)
    return _document(content, opening_payloads(trace, found, options, opening, taken))


def opening_of(trace: Trace, focus: Focus | None, options: PageOptions) -> Focus | None:
    """Where a page opens; None where nothing can be pointed at; raises as `page`."""
    return opening_focus(trace, places(trace, options), focus)


def _content(
    trace: Trace,
    found: Sequence[Place],
    focus: Focus | None,
    options: PageOptions,
    source: str | None = None,
    also: Sequence[View] = (),
) -> _Content:
    shown: dict[str, list[Place]] = {}
    for place in sorted(found, key=lambda place: KINDS.index(place.kind)):
        shown.setdefault(place.kind, []).append(place)
    rest = [site for site in wanted_sites(trace, options) if not kind_of(trace, site)]
    where = opening_focus(trace, found, focus)
    views = beside(trace, where, options.views)
    if where is not None:
        views += [still(view, trace, where) for view in also or known_why(trace, where)]
    opening = initial_focus(trace, found, focus)
    return _Content(trace, options, shown, stills(trace, rest), views, opening, source)


def check_page(trace: Trace, options: PageOptions | None = None) -> None:
    """Refuse a page by a guess, made of the first layer of each site.

    For a small trace it costs nothing.

    Raises:
        InputError: the page would be larger than its limit, or an option asks for what is not
            there.
    """
    options = (options or PageOptions()).checked()
    if sum(one.weights.nbytes for one in trace.maps.values()) * MOST_GROWN > options.limit:
        first_payloads(trace, places(trace, options), options, 0)


def _document(content: _Content, carried: Sequence[Payload]) -> str:
    """The page; payloads come last, so that one can read before they have arrived."""
    style = _themed(text_of("page/page.css"), content.options.theme)
    script = _script(content.shown)
    styles = [style, *(parts(kind).css for kind in content.shown)]
    body = _body(content)
    if content.has_script:
        body += [*map(_block, carried), raw("script", script, type="module")]
    return document(_tab_title(content), styles, [script], body, content.source or "")


def _themed(style: str, theme: Theme) -> str:
    """Return a style sheet whose dark colours hold always, never, or as the system says."""
    if theme == "auto":
        return style
    holds = "@media all" if theme == "dark" else "@media not all"
    return style.replace(_DARK_RULE, holds).replace(_SCHEME, f"color-scheme: {theme}")


def _body(content: _Content) -> list[Markup]:
    trace = content.trace
    shown = content.shown
    options = content.options
    header = [
        element("h1", title_of(trace, options.title)),
        element("p", facts(trace, with_name=bool(options.title.strip())), class_="facts"),
    ]
    if options.note.strip():
        header.append(element("p", options.note, class_="note"))
    main = [_texts(trace)]
    if shown:
        # The script removes it. A policy that forbids scripts would not show a `noscript`.
        main.append(element("p", NO_SCRIPT, class_="note", id="without-script"))
    main += map(_panel, shown)
    main += [*map(_folded, content.views), *map(_figure, content.stills)]
    main += [how_to_read(list(shown)), probabilities(trace), run_details(trace)]
    footer = NOTEBOOK_FOOTER if content.source else FOOTER
    body = [element("header", *header), element("main", *main), element("footer", footer)]
    if content.has_script:
        panels = []
        for kind, some in shown.items():
            panels.append({"kind": kind, "places": [_plain(place) for place in some]})
        told = {"panels": panels, "opening": content.opening, "source": content.source}
        body.append(data_block(told, id="panels"))
    return body


def _tab_title(content: _Content) -> str:
    title = title_of(content.trace, content.options.title)
    output = readable(content.trace.fields[content.trace.output.field].raw)
    start = clip(" ".join(output.split()), 60)
    return f"{title}: {start}" if start else title


def _texts(trace: Trace) -> Markup:
    """What was given and what came of it, side by side."""
    text, request = given_text(trace), trace.request
    given: list[Markup] = []
    if text.strip():
        given = [element("p", "Input", class_="label"), element("p", text, class_="reading")]
    if request.sound is not None:
        given += heard(request.sound)
    output = _output(trace) if has_output(trace) else []
    seen: list[Markup] = []
    if request.picture is not None:
        seen = pictured(request.picture)
    elif request.clip is not None:
        seen = played(request.clip)
    if seen:
        beside = element("div", *given, *output)
        return element("section", element("div", *seen), beside, class_="texts pictured")
    columns = [element("div", *column) for column in (given, output) if column]
    return element("section", *columns, class_="texts") if columns else Markup()


def _output(trace: Trace) -> list[Markup]:
    """What the model said, and how surely."""
    text = output_text(trace) or element("span", "nothing", class_="sure")
    return [
        element("p", "Output", class_="label"),
        element("p", text, class_="reading"),
        element("p", sureness(trace), class_="sure"),
    ]


def _panel(kind: str) -> Markup:
    """A component in a shadow tree, as it is in the app, below the choice of site and layer."""
    made = parts(kind)
    shadow = element("template", raw("style", made.css), Markup(made.html), shadowrootmode="open")
    choices = element("div", class_="choices")
    stage = element("div", shadow, class_="stage")
    heading = element("h2", HEADINGS[kind])
    return element("section", heading, choices, stage, class_="panel", id=kind)


def _figure(still: Still) -> Markup:
    question = element("p", still.question, class_="facts")
    alt = f"{still.title}: {still.question}"
    drawn = element("img", class_="figure", alt=alt, src=still.source)
    parts = [element("h2", still.title), question, drawn]
    if still.how_to_read:
        parts.append(element("p", still.how_to_read, class_="aside"))
    return element("section", *parts, class_="panel")


def _folded(still: Still) -> Markup:
    """A figure that stands behind its question until it is asked for."""
    alt = f"{still.title}: {still.question}"
    drawn = element("img", class_="figure narrow", alt=alt, src=still.source)
    return element("details", element("summary", alt), drawn)


def _plain(place: Place) -> dict[str, Any]:
    """A place in plain values, for the page's script."""
    fields = {"query": place.query, "memory": place.memory}
    return {"site": place.site, "name": place.name, "layers": list(place.layers), **fields}


def _block(payload: Payload) -> Markup:
    place = {"data_site": payload.site, "data_layer": f"{payload.layer}"}
    return raw("script", payload.data, type="text/plain", **place)


def _script(kinds: Iterable[str]) -> str:
    """The components in scopes of their own, as they share names, and what mounts them."""
    mounts = ""
    for kind in kinds:
        mounts += f"{kind}: (() => {{\n{parts(kind).js}\nreturn mount;\n}})(),\n"
    return f"const mounts = {{\n{mounts}}};\n{text_of('message.js')}\n{text_of('page/page.js')}"
