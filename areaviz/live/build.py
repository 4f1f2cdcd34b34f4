"""A page with one or two live models: the model's data, the controls, and the HTML.

Read `make_live_page` first. `make_live_pair` at the end shows two models side by side.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from areaviz import __version__
from areaviz.cards.card import Card
from areaviz.draw.labels import (
    Markup,
    make_data_block,
    make_document,
    make_element,
    make_raw_element,
)
from areaviz.draw.select import get_display_field
from areaviz.draw.theme import ACCENT, HEAD_COLOURS, SECOND, SEQUENCE_STOPS
from areaviz.page.body import (
    NO_SCRIPT,
    collect_script_settings,
    encode_picture_as_data_url,
    render_page_body,
    render_payload,
)
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
from areaviz.samples.reasoning import MOST
from areaviz.trace.areas import MAX_OVERLAP
from areaviz.trace.derived import remove_best
from areaviz.trace.document import request_entry
from areaviz.trace.errors import MAX_CODE_POINTS, InputError
from areaviz.trace.query import EVEN_SHARE, MASSES, SINK
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Picture
from areaviz.views.grid.grid import COARSE, KEPT, OVERLAPS, SHOWN, SURE, WANTED
from areaviz.views.grid.grid import TOP as TOP_RECTANGLES
from areaviz.views.looks.looks import LOOK_DESCRIPTIONS
from areaviz.views.message import make_title
from areaviz.views.parts import join_modules, read_parts, read_text, without_comments
from areaviz.views.ribbon.ribbon import ENTRIES, ROOMY
from areaviz.views.ribbon.table import MAX_RATIO, MAX_WORK, TOP

# The models that a live page can run, and the data that its engine needs.
#
# The engine is the JavaScript in areaviz/live that runs a model in the browser. It reads the bytes
# of the checkpoint's weights file, so a page contains the file whose digest is on the card.


READERS = ("items", "ram", "stn")
"""Families of models that read digits, keys of `READERS` in live/digit_reader.js."""
WITHOUT_TOKENS = ("pointer", "memory", *READERS)
"""Families of models that read no tokens, keys of `MODELS` in live/models.js."""
FAMILIES = (
    *("transformer", "text decoder", "recurrent text decoder", "lstm", "birnn", "captioner"),
    *WITHOUT_TOKENS,
)
"""All families that a page can run.

Those with tokens are keys of `FAMILIES` in live/text_decoders.js.
"""
NEEDED: Mapping[str, tuple[Any, ...]] = {
    "key_mode": ("mean", "boundary"),
    "value_mode": ("sum",),
    "convolution": (1,),
    "size_bias": (False,),
    "attends": (True,),
}
"""Options of attention, each with the values that the engine supports."""


@dataclass(frozen=True, slots=True)
class LiveModel:
    """The data with which a page runs a model.

    Args:
        card: the card of the model.
        weights: the bytes of model.safetensors.
        pieces: the tokenizer as plain values, or None for a model without a tokenizer.
        facts: for a digit reader, the side of its input in pixels ("side") and the number of
            multiply-adds per picture ("multiplyAdds"). Empty for other models.
    """

    card: Card
    weights: bytes
    pieces: Mapping[str, Any] | None
    facts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def load(cls, folder: Path, card: Card, families: Sequence[str] = FAMILIES) -> LiveModel:
        """Read a checkpoint.

        Args:
            folder: the folder of the checkpoint.
            card: its card.
            families: the families that are accepted.

        Raises:
            InputError: the engine cannot run this model.
            OSError: a file cannot be read.
        """
        # These imports load torch, which a page without a live model does not need.
        from areaviz.models.base import TOKENIZER, WEIGHTS, find_file
        from areaviz.models.digit_reader import DigitReader
        from areaviz.models.tokenizer import Tokenizer

        check_live(card, families)
        pieces, facts = None, {}
        if card.family in READERS:
            reader = DigitReader.load(folder, card)
            facts = {"side": reader.side, "multiplyAdds": reader.multiply_adds}
        if card.family not in WITHOUT_TOKENS:
            pieces = Tokenizer.load(find_file(folder, TOKENIZER, card.files)).plain()
        return cls(card, (folder / WEIGHTS).read_bytes(), pieces, facts)

    @property
    def plain(self) -> dict[str, Any]:
        """The entries of the card that the engine needs, for JSON."""
        from areaviz.models.network import LENGTH_PENALTY

        card, limit = self.card, self.card.length_limit
        penalty = LENGTH_PENALTY if card.length_penalty is None else card.length_penalty
        return {
            "name": card.name,
            "title": card.title,
            "family": card.family,
            "level": card.level,
            "trainedLength": card.trained_length,
            "config": dict(card.config),
            "lengthLimit": limit and {"ratio": limit.ratio, "extra": limit.extra},
            "lengthPenalty": penalty,
            **self.facts,
        }

    @property
    def encoded_weights(self) -> str:
        """The weights in base64."""
        return base64.b64encode(self.weights).decode()


def check_live(card: Card, families: Sequence[str] = FAMILIES) -> None:
    """Check that the engine can run a model.

    Raises:
        InputError: the engine does not support the model.
    """
    if card.family not in families:
        raise InputError(
            f"{card.name} cannot run in a page, because the engine has no networks of the family"
            f' "{card.family}". Choose a model that docs/live.md lists.'
        )
    if card.grammar:
        raise InputError(
            f"{card.name} cannot run in a page, because its output follows a grammar that the"
            " engine does not support. Choose a model that docs/live.md lists."
        )
    if card.pictures == "photos":
        raise InputError(
            f"{card.name} cannot run in a page, because the file would be too large. Choose a model"
            " that describes scenes."
        )
    for option, known in NEEDED.items():
        if card.config.get(option, known[0]) not in known:
            raise InputError(
                f'{card.name} cannot run in a page, because the engine does not support "{option}"'
                f" with the value {card.config[option]}. Choose another model."
            )


# The controls of a live page: the input, the decoding, and changes of the run.


MOST_BEAM = 8
"""Maximum beam width that the page offers."""
VERBS: Mapping[str, str] = {
    "points": "Answer",
    "questions": "Answer",
    "translation": "Translate",
    "reading": "Continue",
    "caption": "Describe",
    "digits": "Read",
}
"""The label of the button that runs the model, by task."""
LABELS: Mapping[str, str] = {"points": "Points, each as x,y", "questions": "Story and question"}
"""The label of the field for the text, by task. Other tasks have the label "Text"."""
UNDECODED = ("questions", "digits")
"""Tasks whose output is one of a few labels. Their models need no decoding method."""
CHANGES: Mapping[str, str] = {
    "live-ban": "Ban areas with the pinned items",
    "live-double": "Give them four times the weight",
    "live-hide": "Hide the pinned items",
    "live-gate": "Switch the chosen head off",
}
"""The buttons that change a run, by their ids in live/page/what_if.js."""
WHAT_IF = (
    "Click a part of the text that is attended to, or choose one head, and then change the run. The"
    " model runs again at once."
)

WHY = (
    "An area's weight is the softmax of its logit, and the logit is a sum of terms. Compare two"
    " areas to see which term makes one heavier. A logit that is 0.69 higher is twice the weight."
)


def render_live_form(
    model: LiveModel, trace: Trace, pictures: Sequence[Picture], has_areas: bool = True
) -> Markup:
    """Return the form. It is hidden until the engine has been loaded.

    Args:
        model: the model.
        trace: the run that the page first shows.
        pictures: the pictures that readers can choose.
        has_areas: whether readers can choose the size of the largest area.
    """
    given = (
        _render_text_field(model.card, trace)
        if trace.request.picture is None
        else _render_picture_fields(trace, pictures)
    )
    decodings = [("greedy 1", "Greedy")]
    decodings += [(f"beam {width}", f"Beam {width}") for width in range(2, MOST_BEAM + 1, 2)]
    method = f"{trace.request.method} {trace.request.beam}"
    menus = []
    if model.card.task not in UNDECODED:
        menus.append(_render_choice("live-decoding", "Decoding", decodings, method))
    trained = int(model.card.config.get("area_size", 1))
    sizes = [("", f"As trained ({trained})")]
    sizes += [(f"{size}", f"{size}") for size in range(1, trained)]
    if has_areas and len(sizes) > 1:
        menus.append(_render_choice("live-area", "Largest area", sizes, ""))
    button = VERBS.get(model.card.task, "Run")
    return make_element(
        "form",
        *given,
        *menus,
        make_element("button", button, id="live-run", type="submit"),
        make_element("button", "Stop", id="live-stop", type="button", hidden=""),
        make_element("p", id="live-status", role="status"),
        make_element("p", id="live-problem", role="alert", hidden=""),
        id="live",
        hidden="",
        aria_label="Run the model",
    )


def _render_choice(
    name: str, label: str, options: Sequence[tuple[str, str]], chosen: str
) -> Markup:
    """Return a labelled menu of (value, text) pairs."""
    offered = []
    for value, text in options:
        selected = {"selected": ""} if value == chosen else {}
        offered.append(make_element("option", text, value=value, **selected))
    menu = make_element("select", *offered, id=name)
    return make_element("div", make_element("label", label, for_=name), menu)


def _render_text_field(card: Card, trace: Trace) -> list[Markup]:
    """Return the field for a text, filled with the text of the stored run.

    Points and stories have a field of several lines.
    """
    label, text = LABELS.get(card.task, "Text"), trace.request.text
    shared = {"id": "live-text", "maxlength": str(MAX_CODE_POINTS), "spellcheck": "false"}
    if card.task in LABELS:
        field = make_element("textarea", text, rows="3", **shared)
    else:
        field = make_element("input", type="text", value=text, autocomplete="off", **shared)
    return [
        make_element(
            "div", make_element("label", label, for_="live-text"), field, class_="live-wide"
        )
    ]


def _render_picture_fields(trace: Trace, pictures: Sequence[Picture]) -> list[Markup]:
    """Return a menu of sample pictures, and a field for a file that readers choose."""
    offered = []
    for picture in pictures:
        is_shown = picture == trace.request.picture
        selected = {"selected": ""} if is_shown else {}
        # The page already contains the picture of the stored run.
        source = "" if is_shown else encode_picture_as_data_url(picture)
        option = make_element(
            "option", picture.name, value=picture.name, data_source=source, **selected
        )
        offered.append(option)
    menu = make_element("select", *offered, id="live-picture")
    file = make_element("input", id="live-file", type="file", accept="image/*")
    return [
        make_element("div", make_element("label", "Picture", for_="live-picture"), menu),
        make_element(
            "div", make_element("label", "Your picture", for_="live-file"), file, class_="live-wide"
        ),
    ]


def render_what_if_panel() -> Markup:
    """Return the buttons that change the next run."""
    buttons = []
    for name, label in CHANGES.items():
        button = make_element("button", label, id=name, type="button", data_change="", disabled="")
        buttons.append(button)
    return make_element(
        "section",
        make_element("h2", "What if"),
        make_element("p", WHAT_IF, class_="facts"),
        make_element("div", *buttons, class_="live-buttons"),
        make_element("ul", aria_label="Changes of the run"),
        id="live-changes",
        class_="panel",
        hidden="",
        aria_label="What if",
    )


def render_why_panel() -> Markup:
    """Return the panel that explains a weight. live/page/what_if.js fills it."""
    menus = []
    for name, label in (("why-area", "Area"), ("why-beside", "Compare with")):
        menus.append(_render_choice(name, label, (), ""))
    return make_element(
        "details",
        make_element("summary", "Why this weight"),
        make_element("p", WHY, class_="facts"),
        make_element("div", *menus, class_="live-pair"),
        make_element("div", class_="why", aria_live="polite"),
        id="live-why",
        hidden="",
    )


# A page with a live model: one HTML file that runs a model on the reader's device.
#
# The page first shows a stored run. The run comes before the weights in the file, so the page draws
# it before the weights have arrived. The engine, which runs the model, is JavaScript in
# areaviz/live and runs in a worker. The page's security policy allows no other script, and
# nothing can be fetched or sent.


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
    shared = "\n".join(map(read_text, ("views/message.js", "page/panels.js")))
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
    """Return the settings with which the engine makes payloads, see payload_parts.js.

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
    for name, one in trace.fields.items():
        anchors = one.anchors.tolist()
        fields[name] = {"raw": one.raw, "anchors": anchors, "labels": list(one.labels)}
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


# Two live models in one HTML file. Readers type an input once, and both models run on it.
#
# The file contains the live page of each model as text and shows it in a frame. A frame without an
# address inherits the security policy of the page around it. This policy therefore allows the
# scripts and styles of all three pages.


MODULES = ("live/page/pair.js",)


def make_live_pair(first: LivePage, second: LivePage, options: PageOptions | None = None) -> str:
    """Return an HTML page that contains two models and runs both on the typed input.

    Args:
        first: the live page of one model. Its form controls both models.
        second: the live page of the other model.
        options: title, note and theme of the page.

    Raises:
        InputError: the models do not read the same kind of input.
    """
    options = options or PageOptions()
    check_pair(first, second)
    pages = (first, second)
    title = options.title.strip() or " and ".join(page.model.card.name for page in pages)
    style = f"{make_page_style(options.theme)}\n{read_text('live/page/page.css')}"
    style += read_text("live/page/pair.css")
    script = f"{join_modules(MODULES)}\nawait openPair();"
    note = [make_element("p", options.note, class_="note")] if options.note.strip() else []
    body = [
        make_element("header", make_element("h1", f"{title}, live"), *note),
        first.form(has_areas=False),
        make_element("main", *map(_render_frame, pages), class_="pair"),
        make_element("footer", FOOTER),
        *(make_data_block(page.html, id=f"page-{page.model.card.name}") for page in pages),
        make_raw_element("script", script, type="module"),
    ]
    styles = dict.fromkeys([style, *first.styles, *second.styles])
    scripts = dict.fromkeys([script, first.script, second.script])
    return make_document(f"{title}, live", list(styles), list(scripts), body, POLICY)


def check_pair(first: LivePage, second: LivePage) -> None:
    """Check that two models can be compared.

    Raises:
        InputError: they are the same model, or they have different tasks.
    """
    one, other = first.model.card, second.model.card
    if one.name == other.name:
        raise InputError(f"Both models are {one.name}. Give two different models to compare.")
    if one.task != other.task:
        raise InputError(
            f"{one.name} and {other.name} have different tasks ({one.task} and {other.task}), so"
            " they do not answer the same input. Choose two models of one task."
        )


def _render_frame(page: LivePage) -> Markup:
    """Return a still picture of a page, and the hidden frame that the script shows instead."""
    name = page.model.card.name
    still = make_element("section", make_element("p", NO_SCRIPT), page.still, class_="still")
    frame = make_element("iframe", title=f"{name}, live", data_page=f"page-{name}", hidden="")
    return make_element("div", still, frame)
