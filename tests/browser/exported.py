"""Exported pages for tests in a real browser. The tests import the fixture `opened`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route

import areaviz
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

Open = Callable[..., Page]


@contextmanager
def enclosed(page: Page, *own: str) -> Iterator[None]:
    """Fail the test if a page has an error, or requests an address outside of `own`."""
    asked: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    yield
    assert [url for url in asked if not url.startswith(own)] == []
    assert problems == []


@pytest.fixture
def opened(page: Page, tmp_path: Path) -> Iterator[Open]:
    """Export a trace and open the file. Any request for another file fails the test."""
    asked: list[str] = []
    file = tmp_path / "page.html"

    def only_the_file(route: Route) -> None:
        if route.request.url == file.as_uri():
            route.continue_()
        else:
            asked.append(route.request.url)
            route.abort()

    def export(
        trace: Trace, focus: Focus | None = None, options: areaviz.PageOptions | None = None
    ) -> Page:
        areaviz.export(trace, file, focus, options)
        page.goto(file.as_uri())
        return page

    page.route("**/*", only_the_file)
    page.on("websocket", lambda socket: asked.append(socket.url))
    yield export
    assert asked == [], "The page requested another file."
