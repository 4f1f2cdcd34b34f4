"""A page shown in a notebook: a frame that fits it, and a picture for viewers without frames.

The output carries one layer of each site, or those that are named. For another layer the page says
what to run.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from areaviz.components.parts import text_of
from areaviz.drawing.base import Table
from areaviz.drawing.labels import clip
from areaviz.drawing.markup import Markup, element, raw
from areaviz.publish.figures import first_site, numbers_of, picture_of
from areaviz.publish.options import PageOptions, Theme
from areaviz.publish.page import frame_page, opening_of
from areaviz.trace.asked import check_trace
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

if TYPE_CHECKING:
    from areaviz.publish.widget import AttentionWidget

HEIGHTS = (200, 4000)
"""Least and most pixels of a notebook's frame."""
FIRST_HEIGHT = 640
"""Of a frame that fits itself, until its page has said how high it is."""
BESIDE = ("alignment", "overview")
"""The views whose figures stand below what is pointed at: a heat map, and layers by heads."""
NAME_DIGITS = 16
ROWS, LETTERS = 12, 60
"""Most rows of the numbers in an output, and most characters of a cell."""
HIDDEN_BY_CLASS = "jp-FileSize-hidden"
"""A class that JupyterLab's style sheet hides, in which nbconvert shows a notebook.

`nbconvert --sanitize-html` prints the source of frames and scripts, and removes styles. So an
element of this class whose own style shows it is hidden there, and seen everywhere else.
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """A page that a notebook shows where the last line of a cell gives it.

    Args:
        html: the page.
        picture: of what it opens with, PNG; b"" where nothing attends.
        height: of its frame, in pixels; None fits it to the page.
        numbers: of the picture; no rows where nothing attends.
    """

    html: str
    picture: bytes
    height: int | None
    numbers: Table

    def __repr__(self) -> str:
        return (
            f"<areaviz page of {len(self.html) / 2**20:.1f} MiB: a notebook shows it; "
            "areaviz.export writes it as a file>"
        )

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, which can run its scripts and reach nothing else.

        A picture and its numbers stand beside it, which a script hides. Viewers of notebooks that
        are not trusted remove frames and scripts and show the picture and the numbers. Sanitised
        nbconvert allows no picture in HTML, so it shows the numbers.
        """
        name = f"areaviz-{hashlib.sha256(self.html.encode()).hexdigest()[:NAME_DIGITS]}"
        style = f"width: 100%; height: {self.height or FIRST_HEIGHT}px; border: 0"
        frame = element(
            "iframe", srcdoc=self.html, sandbox="allow-scripts", style=style, title="areaviz"
        )
        seen = element("div", self._image(), frame, class_=HIDDEN_BY_CLASS, style="display: block")
        arguments = json.dumps([name, self.height is None, HEIGHTS])[1:-1]
        # In a scope of its own: every output of a notebook is in one document.
        script = f"(() => {{\n{text_of('page/frame.js')}\nfitFrames({arguments});\n}})();"
        scripts = element("div", raw("script", script), class_=HIDDEN_BY_CLASS)
        output = element("div", seen, self._numbers(), scripts, class_=name)
        # In references, so that a document of another encoding changes no letter of the page's
        # scripts, which its policy knows by their hashes.
        return output.encode("ascii", "xmlcharrefreplace").decode()

    def _image(self) -> Markup:
        if not self.picture:
            return Markup()
        source = f"data:image/png;base64,{base64.b64encode(self.picture).decode()}"
        alt = "What the page opens with; run the cell to point at it"
        return element("img", src=source, alt=alt, style="max-width: 100%")

    def _numbers(self) -> Markup:
        """Return the first rows of the numbers as a table, in elements that nbconvert allows."""
        if not self.numbers.rows:
            return Markup()
        rows = [self.numbers.columns, *self.numbers.rows[:ROWS]]
        drawn = []
        for row in rows:
            drawn.append(element("tr", *(element("td", clip(str(one), LETTERS)) for one in row)))
        count = len(self.numbers.rows)
        which = f"the first {ROWS} of {count:,} rows" if count > ROWS else "all rows"
        says = element("div", f"The numbers of this output's picture, {which}:")
        return element("div", says, element("table", *drawn), class_="areaviz-numbers")

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> dict[str, str]:
        """Text, page and picture, of which every viewer shows the richest it can.

        Args:
            include: the kinds that are asked for; all of them where it is None.
            exclude: kinds that are not.
        """
        bundle = {"text/plain": repr(self), "text/html": self._repr_html_()}
        if self.picture:
            bundle["image/png"] = base64.b64encode(self.picture).decode()
        return shown_kinds(bundle, include, exclude)


def shown_kinds(
    bundle: Mapping[str, Any], include: Container[str] | None, exclude: Container[str] | None
) -> dict[str, Any]:
    """Return the kinds of an output that are asked for: all where `include` is None."""
    return {
        kind: content
        for kind, content in bundle.items()
        if (include is None or kind in include) and kind not in (exclude or ())
    }


def show(
    trace: Trace,
    focus: Focus | None = None,
    options: PageOptions | None = None,
    height: int | None = None,
    theme: Theme | None = None,
    widget: bool | None = None,
) -> Shown | AttentionWidget:
    """Return the interactive view of a trace, for the last line of a notebook's cell.

    With the extra `areaviz[notebook]` it is a widget: `widget.focus` is what it shows, in both
    directions, and layers come from this process when they are chosen. Without the extra it is a
    page in a frame. The output carries the layer it opens with, of every site, or those that
    `options.layers` names. Below stand a heat map and an overview of layers and heads, unless
    `options` names other views. A viewer that shows no pages gets a picture.

    Args:
        focus: where it opens.
        options: what the page carries; by default of all sites.
        height: pixels, 200 to 4,000, where what is longer scrolls; None fits the frame to the page.
        theme: "light", "dark" or "auto"; None leaves that to the options.
        widget: whether it is a widget; None makes one where the extra is installed.

    Raises:
        InputError: the extra is missing, the height is out of range, the page would be larger than
            its limit, or an option or the focus asks for what is not there.
    """
    check_trace(trace)
    low, high = HEIGHTS
    if height is not None and not low <= height <= high:
        raise InputError(
            f"The height is {height:,} pixels but must lie between {low} and {high:,}; choose"
            " another, or None."
        )
    chosen = options or PageOptions()
    chosen = (chosen if theme is None else replace(chosen, theme=theme)).checked()
    if not chosen.views:
        chosen = replace(chosen, views=BESIDE)
    opening = opening_of(trace, focus, chosen) or focus or first_site(trace)
    html, picture = frame_page(trace, focus, chosen), picture_of(trace, opening)
    shown = Shown(html, picture, height, numbers_of(trace, opening))
    if widget is None:
        widget = find_spec("anywidget") is not None
    return _widget(trace, focus, chosen, shown) if widget else shown


def _widget(
    trace: Trace, focus: Focus | None, options: PageOptions, frame: Shown
) -> AttentionWidget:
    try:
        from areaviz.publish.widget import AttentionWidget
    except ImportError as error:
        raise InputError(
            "A widget needs the package anywidget; install it with: pip install 'areaviz[notebook]'"
        ) from error
    return AttentionWidget(trace, focus, options, frame)
