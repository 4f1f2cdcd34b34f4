"""The body of a page: input and output, interactive panels, figures and explanations.

Pages in a file, in a notebook's frame and in a widget share this body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from areaviz import __version__
from areaviz.draw.labels import Markup, make_element, make_raw_element
from areaviz.publish.content import Payload, Place
from areaviz.publish.figures import Still
from areaviz.publish.options import PageOptions
from areaviz.publish.page_input import render_clip, render_picture, render_sound
from areaviz.publish.page_text import (
    describe_confidence,
    describe_run,
    explain_components,
    get_given_text,
    has_output,
    make_title,
    render_output_text,
    render_probabilities,
    run_details,
)
from areaviz.show.parts import read_parts
from areaviz.show.views import KINDS
from areaviz.texts.catalogue import ENGLISH, message, translate
from areaviz.trace.record import Trace

Home = Literal["file", "frame", "widget"]
"""The place where a page is shown: a file, the frame of a notebook's output, or a widget."""
LONG_TEXT = 120
"""A text with more characters than this may scroll on a phone.

`output_text.js` has the same number.
"""
NO_SCRIPT = message(
    "This is a still picture, because the page's script did not run. The browser or a policy of the"
    " website may forbid scripts. Open the page where they are allowed."
)
_MADE = message("Made with areaviz {version}.")
FOOTERS: Mapping[Home, str] = {
    "file": message("All of this page is in this one file: it fetches nothing and sends nothing."),
    "frame": message(
        "This output has one layer of each site. It fetches nothing and sends nothing."
        " areaviz.export writes a page with all layers."
    ),
    "widget": message("Other layers come from the notebook's own process, as long as it runs."),
}


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """The content of a page.

    Args:
        trace: the trace.
        options: the options of the page.
        shown: the interactive maps, by component.
        stills: figures of all other maps.
        views: requested figures, for the opening selection.
        opening: the opening selection, as plain values, or None.
        home: the place where the page is shown.
        is_whole: whether the page contains every layer that it offers.
        instead: an image of the opening selection, for websites that forbid the page's script.
    """

    trace: Trace
    options: PageOptions
    shown: Mapping[str, Sequence[Place]]
    stills: Sequence[Still]
    views: Sequence[Still]
    opening: Mapping[str, Any] | None
    home: Home = "file"
    is_whole: bool = True
    instead: Markup = Markup()

    @property
    def has_script(self) -> bool:
        """Whether the page needs a script, for its components or to report its height."""
        return bool(self.shown) or self.home == "frame"


def render_page_body(content: Content) -> list[Markup]:
    """Return the body of a page, without its script and payloads."""
    trace, shown, options = content.trace, content.shown, content.options
    language = options.language
    header = [
        make_element("h1", make_title(trace, options)),
        make_element(
            "p", describe_run(trace, bool(options.title.strip()), language), class_="facts"
        ),
    ]
    if options.note.strip():
        header.append(make_element("p", options.note, class_="note"))
    main = [_render_texts(trace, language)]
    if shown and content.home != "widget":
        # The script removes this text. Browsers hide `noscript` if only a policy forbids scripts.
        still = make_element("p", translate(NO_SCRIPT, language), class_="note")
        main.append(make_element("section", still, content.instead, id="without-script"))
    main += [make_panel(kind, language) for kind in shown]
    main += [*map(_render_folded_figure, content.views), *map(_render_figure, content.stills)]
    main += [explain_components(list(shown), language), render_probabilities(trace, language)]
    main.append(run_details(trace, language))
    made = translate(_MADE, language, version=__version__)
    where = FOOTERS["file" if content.is_whole else content.home]
    footer = f"{made} {translate(where, language)}"
    return [
        make_element("header", *header),
        make_element("main", *main),
        make_element("footer", footer),
    ]


def collect_script_settings(content: Content) -> dict[str, Any]:
    """Return the settings of the page's script as plain values."""
    panels = []
    for kind, some in content.shown.items():
        panels.append({"kind": kind, "places": [_format_place(place) for place in some]})
    labels = {}
    for name, label in (("sites", message("Attention")), ("layers", message("Layer"))):
        labels[name] = translate(label, content.options.language)
    told = {"panels": panels, "opening": content.opening, "isFrame": content.home == "frame"}
    return {**told, "labels": labels}


def render_payload(payload: Payload) -> Markup:
    """Return the data of one layer as an element that the page's script reads."""
    place = {"data_site": payload.site, "data_layer": f"{payload.layer}"}
    return make_raw_element("script", payload.data, type="text/plain", **place)


def _render_texts(trace: Trace, language: str) -> Markup:
    """Return the input and the output side by side."""
    text, request = get_given_text(trace), trace.request
    given: list[Markup] = []
    if text.strip():
        given = [
            make_element("p", translate("Input", language), class_="label"),
            _render_paragraph(text, text),
        ]
    if request.sound is not None:
        given += render_sound(request.sound, language)
    output = _render_output(trace, language) if has_output(trace) else []
    seen: list[Markup] = []
    if request.picture is not None:
        seen = render_picture(request.picture, language)
    elif request.clip is not None:
        seen = render_clip(request.clip, language)
    if seen:
        beside = make_element("div", *given, *output)
        return make_element("section", make_element("div", *seen), beside, class_="texts pictured")
    columns = [make_element("div", *column) for column in (given, output) if column]
    return make_element("section", *columns, class_="texts") if columns else Markup()


def _render_output(trace: Trace, language: str) -> list[Markup]:
    """Return the model's output and its confidence."""
    nothing = translate("nothing", language)
    text = render_output_text(trace, language) or make_element("span", nothing, class_="sure")
    return [
        make_element("p", translate("Output", language), class_="label"),
        _render_paragraph(text, trace.fields[trace.output.field].raw),
        make_element("p", describe_confidence(trace, language), class_="sure"),
    ]


def _render_paragraph(content: str, text: str) -> Markup:
    """Return a paragraph. A long paragraph can scroll, so it gets the keyboard focus."""
    reached = {"tabindex": "0"} if len(text) > LONG_TEXT else {}
    return make_element("p", content, class_="reading", **reached)


def make_panel(kind: str, language: str = ENGLISH) -> Markup:
    """Return a component below the controls for site and layer."""
    choices = make_element("div", class_="choices")
    heading = make_element("h2", translate(KINDS[kind].heading, language))
    # The section is hidden until the script shows it, because it is empty without a script.
    inside = (heading, choices, render_stage(kind, language))
    return make_element("section", *inside, class_="panel", id=kind, hidden="")


def render_stage(kind: str, language: str = ENGLISH) -> Markup:
    """Return a component's HTML and style in a shadow tree, as in the app. A script fills it."""
    made = read_parts(kind, language)
    shadow = make_element(
        "template", make_raw_element("style", made.css), Markup(made.html), shadowrootmode="open"
    )
    return make_element("div", shadow, class_="stage")


def _render_figure(still: Still) -> Markup:
    question = make_element("p", still.question, class_="facts")
    alt = f"{still.title}: {still.question}"
    drawn = make_element("img", class_="figure", alt=alt, src=still.source)
    parts = [make_element("h2", still.title), question, drawn]
    if still.how_to_read:
        parts.append(make_element("p", still.how_to_read, class_="aside"))
    return make_element("section", *parts, class_="panel")


def _render_folded_figure(still: Still) -> Markup:
    """Return a figure collapsed under its question."""
    alt = f"{still.title}: {still.question}"
    drawn = make_element("img", class_="figure narrow", alt=alt, src=still.source)
    return make_element("details", make_element("summary", alt), drawn)


def _format_place(place: Place) -> dict[str, Any]:
    """Return an interactive map as plain values for the page's script."""
    fields = {"query": place.query, "memory": place.memory}
    return {"site": place.site, "name": place.name, "layers": list(place.layers), **fields}
