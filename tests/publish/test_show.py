"""A page in a notebook has no access to anything else; a served page has its own address only."""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from http.client import HTTPConnection
from io import BytesIO
from threading import Thread
from typing import Any
from urllib.request import urlopen

import pytest
from PIL import Image

import areaviz
from areaviz.page.notebook import HEIGHTS, ROWS, NotebookPage
from areaviz.page.page import PageServer, make_page
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from tests import fakes

pytestmark = pytest.mark.usefixtures("_equal_figures_are_drawn_once")


def frame(trace: Trace, focus: Focus | None = None, **more: Any) -> NotebookPage:
    """Return what `show` returns without the extra `areaviz[notebook]`."""
    shown = areaviz.show(trace, focus, widget=False, **more)
    assert isinstance(shown, NotebookPage)
    return shown


def carried(html: str) -> list[tuple[str, str]]:
    """Return the sites and layers of a page."""
    return re.findall(r'<script type="text/plain" data-site="([^"]+)" data-layer="(\d+)">', html)


def test_notebook_frame_is_isolated() -> None:
    low, _ = HEIGHTS
    assert frame(fakes.trace("A dog.", "Hund."), height=low).height == low
    shown = frame(fakes.trace("A dog.", "Hund."), height=500)
    iframe = read(shown._repr_html_(), "iframe")
    assert iframe["sandbox"] == "allow-scripts" and iframe["srcdoc"] == shown.html
    assert "height: 500px" in iframe["style"] and "areaviz.export" in repr(shown)
    assert "connect-src" not in shown.html and "127.0.0.1" not in shown.html
    with pytest.raises(InputError, match="must be between 200 and 4,000"):
        frame(fakes.trace(), height=0)


def test_frame_has_only_the_opening_layer_of_each_site() -> None:
    trace = fakes.trace("A dog.", "Hund.")
    assert sorted(carried(frame(trace).html)) == sorted((one, "1") for one in trace.maps)
    shown = frame(trace, Focus("encoder self", layer=0))
    assert sorted(carried(shown.html)) == sorted((one, "0") for one in trace.maps)


def test_frame_contains_named_layers() -> None:
    whole = "All of this page is in this one file"
    shown = frame(fakes.trace(), options=areaviz.PageOptions(layers=(0, 1)))
    assert len(carried(shown.html)) == 6 and whole in shown.html
    alone = frame(fakes.trace(layers=1))
    assert len(carried(alone.html)) == 3 and whole in alone.html
    assert whole not in frame(fakes.trace(layers=2)).html


def test_picture_replaces_frame_in_simple_viewers() -> None:
    bundle = frame(fakes.caption_trace())._repr_mimebundle_()
    assert list(bundle) == ["text/plain", "text/html", "image/png"]
    picture = Image.open(BytesIO(base64.b64decode(bundle["image/png"])))
    assert picture.format == "PNG" and min(picture.size) > 200
    # This picture remains where frames and scripts are removed.
    image = read(bundle["text/html"], "img")
    assert image["src"] == f"data:image/png;base64,{bundle['image/png']}" and image["alt"]


def test_numbers_of_picture_are_in_plain_elements() -> None:
    shown = frame(fakes.trace(), Focus("encoder-decoder", 1, items=(2,)))
    html = re.search(r'<div class="areaviz-numbers">.*?</table></div>', shown._repr_html_())
    assert html is not None
    assert {tag for tag, _ in read_all(html[0])} == {"div", "table", "tr", "td"}
    assert html[0].count("<tr>") == 1 + ROWS < len(shown.numbers.rows)
    assert f"the first {ROWS} of {len(shown.numbers.rows)} rows" in html[0]
    assert f"<td>{shown.numbers.rows[0][0]}</td>" in html[0]
    nothing = replace(fakes.caption_trace(), maps={})
    assert "areaviz-numbers" not in frame(nothing)._repr_html_().split("<script>")[0]


def test_viewer_gets_requested_mime_types() -> None:
    shown = frame(fakes.gaze_trace())
    assert list(shown._repr_mimebundle_(include={"image/png"})) == ["image/png"]
    assert "text/html" not in shown._repr_mimebundle_(exclude=["text/html"])
    nothing = replace(fakes.caption_trace(), maps={})
    assert "image/png" not in frame(nothing)._repr_mimebundle_()


def test_default_figures_are_heat_map_and_all_heads() -> None:
    html = frame(fakes.trace()).html
    assert html.count('class="figure narrow"') == 2
    assert "<summary>Alignment matrix" in html and "<summary>All heads" in html
    named = frame(fakes.trace(), options=areaviz.PageOptions(views=("coverage",))).html
    assert named.count('class="figure narrow"') == 1
    assert 'class="figure narrow"' not in make_page(fakes.trace())
    with pytest.raises(InputError, match='View "heat" does not exist. Choose one of'):
        frame(fakes.trace(), options=areaviz.PageOptions(views=("heat",)))


def test_show_without_extra_uses_a_framed_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("areaviz.page.notebook.find_spec", lambda name: None)
    assert isinstance(areaviz.show(fakes.trace(layers=1)), NotebookPage)
    monkeypatch.setitem(sys.modules, "areaviz.page.widget", None)
    with pytest.raises(InputError, match=r"needs the package anywidget. .*areaviz\[notebook\]"):
        areaviz.show(fakes.trace(layers=1), widget=True)


def read(html: str, tag: str) -> dict[str, str]:
    """Return the attributes of the only element of this kind outside the frame's own page."""
    found = read_all(html)
    assert [name for name, _ in found].count(tag) == 1
    return next(attributes for name, attributes in found if name == tag)


def read_all(html: str) -> list[tuple[str, dict[str, str]]]:
    elements: list[tuple[str, dict[str, str]]] = []
    parser = HTMLParser()
    parser.handle_starttag = (  # type: ignore[method-assign]
        lambda tag, attrs: elements.append((tag, {name: value or "" for name, value in attrs}))
    )
    parser.feed(html)
    return elements


@pytest.fixture
def server() -> Iterator[PageServer]:
    with PageServer("<p>ü</p>") as running:
        thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_page_is_served_at_its_address(server: PageServer) -> None:
    with urlopen(server.url) as answer:
        assert answer.read() == "<p>ü</p>".encode()
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert (
            answer.headers["X-Frame-Options"] == "DENY"
            and answer.headers["Cache-Control"] == "no-store"
        )
    assert server.url.startswith("http://127.0.0.1:") and len(server.path) > 20


@pytest.mark.parametrize(
    ("host", "path"), [("", "/"), ("", "/../etc/passwd"), ("example.org", ""), ("127.0.0.1", "")]
)
def test_server_refuses_other_paths_and_hosts(server: PageServer, host: str, path: str) -> None:
    connection = HTTPConnection("127.0.0.1", server.server_port)
    own = f"127.0.0.1:{server.server_port}"
    connection.request("GET", path or server.path, headers={"Host": host or own})
    assert connection.getresponse().status == 404
    connection.close()


def test_unknown_method_is_refused(server: PageServer) -> None:
    connection = HTTPConnection("127.0.0.1", server.server_port)
    connection.request("POST", server.path, b"x")
    assert connection.getresponse().status == 501
    connection.close()


def test_used_port_is_reported(server: PageServer) -> None:
    with pytest.raises(InputError, match=f"The port {server.server_port} is taken. Choose another"):
        PageServer("", server.server_port)
