"""The summaries of a trace: one line, and a table."""

from __future__ import annotations

from dataclasses import replace

import pytest

import areaviz
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from tests import fakes


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (
            fakes.trace("A dog.", "Ein Hund."),
            '<Trace of char-tiny-area: "A dog." to "Ein Hund.", 3 maps>',
        ),
        (areaviz.from_arrays([[[[1.0]]]]), "<Trace of your-arrays, 1 map>"),
        (replace(fakes.caption_trace(), maps={}, request=Request("m", "")), "no attention>"),
        (fakes.gaze_trace(), "1 gaze>"),
    ],
    ids=["text", "arrays", "nothing", "gaze"],
)
def test_trace_summary_is_one_short_line(trace: Trace, said: str) -> None:
    assert repr(trace).endswith(said) and "\n" not in repr(trace)


def test_digit_trace_summary_shows_only_the_answer() -> None:
    trace = fakes.gaze_trace()
    assert len(trace.fields["target"].labels) > 1
    read = replace(trace, details={**trace.details, "answer": "27"})
    assert read.answer == "27" and ' to "27", ' in repr(read)


def test_long_or_strange_text_stays_one_short_line() -> None:
    line = repr(fakes.trace("A dog\n" * 40, "\x1b[2J\u202eHund " * 20))
    assert len(line) < 200 and line.isprintable()


def test_table_has_row_per_map_and_escapes_text() -> None:
    html = fakes.trace("<script>alert(1)</script>", "Hund.")._repr_html_()
    assert html.count("<tr>") == 4 and "encoder-decoder" in html
    assert "<script" not in html and "&lt;script&gt;" in html
    assert "glimpses" in fakes.gaze_trace()._repr_html_()


def test_derived_maps_are_marked_as_derived() -> None:
    table = areaviz.from_arrays([[[[0.5, 0.5], [0.5, 0.5]]]])._repr_html_()
    assert table.count("derived") == 1
