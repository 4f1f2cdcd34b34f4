"""Words in place of their tokens: compared with explicit sums and means, and in every view."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.draw.select import Words, group_words
from areaviz.draw.view import convert_to_words, encode_figure
from areaviz.trace.query import item_shares
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.views import VIEWS
from tests import fakes

SITE = "encoder-decoder"
IN_ITEMS = Focus(SITE, 1, 2, items=(1, 6))
IN_WORDS = replace(IN_ITEMS, unit="word")
JOINING = ("pyramid", "coverage", "lines", "overview", "sizes")


@pytest.fixture(scope="module")
def trace() -> Trace:
    return fakes.trace("A dog ran.", "Ein Hund ran.", area_size=4)


def runs(trace: Trace) -> tuple[list[range], list[range]]:
    """Return the runs of words that attend and are attended to, with spaces and the end symbol."""
    found = []
    for name in ("target", "source"):
        found.append([range(*run) for run in group_words(trace.fields[name], "word")])
    return found[0], found[1]


def test_word_shares_sum_over_pieces_and_average_queries(trace: Trace) -> None:
    worded, _ = convert_to_words(trace, IN_WORDS)
    attends, attended = runs(trace)
    shares_QN = item_shares(trace.maps[SITE], 1, 2)
    for row, queries in enumerate(attends):
        for column, items in enumerate(attended):
            slow = sum(shares_QN[q, n] for q in queries for n in items) / len(queries)
            assert worded.maps[SITE].weights[1, 2, row, column] == pytest.approx(slow, rel=1e-5)
    np.testing.assert_allclose(worded.maps[SITE].weights.sum(-1), 1, atol=1e-5)


def test_areas_are_widened_to_the_words_they_touch(trace: Trace) -> None:
    worded, _ = convert_to_words(trace, IN_WORDS, spans=True)
    attends, attended = runs(trace)
    before, after = trace.maps[SITE], worded.maps[SITE]
    slow = np.zeros(after.weights.shape[2:])
    for index in range(before.grid.count):
        area = before.grid.area(index)
        items = set(range(area.left, area.left + area.width))
        words = [n for n, run in enumerate(attended) if items & set(run)]
        place = after.grid.slab(1, len(words))[0] + words[0]
        for row, queries in enumerate(attends):
            slow[row, place] += before.weights[0, 3, list(queries), index].mean()
    np.testing.assert_allclose(after.weights[0, 3], slow, atol=1e-6)


def test_fields_and_focus_consist_of_words(trace: Trace) -> None:
    worded, focus = convert_to_words(trace, IN_WORDS)
    assert worded.fields["target"].labels == ("Ein", "Hund", "ran.", "⟨end⟩")
    assert isinstance(worded.fields["source"], Words)
    assert focus.items == (0, 1), "“i” is in the first word, the “n” of “Hund” in the second"
    for field in (worded.fields["target"], worded.fields["source"]):
        for label, (start, end) in zip(field.labels[:-1], field.anchors.tolist(), strict=False):
            assert field.raw[start:end].strip() == label


@pytest.mark.parametrize("spans", [False, True])
def test_trace_without_pieces_is_unchanged(trace: Trace, spans: bool) -> None:
    assert convert_to_words(trace, IN_ITEMS, spans) == (trace, IN_ITEMS)
    gone = replace(IN_WORDS, site="nowhere")
    assert convert_to_words(trace, gone, spans) == (trace, gone)
    captioned, focus = fakes.caption_trace(), replace(IN_WORDS, items=())
    assert convert_to_words(captioned, focus, spans)[0] is captioned, "its items are words"


@pytest.mark.parametrize("name", JOINING)
def test_every_view_of_a_map_shows_words(trace: Trace, name: str) -> None:
    view = VIEWS[name]
    focus = replace(IN_WORDS, head=None)
    assert view.fits(trace, focus)
    figure = view.figure(trace, focus)
    said = str(figure.to_dict())
    assert "Hund" in said or "dog" in said or "words" in said
    assert "joined to words" in figure.layout.meta["caption"]
    assert view.table(trace, focus).rows
    assert encode_figure(view.print(trace, focus), "svg").startswith(b"<?xml")
    plain = view.figure(trace, replace(focus, unit="item"))
    assert "joined" not in plain.layout.meta["caption"]
    assert said != str(plain.to_dict())


def test_overview_has_one_row_per_word(trace: Trace) -> None:
    table = VIEWS["overview"].table(trace, IN_WORDS)
    assert (
        "mean distance (words)" not in table.columns and "mean area size (words)" in table.columns
    )
    coverage = VIEWS["coverage"].table(trace, IN_WORDS)
    text = str(coverage.columns) + str(coverage.rows[:20])
    assert "dog" in text
