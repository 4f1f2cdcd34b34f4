"""A trace as a notebook widget: `areaviz.show` with the extra `areaviz[notebook]`.

The widget is the page of `areaviz.export` in the notebook's own document. `widget.focus` is always
the user's selection, and setting it changes the selection. Layers that are not in the output come
over the notebook's own connection, so no port is opened. The output also contains the frame of
`show`, for viewers without widgets.
"""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

import anywidget
import traitlets

from areaviz.page.body import collect_script_settings, render_page_body
from areaviz.page.content import (
    PageOptions,
    Place,
    choose_opening_focus,
    format_focus,
    list_places,
    make_payload,
)
from areaviz.page.notebook import NotebookPage, select_mime_types
from areaviz.page.page import (
    collect_page_content,
    make_frame_payloads,
    make_page_script,
    make_page_style,
)
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
"""The MIME type by which a notebook recognises a widget."""


def _format_focus(focus: Focus | None, widget: object) -> dict[str, Any] | None:
    return None if focus is None else format_focus(focus)


def _parse_browser_focus(told: Any, widget: object) -> Focus | None:
    """Return the selection that a browser sent.

    Raises:
        InputError: the value is not a valid selection.
    """
    if told is None:
        return None
    try:
        selection = dict(told["selection"])
        selection["items"] = tuple(map(int, selection["items"]))
        return Focus(str(told["site"]), int(told["layer"]), **selection)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            "The notebook sent a focus that cannot be read. Run the cell again."
        ) from (error)


class AttentionWidget(anywidget.AnyWidget):
    """The interactive view of a trace in a notebook.

    `focus` is the user's selection. Set it to change the selection, and observe it with
    `widget.observe(function, "focus")`. `frame` is the output for viewers without widgets.
    """

    focus = traitlets.Instance(Focus, allow_none=True).tag(
        sync=True, to_json=_format_focus, from_json=_parse_browser_focus
    )
    _esm = traitlets.Unicode().tag(sync=True)
    _style = traitlets.Unicode().tag(sync=True)
    _body = traitlets.Unicode().tag(sync=True)
    _told = traitlets.Dict().tag(sync=True)
    _carried: traitlets.List[Any] = traitlets.List().tag(sync=True)
    _height = traitlets.Int(allow_none=True).tag(sync=True)

    def __init__(
        self, trace: Trace, focus: Focus | None, options: PageOptions, frame: NotebookPage
    ) -> None:
        """Create the widget of a trace.

        Args:
            trace: the trace to show.
            focus: the selection that the widget first shows.
            options: the content of the page.
            frame: the output for viewers without widgets.

        Raises:
            InputError: see `areaviz.show`.
        """
        self.frame = frame
        self._trace, self._options = trace, options
        self._places: Sequence[Place] = list_places(trace, options)
        content = collect_page_content(trace, self._places, focus, options, "widget")
        carried = []
        for one in make_frame_payloads(trace, self._places, focus, options, 0):
            data = base64.b64decode(one.data)
            carried.append({"site": one.site, "layer": one.layer, "data": data})
        super().__init__(
            focus=choose_opening_focus(trace, self._places, focus),
            _esm=make_page_script(content.shown, "page/widget.js"),
            _style=_adapt_style_to_shadow(make_page_style(options.theme)),
            _body="".join(render_page_body(content)),
            _told=collect_script_settings(content),
            _carried=carried,
            _height=frame.height,
        )
        self.on_msg(self._answer)

    @property
    def html(self) -> str:
        """The page in the frame."""
        return self.frame.html

    @property
    def picture(self) -> bytes:
        """A PNG of the opening selection, or b"" if the trace has no attention."""
        return self.frame.picture

    @property
    def height(self) -> int | None:
        """The maximum height of the view in pixels, or None if it is as high as its page."""
        return self.frame.height

    @traitlets.validate("focus")
    def _check_focus(self, proposal: Mapping[str, Any]) -> Focus | None:
        focus: Focus | None = proposal["value"]
        if focus is None and not self._places:
            return None
        checked = choose_opening_focus(self._trace, self._places, focus)
        if checked is None:
            raise InputError("The widget cannot show this site. Choose an interactive site.")
        # Sort the items, because the browser would report another order as a change.
        return replace(checked, items=tuple(sorted(set(checked.items))))

    def _answer(self, widget: object, asked: Any, buffers: object) -> None:
        """Send the requested layer, or an answer without data if it does not exist."""
        if not isinstance(asked, dict) or asked.get("kind") != "layer":
            return
        known = {place.site: place for place in self._places}
        place = known.get(str(asked.get("site")))
        layer = asked.get("layer")
        data = []
        if place is not None and isinstance(layer, int) and layer in place.layers:
            data.append(
                base64.b64decode(make_payload(self._trace, place, layer, self._options).data)
            )
        self.send({"kind": "layer", "number": asked.get("number")}, data)

    def _repr_mimebundle_(
        self,
        include: Container[str] | None = None,
        exclude: Container[str] | None = None,
        **more: Any,
    ) -> Any:
        """Return the widget, its page and its image. A viewer shows the richest supported format.

        If a program runs the notebook, as in `nbconvert --execute`, the widget is left out. Readers
        of the saved notebook have no kernel and would see an empty space in place of the page.
        """
        drawn: Any = super()._repr_mimebundle_(**more)
        data, metadata = drawn
        bundle = dict(self.frame._repr_mimebundle_())
        if is_watched():
            bundle[WIDGET_VIEW] = data[WIDGET_VIEW]
        kept = select_mime_types(bundle, include, exclude)
        return (kept, metadata) if metadata else kept

    def __repr__(self) -> str:
        return repr(self.frame)


def is_watched() -> bool:
    """Return whether a person runs the cell and can use a widget, as far as this can be known.

    A notebook in a browser allows a cell to ask its user for input. Programs that run a whole
    notebook, such as nbconvert and papermill, do not allow this.
    """
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return True
    request = kernel.get_parent("shell")
    return bool(request.get("content", {}).get("allow_stdin", True))


def _adapt_style_to_shadow(style: str) -> str:
    """Return the page's style sheet for a shadow tree, which has no root or body element."""
    style = re.sub(r"(?m)^(\s*):root \{", r"\1:host {", style)
    return re.sub(r"(?m)^body \{", ".page {", style)
