"""A page with a live model: one HTML file that runs a model on the reader's device.

The page first shows a stored run. The run comes before the weights in the file, so the page draws
it before the weights have arrived. The engine, which runs the model, is JavaScript in
areaviz/live and runs in a worker. The page's security policy allows no other script, and
nothing can be fetched or sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from areaviz import __version__
from areaviz.draw.labels import (
    Markup,
    make_data_block,
    make_document,
    make_element,
    make_raw_element,
)
from areaviz.draw.select import get_display_field
from areaviz.draw.theme import ACCENT, HEAD_COLOURS, SECOND, SEQUENCE_STOPS
from areaviz.page.body import collect_script_settings, render_page_body, render_payload
from areaviz.page.content import (
    MOST_AREAS,
    PageOptions,
    Payload,
    Place,
    choose_opening_focus,
    list_places,
    make_opening_payloads,
)
from areaviz.page.page import collect_page_content, make_mount_script, make_page_style
from areaviz.publish.live_form import render_live_form, render_what_if_panel, render_why_panel
from areaviz.publish.live_model import LiveModel
from areaviz.samples.reasoning import MOST
from areaviz.show.grid.grid import COARSE, KEPT, OVERLAPS, SHOWN, SURE, WANTED
from areaviz.show.grid.grid import TOP as TOP_RECTANGLES
from areaviz.show.looks.looks import LOOK_DESCRIPTIONS
from areaviz.show.message import make_title
from areaviz.show.parts import join_modules, read_parts, read_text, without_comments
from areaviz.show.ribbon.ribbon import ENTRIES, ROOMY
from areaviz.show.ribbon.table import MAX_RATIO, MAX_WORK, TOP
from areaviz.trace.areas import MAX_OVERLAP
from areaviz.trace.derived import remove_best
from areaviz.trace.document import request_entry
from areaviz.trace.query import EVEN_SHARE, MASSES, SINK
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Picture

ENGINE = ("live/worker.js",)
PAGE = ("live/page/page.js",)
"""The first modules of the engine and of the page. They import the other modules."""
POLICY = ("worker-src blob:",)
"""Rules of the page's security policy in addition to those for its own scripts and styles."""
FOOTER = (
    f"Made with areaviz {__version__}. The model, its weights and this page are in this one file."
    " The file fetches nothing and sends nothing. What you type stays on this device."
)


@dataclass(frozen=True, slots=True)
class LivePage:
    """An HTML page that contains a model and runs it.

    Args:
        model: the model.
        trace: the run that the page first shows.
        pictures: the pictures that readers can choose.
        title: the title of the browser's tab.
        styles: the style sheets.
        script: the script.
        body: the content of the page.
        still: an SVG of the opening selection.
    """

    model: LiveModel
    trace: Trace
    pictures: Sequence[Picture]
    title: str
    styles: Sequence[str]
    script: str
    body: Sequence[Markup]
    still: Markup

    @property
    def html(self) -> str:
        """The page as a document."""
        return make_document(self.title, self.styles, [self.script], self.body, POLICY)

    def form(self, has_areas: bool = True) -> Markup:
        """Return the page's form with the controls of the model. See `render_live_form`."""
        return render_live_form(self.model, self.trace, self.pictures, has_areas)

    @classmethod
    def of(
        cls,
        model: LiveModel,
        trace: Trace,
        focus: Focus | None = None,
        options: PageOptions | None = None,
        pictures: Sequence[Picture] = (),
    ) -> LivePage:
        """Return the page of a model. See `make_live_page` for the arguments and errors."""
        # The engine cannot compute best alignments, so the stored run must not have them either.
        trace = remove_best(trace)
        options = replace(options or PageOptions(), layers=(), sites=()).checked()
        found = list_places(trace, options)
        # Leave out still figures, because they would not change with the next run.
        content = collect_page_content(trace, found, focus, options, has_stills=False)
        _, main, _ = render_page_body(content)
        script = make_page_script(content.shown)
        body = [
            _render_header(model, options),
            render_live_form(model, trace, pictures),
            main,
            render_what_if_panel(),
            render_why_panel() if model.card.has_logits else Markup(),
            _render_about(model),
            make_element("footer", FOOTER),
            make_data_block(
                collect_script_settings(content) | _collect_script_settings(model, trace),
                id="panels",
            ),
            *map(render_payload, _make_stored_payloads(trace, found, focus, options)),
            # The script runs before the rest of the file has arrived.
            make_raw_element("script", script, type="module", **{"async": ""}),
            *make_engine_blocks(model, trace),
        ]
        style = f"{make_page_style(options.theme)}\n{read_text('live/page/page.css')}"
        styles = [style, *(read_parts(kind).css for kind in content.shown)]
        title = options.title or f"{model.card.name}, live"
        return cls(model, trace, pictures, title, styles, script, body, content.instead)


def make_live_page(
    model: LiveModel,
    trace: Trace,
    focus: Focus | None = None,
    options: PageOptions | None = None,
    pictures: Sequence[Picture] = (),
) -> str:
    """Return an HTML page that contains a model and runs it.

    Args:
        model: the model.
        trace: the run of this model that the page first shows.
        focus: the opening selection. None selects a word.
        options: title, note and theme of the page.
        pictures: the pictures that readers can choose, for a model that describes pictures.

    Raises:
        InputError: an option or the selection does not exist in the trace.
    """
    return LivePage.of(model, trace, focus, options, pictures).html


def _make_stored_payloads(
    trace: Trace, found: Sequence[Place], focus: Focus | None, options: PageOptions
) -> list[Payload]:
    """Return the payload of the opening selection. The engine makes all other payloads."""
    opening = choose_opening_focus(trace, found, focus)
    first = [place for place in found if opening is not None and place.site == opening.site]
    return make_opening_payloads(trace, first, options, opening, 0)


def make_page_script(kinds: Sequence[str] | Mapping[str, Any]) -> str:
    """Return the page's script: components, panels, and the code that runs the engine."""
    shared = "\n".join(map(read_text, ("show/message.js", "page/panels.js")))
    live = join_modules(PAGE)
    own = without_comments(f"{make_mount_script(kinds)}\n{shared}")
    return f"{own}\n{live}\nawait openLivePage({{ openPanels, messageIn }});"


def make_engine_blocks(model: LiveModel, trace: Trace) -> list[Markup]:
    """Return the engine, its settings and the weights as data that the page's script reads."""
    setting = {"card": model.plain, "constants": collect_constants(trace)}
    return [
        make_data_block(setting, id="setting"),
        make_raw_element("script", join_modules(ENGINE), type="text/plain", id="engine"),
        make_data_block(model.pieces, id="pieces"),
        make_raw_element("script", model.encoded_weights, type="text/plain", id="weights"),
    ]


def collect_constants(trace: Trace) -> dict[str, Any]:
    """Return the settings with which the engine makes payloads, see ribbon_payload.js.

    Args:
        trace: any run of the model. Only the names of its fields are used.
    """
    return {
        "top": TOP,
        "overlap": MAX_OVERLAP,
        "entries": ENTRIES,
        "roomy": ROOMY,
        "most": MOST_AREAS,
        "work": MAX_WORK,
        "masses": list(MASSES),
        "mass": Focus("").mass,
        "sink": SINK,
        "grid": {
            "kept": KEPT,
            "wanted": [list(pair) for pair in WANTED],
            "coarse": COARSE,
            "lit": {
                "many": SHOWN,
                "most": TOP_RECTANGLES,
                "listed": SURE,
                "overlap": MAX_OVERLAP,
                "step": OVERLAPS[1],
            },
            "heat": [colour for _, colour in SEQUENCE_STOPS],
        },
        "looks": dict(LOOK_DESCRIPTIONS),
        "names": {name: make_title(get_display_field(trace, name)) for name in trace.fields},
        "header": {
            "colours": list(HEAD_COLOURS),
            "even": EVEN_SHARE,
            "signed": [ACCENT, SECOND],
            "steepest": MAX_RATIO,
        },
    }


def _render_header(model: LiveModel, options: PageOptions) -> Markup:
    card = model.card
    facts = f"{card.title} · {card.parameters:,} parameters · runs on this device"
    parts = [
        make_element("h1", options.title.strip() or f"{card.name}, live"),
        make_element("p", facts, class_="facts"),
    ]
    if options.note.strip():
        parts.append(make_element("p", options.note, class_="note"))
    return make_element("header", *parts)


def _collect_script_settings(model: LiveModel, trace: Trace) -> dict[str, Any]:
    """Return the facts about the opening run that the script needs before the engine loads."""
    fields = {}
    for name, field in trace.fields.items():
        anchors = field.anchors.tolist()
        fields[name] = {"raw": field.raw, "anchors": anchors, "labels": list(field.labels)}
    output = trace.fields[trace.output.field].raw
    # Facts about the model that components show, and settings with which readers edit its input.
    right = model.card.figures.get("test", {}).get("right")
    header = {"most": MOST, "right": right, "canAsk": True}
    request = request_entry(trace.request)
    told = {"request": request, "fields": fields, "output": output, "header": header}
    return told | {"canChange": "weigh" in model.card.can}


def _render_about(model: LiveModel) -> Markup:
    """Return the limits, the licence and the digest of the weights."""
    card = model.card
    digest = card.files.get("model.safetensors", "")
    sentences = [card.limits, f"Licence: {card.licence}."]
    if digest:
        sentences.append(f"SHA-256 of the weights: {digest}")
    paragraphs = (make_element("p", one) for one in sentences)
    return make_element("section", *paragraphs, class_="aside", aria_label="About the model")
