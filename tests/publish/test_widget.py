"""The widget of a notebook: its focus, its layers on demand, and the content of its output."""

from __future__ import annotations

import base64
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import traitlets

import areaviz
from areaviz.page.content import PageOptions, format_focus, list_places, make_payload
from areaviz.page.widget import WIDGET_VIEW, AttentionWidget
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from tests import fakes
from tests.sampled import sampled

pytestmark = pytest.mark.usefixtures("_equal_figures_are_drawn_once")
FOCUS = Focus("encoder-decoder", 1, items=(2,))
Sent = list[tuple[dict[str, Any], Sequence[bytes]]]


def widget_of(trace: Trace, focus: Focus | None = None, **more: Any) -> AttentionWidget:
    shown = areaviz.show(trace, focus, widget=True, **more)
    assert isinstance(shown, AttentionWidget)
    return shown


@pytest.fixture
def widget() -> AttentionWidget:
    return widget_of(fakes.trace(), FOCUS)


@pytest.fixture
def ask(widget: AttentionWidget, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Sent]:
    """Send a message as a browser does, and return the widget's answer."""
    sent: Sent = []
    monkeypatch.setattr(widget, "send", lambda content, data: sent.append((content, data)))

    def send(message: Any) -> Sent:
        widget._handle_custom_msg(message, [])
        return sent

    return send


def test_show_returns_widget_if_extra_is_installed() -> None:
    shown = areaviz.show(fakes.trace())
    assert isinstance(shown, AttentionWidget) and shown.focus is not None
    assert shown.focus.items and shown.html == shown.frame.html and shown.picture


def test_widget_output_contains_frame_and_picture(widget: AttentionWidget) -> None:
    bundle = widget._repr_mimebundle_()
    assert list(bundle) == ["text/plain", "text/html", "image/png", WIDGET_VIEW]
    assert bundle[WIDGET_VIEW]["model_id"] == widget.model_id
    assert bundle["text/html"] == widget.frame._repr_html_()
    assert base64.b64decode(bundle["image/png"]) == widget.frame.picture
    assert list(widget._repr_mimebundle_(include={"image/png"})) == ["image/png"]
    assert WIDGET_VIEW not in widget._repr_mimebundle_(exclude={WIDGET_VIEW})


@pytest.mark.parametrize(
    ("content", "is_watched"),
    sampled(
        [({"allow_stdin": False}, False), ({"allow_stdin": True}, True), ({}, True)],
        ({"allow_stdin": False}, False),
        many=True,
    ),
)
def test_unwatched_run_has_no_widget(
    widget: AttentionWidget,
    monkeypatch: pytest.MonkeyPatch,
    content: dict[str, bool],
    is_watched: bool,
) -> None:
    kernel = SimpleNamespace(get_parent=lambda channel: {"content": content})
    shell = SimpleNamespace(kernel=kernel)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert (WIDGET_VIEW in widget._repr_mimebundle_()) == is_watched
    assert widget._repr_mimebundle_()["text/html"] == widget.frame._repr_html_()


def test_focus_set_in_python_reaches_the_browser(widget: AttentionWidget) -> None:
    widget.focus = Focus("encoder self", 0, head=2, items=(3, 1, 3))
    expected = Focus("encoder self", 0, head=2, items=(1, 3))
    assert widget.focus == expected
    assert widget.get_state("focus")["focus"] == format_focus(expected)


def test_focus_of_the_browser_reaches_python(widget: AttentionWidget) -> None:
    changes: list[Focus] = []
    widget.observe(lambda change: changes.append(change.new), "focus")
    chosen = Focus("encoder self", 0, side="memory", items=(1,), reading="densest", mass=70)
    widget.set_state({"focus": format_focus(chosen)})
    assert changes == [chosen] and widget.focus == chosen


@pytest.mark.parametrize(
    ("focus", "says"),
    [
        (Focus("nowhere"), 'no site "nowhere"'),
        (Focus("encoder self", 7), "asks for layer 8"),
        (replace(FOCUS, items=(999,)), "asks for item 1,000"),
    ],
)
def test_missing_focus_is_refused(widget: AttentionWidget, focus: Focus, says: str) -> None:
    with pytest.raises(InputError, match=says):
        widget.focus = focus
    assert widget.focus == FOCUS


@pytest.mark.parametrize(
    "told", sampled([5, "x", [], {"site": 1}, {**format_focus(FOCUS), "selection": 1}], {"site": 1})
)
def test_invalid_focus_message_is_ignored(widget: AttentionWidget, told: Any) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        widget.set_state({"focus": told})
    assert widget.focus == FOCUS


def test_layer_is_sent_on_request(widget: AttentionWidget, ask: Callable[[Any], Sent]) -> None:
    trace, options = widget._trace, widget._options
    known = {place.site: place for place in list_places(trace, options)}
    ((content, data),) = ask({"kind": "layer", "number": 3, "site": "encoder self", "layer": 0})
    assert content == {"kind": "layer", "number": 3}
    expected = make_payload(trace, known["encoder self"], 0, options).data
    assert list(data) == [base64.b64decode(expected)]


@pytest.mark.parametrize("layer", sampled([2, -1, "0", None, 1.0, [0]], 2, None))
def test_missing_layer_is_answered_without_data(ask: Callable[[Any], Sent], layer: Any) -> None:
    asked = {"kind": "layer", "number": 1, "site": "encoder self", "layer": layer}
    assert ask(asked) == [({"kind": "layer", "number": 1}, [])]


def test_unknown_messages_get_no_answer(ask: Callable[[Any], Sent]) -> None:
    assert ask("layer") == [] and ask({"kind": "other"}) == []


def test_widget_has_only_the_named_layers(ask: Callable[[Any], Sent]) -> None:
    widget = widget_of(fakes.trace(), options=PageOptions(layers=(0,), sites=("encoder self",)))
    (carried,) = widget._carried
    assert (carried["site"], carried["layer"]) == ("encoder self", 0)
    with pytest.raises(InputError, match="does not include"):
        widget.focus = Focus("encoder self", 1)


def test_widget_opens_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any) -> None:
        raise AssertionError("A port was opened.")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    monkeypatch.setattr(socket.socket, "listen", refuse)
    widget_of(fakes.trace())


def test_trace_without_interactive_map_is_a_widget() -> None:
    widget = widget_of(replace(fakes.caption_trace(), maps={}))
    assert widget.focus is None and "<img" in widget._body
    with pytest.raises((InputError, traitlets.TraitError)):
        widget.focus = Focus("glimpses")


@pytest.mark.parametrize("theme", sampled(["auto", "light", "dark"], "auto"))
def test_widget_styles_stay_in_its_shadow_tree(theme: Any) -> None:
    style = widget_of(fakes.trace(layers=1), theme=theme)._style
    assert ":host {" in style and ".page {" in style
    assert ":root" not in style and "\nbody" not in style
    assert ("prefers-color-scheme" in style) == (theme == "auto")
