"""The controls of a live page: the input, the decoding, and changes of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from areaviz.cards.card import Card
from areaviz.draw.labels import Markup, make_element
from areaviz.page.body import encode_picture_as_data_url
from areaviz.publish.live_model import LiveModel
from areaviz.trace.errors import MAX_CODE_POINTS
from areaviz.trace.record import Trace
from areaviz.trace.request import Picture

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
LABELS: Mapping[str, str] = {
    "points": "Points, each as x,y",
    "questions": "Story and question",
}
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
    """Return the panel that explains a weight. live/page/why.js fills it."""
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
