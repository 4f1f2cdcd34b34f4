"""The change of probability: values of both runs for one output, in figure, table and print."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.draw.view import encode_figure
from areaviz.trace.changes import Gate
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.views import PAIRS
from tests import fakes

FOCUS = Focus("encoder-decoder")


def pair(target: str = "Ein Hund.") -> tuple[Trace, Trace]:
    """Return a run, and a changed run in which every second item is half as likely."""
    before = fakes.trace(target=target)
    halved = before.output.probabilities * np.where(
        np.arange(len(before.output.probabilities)) % 2, 0.5, 1
    )
    output = replace(before.output, probabilities=halved.astype(np.float32))
    request = replace(
        before.request, target=target, changes=(Gate("encoder-decoder"), Gate("encoder self"))
    )
    return before, replace(before, request=request, output=output)


def test_bars_are_after_and_rings_before() -> None:
    before, after = pair()
    view = PAIRS["change"](before)
    figure = view.figure(after, FOCUS)
    bars, rings = figure.data
    np.testing.assert_allclose(bars.y, after.output.probabilities)
    np.testing.assert_allclose(rings.y, before.output.probabilities)
    assert bars.hovertext[1].startswith("i (item 2)<br>before ")
    assert "with 2 changes" in figure.layout.meta["caption"]
    assert encode_figure(view.print(after, FOCUS), "svg").startswith(b"<?xml")


def test_table_has_the_difference() -> None:
    before, after = pair()
    table = PAIRS["change"](before).table(after, FOCUS)
    assert table.columns == ("position", "item", "before", "after", "change")
    for row, one, two in zip(
        table.rows, before.output.probabilities, after.output.probabilities, strict=True
    ):
        assert row[2:] == pytest.approx((one, two, two - one))


def test_only_equal_outputs_are_compared() -> None:
    before, after = pair()
    fits = PAIRS["change"](before).fits
    assert fits(after, FOCUS) and not fits(fakes.trace(target="Ein Hut."), FOCUS)
    target = before.fields["target"]
    cut = replace(target, labels=target.labels[:-1], anchors=target.anchors[:-1])
    output = replace(before.output, probabilities=before.output.probabilities[:-1])
    endless = replace(before, fields={**before.fields, "target": cut}, output=output)
    view = PAIRS["change"](endless)
    assert view.fits(after, FOCUS)
    assert (
        len(view.table(after, FOCUS).rows)
        == len(view.figure(after, FOCUS).data[0].y)
        == len(target) - 1
    )


def test_long_output_is_averaged() -> None:
    before, after = pair("ab" * 500)
    figure = PAIRS["change"](before).figure(after, FOCUS)
    assert len(figure.data[0].y) <= 400 and "averaged" in figure.layout.title.text
