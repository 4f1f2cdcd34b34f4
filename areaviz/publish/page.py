"""One trace as one page in one file: nothing in it leads elsewhere, and nothing but its own scripts
can run in it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from areaviz import __version__
from areaviz.components.parts import parts, text_of
from areaviz.drawing.labels import clip, readable
from areaviz.interactive.grid import webp
from areaviz.interactive.grid_print import is_coarse
from areaviz.publish.figures import Still, stills
from areaviz.publish.initial_focus import opening
from areaviz.publish.markup import Markup, data_block, element, hash_of, joined, raw
from areaviz.publish.options import PageOptions
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
from areaviz.publish.payloads import (
    KINDS,
    Place,
    Sheet,
    first_sheets,
    kind_of,
    places,
    sheets,
    wanted_sites,
)
from areaviz.trace.picture import Picture
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

HEADINGS: Mapping[str, str] = {
    "grid": "Attention to the picture",
    "ribbon": "Attention to the text",
}
NO_SCRIPT = (
    "This page draws its attention by a script of its own; open it in a browser that allows"
    " scripts."
)
MOST_GROWN = 6
"""Of a weight of four bytes a page has at most an index and a share, three times over, in base64.
"""
FOOTER = (
    "Made with areaviz {version}. All of this page is in this one file: it fetches nothing and"
    " sends nothing."
)


@dataclass(frozen=True, slots=True, eq=False)
class _Content:
    """What a page shows of a trace: places to be pointed at, by component; figures of all the rest;
    where it opens.
    """

    trace: Trace
    options: PageOptions
    shown: Mapping[str, Sequence[Place]]
    stills: Sequence[Still]
    opening: Mapping[str, Any] | None


def page(trace: Trace, focus: Focus | None = None, options: PageOptions | None = None) -> str:
    """A page in HTML with every site, layer and head of a trace to be looked into, or figures where
    that cannot be.

    focus: where it opens; else at the first site, with a word lit. It needs a browser of 2024 or
    later.

    Raises:
        InputError: the page would be larger than its limit, or an option or the focus asks for what
            is not there.
    """
    options = (options or PageOptions()).checked()
    found = places(trace, options)
    shown = {kind: [place for place in found if place.kind == kind] for kind in KINDS}
    rest = [site for site in wanted_sites(trace, options) if not kind_of(trace, site)]
    filled = {kind: some for kind, some in shown.items() if some}
    content = _Content(trace, options, filled, stills(trace, rest), opening(trace, found, focus))
    bare = _document(content, [])
    return _document(content, sheets(trace, found, options, len(bare.encode("utf-8", "replace"))))


def check_page(trace: Trace, options: PageOptions | None = None) -> None:
    """Refuse a page by a guess, made of the first layer of each site; for a small trace it costs
    nothing.

    Raises:
        InputError: the page would be larger than its limit, or an option asks for what is not
            there.
    """
    options = (options or PageOptions()).checked()
    if sum(one.weights.nbytes for one in trace.maps.values()) * MOST_GROWN > options.limit:
        first_sheets(trace, places(trace, options), options, 0)


def _document(content: _Content, carried: Sequence[Sheet]) -> str:
    """The page; sheets come last, so that what can be read is there before they have arrived."""
    styles = [text_of("page/page.css"), *(parts(kind).css for kind in content.shown)]
    script = _script(tuple(content.shown))
    policy = {
        "default-src": "'none'",
        "style-src": " ".join(map(hash_of, styles)),
        "script-src": hash_of(script),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    head = (
        element("meta", charset="utf-8"),
        element(
            "meta",
            http_equiv="Content-Security-Policy",
            content="; ".join(map(" ".join, policy.items())),
        ),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", _tab_title(content)),
        raw("style", styles[0]),
    )
    scripts = [*map(_block, carried), raw("script", script, type="module")] if content.shown else []
    body = element("body", *_body(content), *scripts)
    return f"<!doctype html>\n{element('html', element('head', *head), body, lang='en')}\n"


def _body(content: _Content) -> list[Markup]:
    trace, shown = content.trace, content.shown
    panels = [
        {"kind": kind, "places": [_plain(place) for place in some]} for kind, some in shown.items()
    ]
    note = (
        [element("p", content.options.note, class_="note")] if content.options.note.strip() else []
    )
    header = element(
        "header",
        element("h1", _title(content)),
        element("p", facts(trace, not content.options.title.strip()), class_="facts"),
        *note,
    )
    scriptless = [element("noscript", element("p", NO_SCRIPT, class_="note"))] if shown else []
    main = element(
        "main",
        _texts(trace),
        *scriptless,
        *(_panel(kind) for kind in shown),
        *(_figure(still) for still in content.stills),
        how_to_read([place for some in shown.values() for place in some]),
        probabilities(trace),
        run_details(trace),
    )
    given = (
        [data_block({"panels": panels, "opening": content.opening}, id="panels")] if shown else []
    )
    return [header, main, element("footer", FOOTER.format(version=__version__)), *given]


def _title(content: _Content) -> str:
    return title_of(content.trace, content.options.title)


def _tab_title(content: _Content) -> str:
    said = clip(
        " ".join(readable(content.trace.fields[content.trace.output.field].raw).split()), 60
    )
    return f"{_title(content)}: {said}" if said else _title(content)


def _texts(trace: Trace) -> Markup:
    """What was given and what came of it, side by side."""
    text, picture = given_text(trace), trace.request.picture
    given = (
        [element("p", "Input", class_="label"), element("p", text, class_="reading")]
        if text.strip()
        else []
    )
    said = _said(trace) if has_output(trace) else []
    if picture is not None:
        return element(
            "section",
            element("div", _picture(picture)),
            element("div", *given, *said),
            class_="texts pictured",
        )
    columns = [element("div", *column) for column in (given, said) if column]
    return element("section", *columns, class_="texts") if columns else Markup()


def _said(trace: Trace) -> list[Markup]:
    """What the model said, and how surely."""
    text = output_text(trace) or element("span", "nothing", class_="sure")
    return [
        element("p", "Output", class_="label"),
        element("p", text, class_="reading"),
        element("p", sureness(trace), class_="sure"),
    ]


def _picture(picture: Picture) -> Markup:
    source = f"data:image/webp;base64,{base64.b64encode(webp(picture).tobytes()).decode('ascii')}"
    look = "coarse" if is_coarse(picture) else "fine"
    shown = element(
        "img",
        id="picture",
        class_=look,
        alt=f"The picture {picture.name}, as the model got it",
        src=source,
    )
    return joined([element("p", "Picture", class_="label"), shown])


def _panel(kind: str) -> Markup:
    """A component in a shadow tree of its own, as it is in the app, with room for the choice of
    site and layer.
    """
    made = parts(kind)
    shadow = element("template", raw("style", made.css), Markup(made.html), shadowrootmode="open")
    choices, stage = element("div", class_="choices"), element("div", shadow, class_="stage")
    return element(
        "section", element("h2", HEADINGS[kind]), choices, stage, class_="panel", id=kind
    )


def _figure(still: Still) -> Markup:
    said = element("p", still.question, class_="facts")
    drawn = element(
        "img", class_="figure", alt=f"{still.title}: {still.question}", src=still.source
    )
    return element("section", element("h2", still.title), said, drawn, class_="panel")


def _plain(place: Place) -> dict[str, Any]:
    """A place as the page's script is told it."""
    fields = {"query": place.query, "memory": place.memory}
    return {"site": place.site, "name": place.name, "layers": list(place.layers), **fields}


def _block(sheet: Sheet) -> Markup:
    return raw(
        "script", sheet.data, type="text/plain", data_site=sheet.site, data_layer=f"{sheet.layer}"
    )


def _script(kinds: Sequence[str]) -> str:
    """The components in scopes of their own, as they share names, and what mounts them."""
    mounts = "".join(
        f"{kind}: (() => {{\n{parts(kind).js}\nreturn mount;\n}})(),\n" for kind in kinds
    )
    return f"const mounts = {{\n{mounts}}};\n{text_of('message.js')}\n{text_of('page/page.js')}"
