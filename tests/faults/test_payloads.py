"""Payloads in every place that shows text: figures, print, tables, links and pages."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.app import result
from areaviz.app.texts import escape_markdown
from areaviz.draw.view import View, encode_figure, format_csv, format_json, unescape_cell
from areaviz.trace import file
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.ribbon.ribbon import RIBBON_TAKEAWAY
from areaviz.views.views import TEXTS
from tests.faults.payloads import EVERYTHING, LIVE, PAYLOADS, hostile_trace, live
from tests.pages.conftest import Open, open_page, stored
from tests.sampled import sampled

__all__ = ["open_page", "stored"]
VIEWS = {view.name: view for view in TEXTS}
PRINTS = {**VIEWS, "ribbon": RIBBON_TAKEAWAY}
FOCUS = Focus("encoder-decoder", items=(0,))
PARAMETERS = (
    *("model", "text", "method", "beam", "area", "seed", "picture", "sample", "site"),
    *("layer", "head", "side", "items", "unit", "areas", "view", "compare"),
)
LINKS = [("translate", name) for name in PARAMETERS] + [
    (page, name)
    for page in ("caption", "translate_picture", "four_ways")
    for name in ("model", "text", "picture", "items", "view")
]
QUICK_LINKS = [("translate", "text"), ("translate", "view"), ("caption", "picture")]


@pytest.fixture(
    scope="module",
    params=sampled([EVERYTHING, *PAYLOADS[:3]], EVERYTHING),
    ids=["all", "html", "markdown", "maths"],
)
def hostile(request: pytest.FixtureRequest) -> Trace:
    return hostile_trace(request.param)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_figure_contains_no_live_markup(view: View, hostile: Trace) -> None:
    if not view.fits(hostile, FOCUS):
        return
    drawn = json.loads(view.figure(hostile, FOCUS).to_json())
    del drawn["layout"]["meta"]  # removes the caption, which the page escapes
    spec = json.dumps(drawn, ensure_ascii=False)
    assert not re.search(r"<(?:script|img|b>)|\$|[\u202a-\u202e\u2066-\u2069\u200b\ud800]", spec)


@pytest.mark.parametrize("name", sampled(PRINTS, "ribbon", *list(VIEWS)[:2]))
def test_print_and_tables_accept_every_text(name: str, hostile: Trace) -> None:
    taken = PRINTS[name]
    svg = encode_figure(taken.print(hostile, FOCUS), "svg")
    elements = list(ElementTree.fromstring(svg).iter())
    tags = {element.tag.rpartition("}")[2] for element in elements}
    assert not tags & {"script", "img", "a", "foreignObject"}
    links = [
        value for element in elements for name, value in element.items() if name.endswith("href")
    ]
    assert all(link.startswith(("#", "data:image/png;")) for link in links)
    table = taken.table(hostile, FOCUS)
    rows = list(csv.reader(io.StringIO(format_csv(table), newline="")))
    for row, cells in zip(table.rows, rows[1:], strict=True):
        for value, cell in zip(row, cells, strict=True):
            assert not isinstance(value, str) or not cell.startswith(
                ("=", "+", "-", "@", "\t", "\r")
            )
            assert not isinstance(value, str) or unescape_cell(cell) == value
    assert len(json.loads(format_json(table))["rows"]) == len(rows) - 1


@pytest.mark.parametrize("payload", PAYLOADS)
def test_escaped_payload_is_harmless(payload: str) -> None:
    assert LIVE.search(payload) is None or not LIVE.search(escape_markdown(payload))


@pytest.mark.parametrize(("page", "name"), sampled(LINKS, *QUICK_LINKS, many=True))
def test_hostile_link_is_reported_and_inert(page: str, name: str, open_page: Open) -> None:
    app = open_page(page, **{name: EVERYTHING.replace("\ud800", "")})
    assert not app.exception and not list(live(app))


@pytest.mark.parametrize("payload", sampled([EVERYTHING, *PAYLOADS[:3]], EVERYTHING))
def test_hostile_stored_trace_is_shown_without_live_markup(
    payload: str, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = hostile_trace(payload)
    monkeypatch.setattr(result, "open_stored_trace", lambda: trace)
    app = open_page("translate")
    assert not app.exception and not list(live(app))


def test_hostile_trace_survives_its_file(tmp_path: Path) -> None:
    for payload in (EVERYTHING, *PAYLOADS):
        try:
            trace = file.trace_from_bytes(file.trace_to_bytes(hostile_trace(payload)))
        except InputError:
            continue
        assert trace.request.model == payload and trace.fields["source"].labels[0] == payload


def test_live_payload_is_noticed() -> None:
    def page() -> None:
        import streamlit as st

        st.markdown("**so** <b>x")
        st.button("a\u202eb")
        st.caption("dead \\*\\*so\\*\\*")

    assert list(live(AppTest.from_function(page).run())) == ["**so** <b>x", "a\u202eb"]
