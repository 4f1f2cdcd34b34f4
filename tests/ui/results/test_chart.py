"""Texts about a run that a page shows next to the figure."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def page() -> None:
    """Show the texts about a run with items that have no place in a picture."""
    from dataclasses import replace

    from areaviz.app.chart import draw_warnings
    from tests import fakes

    said = {"encoder-decoder places": "its picture tokens are shown in a row", "device": "cpu"}
    said["source places"] = "no place in the text for 1 of 9 tokens: [CLS]"
    draw_warnings(replace(fakes.trace(), details=said))


def test_items_without_place_are_reported() -> None:
    run = AppTest.from_function(page, default_timeout=60).run()
    assert not run.exception
    (note,) = [one.value for one in run.caption]
    assert note == "Note on encoder\\-decoder: its picture tokens are shown in a row."
