"""A trace in the output of a notebook: a page in a frame, and an image for viewers without frames.

The page contains one layer of each map, or the layers in the options. For other layers it shows the
code to run.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from areaviz.draw.labels import Markup, make_element, make_raw_element, truncate
from areaviz.draw.view import Table
from areaviz.page.content import (
    PageOptions,
    Theme,
    draw_opening_png,
    list_opening_numbers,
    select_first_site,
)
from areaviz.page.page import find_opening, make_frame_page
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace, check_trace
from areaviz.trace.request import Focus
from areaviz.views.parts import read_text

if TYPE_CHECKING:
    from areaviz.page.widget import AttentionWidget


HEIGHTS = (200, 4000)
"""Minimum and maximum height of a notebook's frame in pixels."""
FIRST_HEIGHT = 640
"""Height in pixels of a frame that fits its page, until the page has reported its height."""
DEFAULT_VIEWS = ("alignment", "overview")
"""Default views below the interactive maps: a heat map, and an overview of layers and heads."""
NAME_DIGITS = 16
ROWS, LETTERS = 12, 60
"""Maximum number of rows in the table of an output, and of characters in a cell."""
HIDDEN_BY_CLASS = "jp-FileSize-hidden"
"""A class that JupyterLab's style sheet hides. nbconvert uses that style sheet.

`nbconvert --sanitize-html` prints the source of frames and scripts as text, and removes style
attributes. An element with this class and a style attribute that shows it is therefore hidden by
nbconvert and visible everywhere else.
"""


@dataclass(frozen=True, slots=True)
class NotebookPage:
    """A page that a notebook shows if it is the value of the last line of a cell.

    Args:
        html: the page.
        picture: a PNG of the opening selection, or b"" if the trace has no attention.
        height: the height of its frame in pixels. None fits the frame to the page.
        numbers: the numbers in the picture. There are no rows if the trace has no attention.
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
        """Return the page in a frame that runs its scripts and can access nothing outside.

        The output also contains an image and its numbers, and a script hides both. Viewers of
        untrusted notebooks remove frames and scripts, so they show the image and the numbers.
        `nbconvert --sanitize-html` also removes images, so it shows only the numbers.
        """
        name = f"areaviz-{hashlib.sha256(self.html.encode()).hexdigest()[:NAME_DIGITS]}"
        style = f"width: 100%; height: {self.height or FIRST_HEIGHT}px; border: 0"
        frame = make_element(
            "iframe", srcdoc=self.html, sandbox="allow-scripts", style=style, title="areaviz"
        )
        seen = make_element(
            "div", self._image(), frame, class_=HIDDEN_BY_CLASS, style="display: block"
        )
        arguments = json.dumps([name, self.height is None, HEIGHTS])[1:-1]
        # Use a scope for each output, because all outputs of a notebook are in one document.
        script = f"(() => {{\n{read_text('page/frame.js')}\nfitFrames({arguments});\n}})();"
        scripts = make_element("div", make_raw_element("script", script), class_=HIDDEN_BY_CLASS)
        output = make_element("div", seen, self._numbers(), scripts, class_=name)
        # Use character references, because another encoding of the document would change the page's
        # scripts. The security policy of the page contains the hashes of the scripts.
        return output.encode("ascii", "xmlcharrefreplace").decode()

    def _image(self) -> Markup:
        if not self.picture:
            return Markup()
        source = f"data:image/png;base64,{base64.b64encode(self.picture).decode()}"
        alt = "The first view of the page. Run the cell to make it interactive"
        return make_element("img", src=source, alt=alt, style="max-width: 100%")

    def _numbers(self) -> Markup:
        """Return the first rows of the numbers as a table, in elements that nbconvert allows."""
        if not self.numbers.rows:
            return Markup()
        rows = [self.numbers.columns, *self.numbers.rows[:ROWS]]
        drawn = []
        for row in rows:
            drawn.append(
                make_element(
                    "tr", *(make_element("td", truncate(str(one), LETTERS)) for one in row)
                )
            )
        count = len(self.numbers.rows)
        which = f"the first {ROWS} of {count:,} rows" if count > ROWS else "all rows"
        says = make_element("div", f"The numbers of this output's picture, {which}:")
        return make_element("div", says, make_element("table", *drawn), class_="areaviz-numbers")

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> dict[str, str]:
        """Return text, page and image. A viewer shows the richest format that it supports.

        Args:
            include: the requested MIME types. None requests all.
            exclude: MIME types to leave out.
        """
        bundle = {"text/plain": repr(self), "text/html": self._repr_html_()}
        if self.picture:
            bundle["image/png"] = base64.b64encode(self.picture).decode()
        return select_mime_types(bundle, include, exclude)


def select_mime_types(
    bundle: Mapping[str, Any], include: Container[str] | None, exclude: Container[str] | None
) -> dict[str, Any]:
    """Return the requested MIME types of an output. If `include` is None, return all."""
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
) -> NotebookPage | AttentionWidget:
    """Return the interactive view of a trace, for the last line of a notebook cell.

    With the extra `areaviz[notebook]`, the view is a widget. You can read and set `widget.focus`,
    the current selection. The widget loads layers from this process when they are selected. Without
    the extra, the view is a page in a frame. The saved output contains the opening layer of every
    site, or the layers in `options.layers`. Below the maps are a heat map and an overview of layers
    and heads, unless `options` names other views. A viewer that cannot show pages shows a still
    image.

    Args:
        trace: the trace.
        focus: the selection that the view first shows.
        options: the content of the page. The default includes all sites.
        height: the height in pixels, 200 to 4,000, with scrolling. None fits the frame to the page.
        theme: "light", "dark" or "auto". None uses that of the options.
        widget: whether to return a widget. None returns one if the extra is installed.

    Raises:
        InputError: the extra is missing, the height is out of range, the page would exceed its size
            limit, or an option or the selection does not exist in the trace.
    """
    check_trace(trace)
    low, high = HEIGHTS
    if height is not None and not low <= height <= high:
        raise InputError(
            f"The height is {height:,} pixels but must be between {low} and {high:,}. Choose"
            " another height, or None."
        )
    chosen = options or PageOptions()
    chosen = (chosen if theme is None else replace(chosen, theme=theme)).checked()
    if not chosen.views:
        chosen = replace(chosen, views=DEFAULT_VIEWS)
    opening = find_opening(trace, focus, chosen) or focus or select_first_site(trace)
    html, picture = make_frame_page(trace, focus, chosen), draw_opening_png(trace, opening)
    shown = NotebookPage(html, picture, height, list_opening_numbers(trace, opening))
    if widget is None:
        widget = find_spec("anywidget") is not None
    return _make_widget(trace, focus, chosen, shown) if widget else shown


def _make_widget(
    trace: Trace, focus: Focus | None, options: PageOptions, frame: NotebookPage
) -> AttentionWidget:
    try:
        from areaviz.page.widget import AttentionWidget
    except ImportError as error:
        raise InputError(
            "A widget needs the package anywidget. Install it with: pip install 'areaviz[notebook]'"
        ) from error
    return AttentionWidget(trace, focus, options, frame)
