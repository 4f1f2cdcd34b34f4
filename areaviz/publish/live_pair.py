"""Two live models in one HTML file. Readers type an input once, and both models run on it.

The file contains the live page of each model as text and shows it in a frame. A frame without an
address inherits the security policy of the page around it. This policy therefore allows the scripts
and styles of all three pages.
"""

from __future__ import annotations

from areaviz.draw.labels import (
    Markup,
    make_data_block,
    make_document,
    make_element,
    make_raw_element,
)
from areaviz.page.body import NO_SCRIPT
from areaviz.page.content import PageOptions
from areaviz.page.page import make_page_style
from areaviz.publish.live import FOOTER, POLICY, LivePage
from areaviz.show.parts import join_modules, read_text
from areaviz.trace.errors import InputError

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
