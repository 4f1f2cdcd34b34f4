"""A page in a notebook can reach nothing else; a page served is at its own address alone."""

from __future__ import annotations

from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

import pytest

import areaviz
from areaviz.publish.show import PageServer
from areaviz.trace.errors import InputError
from tests import fakes
from tests.drawing.test_markup import read


def test_a_notebook_gets_a_frame_that_can_reach_nothing_else(tmp_path: Path) -> None:
    trace = fakes.trace("A dog.", "Hund.")
    shown = areaviz.show(trace, height=500)
    frame = read(shown._repr_html_())
    assert frame.tags == ["iframe"] and frame.attributes["sandbox"] == "allow-scripts"
    assert frame.attributes["srcdoc"] == areaviz.export(trace, tmp_path / "a.html").read_text()
    assert "height: 500px" in str(frame.attributes["style"]) and "areaviz.export" in repr(shown)
    with pytest.raises(InputError, match="must lie between 200 and 4,000"):
        areaviz.show(trace, height=0)


@pytest.fixture
def server() -> Iterator[PageServer]:
    with PageServer("<p>ü</p>") as running:
        thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_the_page_is_at_its_address(server: PageServer) -> None:
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
def test_other_paths_and_other_hosts_get_nothing(server: PageServer, host: str, path: str) -> None:
    connection = HTTPConnection("127.0.0.1", server.server_port)
    own = f"127.0.0.1:{server.server_port}"
    connection.request("GET", path or server.path, headers={"Host": host or own})
    assert connection.getresponse().status == 404
    connection.close()


def test_a_method_that_is_not_there_is_refused(server: PageServer) -> None:
    connection = HTTPConnection("127.0.0.1", server.server_port)
    connection.request("POST", server.path, b"x")
    assert connection.getresponse().status == 501
    connection.close()


def test_a_port_that_is_taken_is_told(server: PageServer) -> None:
    with pytest.raises(InputError, match=f"The port {server.server_port} is taken; choose another"):
        PageServer("", server.server_port)
