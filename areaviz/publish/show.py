"""A page shown in a notebook: a frame that fits it, and a picture for who cannot open frames.

The output carries one layer of each site. Another layer is asked for when it is chosen, from a
server of this process that answers this machine alone; where it does not answer, the page says what
to run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import weakref
from collections.abc import Container
from dataclasses import dataclass, replace
from threading import Thread

from areaviz.components.parts import text_of
from areaviz.drawing.markup import Markup, element, raw
from areaviz.publish.content import places
from areaviz.publish.figures import first_site, picture_of
from areaviz.publish.loopback import LayerServer
from areaviz.publish.options import PageOptions, Theme
from areaviz.publish.page import notebook_page, opening_of
from areaviz.trace.asked import check_trace
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

HEIGHTS = (200, 4000)
"""Least and most pixels of a notebook's frame."""
FIRST_HEIGHT = 640
"""Of a frame that fits itself, until its page has said how high it is."""
BESIDE = ("alignment", "overview")
"""The views whose figures stand below what is pointed at: a heat map, and layers by heads."""
NAME_DIGITS = 16


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Shown:
    """A page that a notebook shows where the last line of a cell gives it.

    Args:
        html: the page.
        picture: of what it opens with, PNG; b"" where nothing attends.
        height: of its frame, in pixels; None fits it to the page.
    """

    html: str
    picture: bytes
    height: int | None

    def __repr__(self) -> str:
        return (
            f"<areaviz page of {len(self.html) / 2**20:.1f} MiB: a notebook shows it; "
            "areaviz.export writes it as a file>"
        )

    def _repr_html_(self) -> str:
        """The page in a frame of its own, which can run its scripts and reach nothing else.

        A picture stands before it, which a script hides: who removes frames and scripts, as viewers
        of notebooks that are not trusted do, still shows something.
        """
        name = f"areaviz-{hashlib.sha256(self.html.encode()).hexdigest()[:NAME_DIGITS]}"
        style = f"width: 100%; height: {self.height or FIRST_HEIGHT}px; border: 0"
        frame = element(
            "iframe", srcdoc=self.html, sandbox="allow-scripts", style=style, title="areaviz"
        )
        arguments = json.dumps([name, self.height is None, HEIGHTS])[1:-1]
        # In a scope of its own: every output of a notebook is in one document.
        script = f"(() => {{\n{text_of('page/frame.js')}\nfitFrames({arguments});\n}})();"
        output = element("div", self._image(), frame, raw("script", script), class_=name)
        # In references, so that a document of another encoding changes no letter of the page's
        # scripts, which its policy knows by their hashes.
        return output.encode("ascii", "xmlcharrefreplace").decode()

    def _image(self) -> Markup:
        if not self.picture:
            return Markup()
        source = f"data:image/png;base64,{base64.b64encode(self.picture).decode()}"
        alt = "What the page opens with; run the cell to point at it"
        return element("img", src=source, alt=alt, style="max-width: 100%")

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
) -> Shown:
    """The interactive view of a trace, for the last line of a notebook's cell.

    The output carries the layer it opens with, of every site; others come from this process when
    they are chosen, on this machine and as long as it runs. `options.layers` carries those that it
    names, and no others. Below stand a heat map and an overview of layers and heads, unless
    `options` names other views. A viewer that shows no pages gets a picture.

    Args:
        focus: where it opens.
        options: what the page carries; by default of all sites.
        height: pixels, 200 to 4,000, where what is longer scrolls; None fits the frame to the page.
        theme: "light", "dark" or "auto"; None leaves that to the options.

    Raises:
        InputError: the height is out of range, the page would be larger than its limit, or an
            option or the focus asks for what is not there.
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
    # A page with all its layers needs nobody to ask.
    is_whole = chosen.layers or all(len(one.layers) == 1 for one in places(trace, chosen))
    server = None if is_whole else LayerServer(trace, chosen)
    source = "" if server is None else server.url
    page = notebook_page(trace, focus, chosen, source)
    shown = Shown(page, picture_of(trace, opening), height)
    if server is not None:
        Thread(target=server.serve_forever, name="areaviz layers", daemon=True).start()
        # Nobody can ask for more once the notebook has let go of the output.
        weakref.finalize(shown, _close, server).atexit = False
    return shown


def _close(server: LayerServer) -> None:
    server.shutdown()
    server.server_close()
