"""The body of a page: input, output, panels and explanations as HTML.

Pages in a file, in a notebook's frame and in a widget share it. Read `render_page_body` first.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from areaviz import __version__
from areaviz.draw.labels import (
    Markup,
    escape_controls,
    join_markup,
    make_element,
    make_raw_element,
    show_invisibles,
)
from areaviz.draw.view import describe_given_text
from areaviz.page.content import PageOptions, Payload, Place, Still
from areaviz.texts.catalogue import ENGLISH, message, translate, use_decimal_mark
from areaviz.trace.record import Trace
from areaviz.trace.request import Clip, Picture, Sound
from areaviz.views.grid.grid import encode_webp, is_coarse
from areaviz.views.parts import read_parts
from areaviz.views.sound.sound import encode_sound_as_data_url
from areaviz.views.views import KINDS

# A model's input other than text, as parts of a page: a picture, a sound or a clip.


def render_picture(picture: Picture, language: str = ENGLISH) -> list[Markup]:
    """Return the picture as the model received it."""
    look = "coarse" if is_coarse(picture) else "fine"
    got = message("The picture {name}, as the model got it")
    alt = translate(got, language, name=picture.name)
    return _render_input(
        translate("Picture", language), alt, look, encode_picture_as_data_url(picture)
    )


def encode_picture_as_data_url(picture: Picture) -> str:
    """Return a data URL with the pixels of a picture."""
    return _make_data_url("image/webp", encode_webp(picture).tobytes())


def render_clip(clip: Clip, language: str = ENGLISH) -> list[Markup]:
    """Return a clip, which plays in a loop."""
    # Imported here, so that pages without clips need no libraries for clips.
    from areaviz.media.clips import encode_gif

    alt = translate("The clip {name}, as the model got it", language, name=clip.name)
    return _render_input(
        translate("Clip", language), alt, "fine", _make_data_url("image/gif", encode_gif(clip))
    )


def render_sound(sound: Sound, language: str = ENGLISH) -> list[Markup]:
    """Return a sound with the browser's own player."""
    label = translate("The sound {name}, as the model got it", language, name=sound.name)
    player = make_element(
        "audio", controls="", id="sound", src=encode_sound_as_data_url(sound), aria_label=label
    )
    return [make_element("p", translate("Sound", language), class_="label"), player]


def _render_input(title: str, alt: str, look: str, source: str) -> list[Markup]:
    image = make_element("img", id="picture", class_=look, alt=alt, src=source)
    return [make_element("p", title, class_="label"), image]


def _make_data_url(medium: str, content: bytes) -> str:
    return f"data:{medium};base64,{base64.b64encode(content).decode('ascii')}"


# The texts of a page: input, output, confidence, and an explanation of the maps.


UNSURE = (0.9, 0.7, 0.5, 0.3)
"""Probabilities below which output items are tinted.

The tint is stronger below each further one.
"""
ROWS, OTHERS = 256, 3
"""Maximum number of items in the table of probabilities, and of alternatives for each item."""
KEYS = message(
    "Click to pin what is shown, and Shift- or Ctrl-click to add more. With the keyboard, press Tab"
    " to enter a text or picture, the arrow keys to move, Enter to pin and Escape to clear."
)
CAVEAT = message(
    "Attention shows where a model looked. It does not show by itself why the model"
    " chose its output."
)


def describe_run(trace: Trace, with_name: bool, language: str) -> str:
    """Describe in one line how the model was run.

    Args:
        trace: the trace.
        with_name: whether to include the model's name.
        language: the language of the text.
    """
    request = trace.request
    found = [request.model] if with_name else []
    if "history" in trace.fields:
        decoding = translate("greedy decoding", language)
        if request.method != "greedy":
            decoding = translate("beam search of width {width}", language, width=request.beam)
        found.append(describe_given_text(trace) or decoding)
    sizes = sorted({(one.layers, one.heads) for one in trace.maps.values()})
    shapes = []
    for layers, heads in sizes:
        shapes.append(
            translate(
                "{layers} of {heads}",
                language,
                layers=_format_count(
                    layers, message("{count} layer"), message("{count} layers"), language
                ),
                heads=_format_count(
                    heads, message("{count} head"), message("{count} heads"), language
                ),
            )
        )
    found.append(translate(" or ", language).join(shapes))
    return " · ".join(filter(None, found))


def _format_count(number: int, one: str, several: str, language: str) -> str:
    return translate(one if number == 1 else several, language, count=f"{number:,}")


def get_given_text(trace: Trace) -> str:
    """Return the input text of the model, or "" if there was none."""
    return trace.fields["source"].raw if "source" in trace.fields else trace.request.text


def has_output(trace: Trace) -> bool:
    """Return whether the model produced any output, even only the end-of-sequence token."""
    return len(trace.output.probabilities) > 0


def render_output_text(trace: Trace, language: str = ENGLISH) -> Markup:
    """Return the output with uncertain items tinted."""
    field = trace.fields[trace.output.field]
    likely = trace.output.probabilities.tolist()
    anchors = field.anchors.tolist() if field.is_text else []
    parts: list[str] = []
    done = 0
    for (start, end), probability in zip(anchors, likely, strict=False):
        level = _find_uncertainty_level(probability)
        if start < done or start == end or not level:
            continue
        title = translate("probability {share}", language, share=f"{probability:.0%}")
        tinted = make_element("span", field.raw[start:end], class_=f"u{level}", title=title)
        parts += [field.raw[done:start], tinted]
        done = end
    return join_markup([*parts, field.raw[done:]])


def _find_uncertainty_level(probability: float) -> int:
    """Return the level of uncertainty, 0 to 4."""
    return sum(probability < step for step in UNSURE)


def describe_confidence(trace: Trace, language: str = ENGLISH) -> str:
    """Describe the mean probability of the output's items and the least certain items.

    The output must have at least one item.
    """
    likely = trace.output.probabilities
    if len(likely) == 1:
        share = use_decimal_mark(f"{likely[0]:.2f}", language)
        return translate("Probability {share}.", language, share=share)
    least = int(np.argmin(likely))
    # The geometric mean. Limit it from below, because a probability of 0 has no logarithm.
    mean = float(np.exp(np.log(np.maximum(likely, 1e-12)).mean()))
    label = show_invisibles(trace.fields[trace.output.field].labels[least])
    said = translate(
        "Mean probability {mean}. Least certain: “{label}” ({share}).",
        language,
        mean=use_decimal_mark(f"{mean:.2f}", language),
        label=label,
        share=use_decimal_mark(f"{likely[least]:.2f}", language),
    )
    if float(likely[least]) >= UNSURE[0]:
        return said
    return f"{said} {translate('Tinted words are less certain.', language)}"


def render_probabilities(trace: Trace, language: str) -> Markup:
    """Return a collapsed table of the output's items and alternatives, or "" without items."""
    if not has_output(trace):
        return Markup()
    head = [
        make_element("th", translate(cell, language), scope="col")
        for cell in (
            message("Position"),
            message("Item"),
            message("Probability"),
            message("Other possibilities"),
        )
    ]
    rows = [make_element("tr", *head)]
    labels = trace.fields[trace.output.field].labels
    output = trace.output
    for item, likely in enumerate(output.probabilities[:ROWS].tolist()):
        rows.append(
            _render_row(item + 1, labels[item], likely, output.alternatives[item], language)
        )
    count = len(output.probabilities)
    title = translate("Probability of every item", language)
    if count > ROWS:
        title += " " + translate(
            "(the first {shown} of {count})", language, shown=ROWS, count=count
        )
    table = make_element("div", make_element("table", *rows), class_="scrolled")
    return make_element("details", make_element("summary", title), table)


def _render_row(
    position: int,
    label: str,
    likely: float,
    alternatives: Sequence[tuple[str, float]],
    language: str,
) -> Markup:
    others = [
        f"{show_invisibles(other)} {use_decimal_mark(f'{share:.1%}', language)}"
        for other, share in alternatives
        if other != label
    ]
    sure = make_element(
        "span",
        use_decimal_mark(f"{likely:.1%}", language),
        class_=f"u{_find_uncertainty_level(likely)}",
    )
    return make_element(
        "tr",
        make_element("td", f"{position}", class_="number"),
        make_element("td", show_invisibles(label)),
        make_element("td", sure, class_="number"),
        make_element("td", ",  ".join(others[:OTHERS])),
    )


def run_details(trace: Trace, language: str) -> Markup:
    """Return a table of the details of the run."""
    rows = []
    for name, value in trace.details.items():
        if value:
            rows.append(
                make_element("tr", make_element("th", name, scope="row"), make_element("td", value))
            )
    if not rows:
        return Markup()
    return make_element(
        "details",
        make_element("summary", translate("About this run", language)),
        make_element("table", *rows),
    )


def explain_components(kinds: Sequence[str], language: str) -> Markup:
    """Explain what these components show and how to use them."""
    sentences = [KINDS[kind].how_to_read for kind in kinds if KINDS[kind].how_to_read]
    if "ribbon" in kinds or "grid" in kinds:
        sentences.append(KEYS)
    said = [make_element("p", translate(text, language)) for text in (*sentences, CAVEAT)]
    return make_element("div", *said, class_="aside")


def make_title(trace: Trace, options: PageOptions) -> str:
    """Return the title in the options, or a title with the model's name."""
    if title := escape_controls(options.title.strip()):
        return title
    what = message("What {model} attended to")
    return translate(what, options.language, model=trace.request.model)


# The whole body: input and output, interactive panels, figures and explanations.


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
