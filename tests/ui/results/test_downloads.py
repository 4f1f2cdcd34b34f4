"""Every view gives every file, with the right name and type."""

from __future__ import annotations

import csv
import io
import json

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.app import files
from areaviz.app.chart import build_table_columns
from areaviz.app.files import list_files
from areaviz.draw.view import Download, Table
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.grid.grid import GRID_TAKEAWAY as GRID
from areaviz.views.ribbon.ribbon import RIBBON_TAKEAWAY as RIBBON
from areaviz.views.views import VIEWS
from tests import fakes

SEEN = [
    (fakes.trace("A dog.", "Hund."), Focus("encoder-decoder", items=(1,))),
    (fakes.caption_trace(), Focus("encoder-decoder", items=(1,))),
    (fakes.gaze_trace(), Focus("glimpses", items=(1,))),
    (fakes.gaze_trace("transformer", 1, 1), Focus("transformer")),
]
QUICK = list(VIEWS)[::4]
"""Views of which `make test` writes the files."""
TAKEAWAYS = [
    pytest.param(
        *(view, trace, focus),
        id=f"{view.name}, {trace.request.model}",
        marks=[] if view.name in QUICK else [pytest.mark.long],
    )
    for view in VIEWS.values()
    for trace, focus in SEEN
    if view.fits(trace, focus)
]
POINTED = [
    pytest.param(RIBBON, *SEEN[0], id="ribbon"),
    pytest.param(GRID, *SEEN[1], id="grid"),
]


@pytest.mark.parametrize(("takeaway", "trace", "focus"), [*POINTED, *TAKEAWAYS])
def test_numbers_are_equal_in_every_file(takeaway: Download, trace: Trace, focus: Focus) -> None:
    made = list_files(takeaway, trace, focus)
    assert set(made) - {"gif"} == {"html", "svg", "pdf", "png", "csv", "json", "npz"}
    assert ("gif" in made) == (takeaway.movie is not None)
    if "gif" in made:
        assert made["gif"].make().startswith(b"GIF89a")
    assert all(file.name.endswith(f".{kind}") and file.mime for kind, file in made.items())
    assert made["html"].make().startswith(b"<!doctype html>")
    rows = list(csv.reader(io.StringIO(made["csv"].make().decode("utf-8-sig"))))
    stored = json.loads(made["json"].make())
    assert rows[0] == list(stored["columns"]) and len(rows) - 1 == len(stored["rows"])


def test_table_as_columns_shows_invisible_characters() -> None:
    assert build_table_columns(Table(("item", "weight"), [("a\u200b", 1.0), ("b", 0.5)])) == {
        "item": ["a⟨U+200B⟩", "b"],
        "weight": [1.0, 0.5],
    }


def drawn(limit: int) -> None:
    from areaviz.app import files as downloads
    from areaviz.page.content import PageOptions
    from areaviz.trace.request import Focus
    from areaviz.views.ribbon.ribbon import RIBBON_TAKEAWAY
    from tests import fakes

    options = PageOptions(limit=limit)
    check = downloads.check_page
    downloads.check_page = lambda trace: check(trace, options)  # type: ignore[assignment, misc]
    try:
        shown = downloads.ShownView(
            RIBBON_TAKEAWAY, fakes.trace(layers=12), Focus("encoder-decoder")
        )
        downloads.draw_downloads("Download", {"": shown}, "0")
    finally:
        downloads.check_page = check


@pytest.mark.parametrize(("limit", "offered"), [(2**18, False), (2**24, True)])
def test_too_large_page_is_refused_before_download(limit: int, offered: bool) -> None:
    app = AppTest.from_function(drawn, kwargs={"limit": limit}).run()
    assert not app.exception
    labels = [button.label for button in app.get("download_button")]
    assert ("Interactive page (.html)" in labels, "Trace" in labels) == (offered, True)
    told = [
        caption.value for caption in app.caption if "exceed the limit of 16 MiB" in caption.value
    ]
    assert len(told) == (not offered) and all("areaviz export" in sentence for sentence in told)


def test_too_large_page_is_replaced_by_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise InputError("The page would take more than 20.0 MiB but at most 16 MiB are allowed.")

    monkeypatch.setattr(files, "make_page", refuse)
    made = list_files(RIBBON, *SEEN[0])["html"].make()
    assert made.startswith(b"<!doctype html>") and b"exceed the limit of 16 MiB" in made
