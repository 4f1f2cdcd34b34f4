"""Difference of two maps: signed, word by word, with their divergence; texts and pictures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.draw.comparison import (
    compute_difference,
    difference_figure,
    difference_table,
    fits_difference,
)
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from tests import fakes

SITE = "encoder-decoder"
FOCUS = Focus(SITE, layer=1)


def test_map_does_not_differ_from_itself() -> None:
    trace = fakes.trace()
    found = compute_difference(trace, trace, FOCUS, FOCUS)
    assert not found.change.any() and not found.divergence.any() and found.left_out == (0, 0)
    assert [word for word in found.rows if word != "⟨end⟩"] == ["Ein", "kleiner", "Hund", "rennt."]


def test_shared_words_are_compared_by_hand() -> None:
    one, other = (
        fakes.trace("a bc", "x yz", area_size=1),
        fakes.trace("a bc", "x w yz", area_size=1),
    )
    weights = [np.zeros_like(trace.maps[SITE].weights) for trace in (one, other)]
    weights[0][..., 0] = 1  # all on "a"
    weights[1][..., 2] = 1  # all on "b"
    one, other = (
        replace(trace, maps={**trace.maps, SITE: replace(trace.maps[SITE], weights=array)})
        for trace, array in zip((one, other), weights, strict=True)
    )
    found = compute_difference(one, other, FOCUS, replace(FOCUS, head=1))
    assert found.rows[:2] == ("x", "yz") and found.left_out == (0, 1)
    assert found.columns[:2] == ("a", "bc")
    np.testing.assert_allclose(found.change[:2, :2], [[-1, 1], [-1, 1]])
    np.testing.assert_allclose(found.divergence[:2], 1, atol=1e-6)
    table = difference_table(found)
    assert table.columns[:2] == ("Word", "Divergence (bits)") and table.rows[0][0] == "x"
    figure = difference_figure(found, ("first", "<b>$second$"))
    assert "1 words of &lt;b&gt;" in figure.layout.title.subtitle.text


def test_changes_of_every_row_sum_to_zero() -> None:
    one, other = (
        fakes.trace(),
        fakes.trace("A small dog runs.", "Ein kleiner Hund läuft.", area_size=2),
    )
    found = compute_difference(one, other, FOCUS, FOCUS)
    np.testing.assert_allclose(found.change.sum(1), 0, atol=1e-5)
    assert ((found.divergence >= 0) & (found.divergence <= 1)).all() and "rennt." not in found.rows


def test_picture_difference_of_chosen_word_is_per_cell() -> None:
    one = fakes.caption_trace("a small red circle")
    flipped = one.maps[SITE].weights[..., ::-1].copy()
    other = replace(one, maps={**one.maps, SITE: replace(one.maps[SITE], weights=flipped)})
    focus = replace(FOCUS, side="query", items=(2,))
    found = compute_difference(one, other, focus, focus)
    assert found.shape == (4, 4) and found.marked == (2,)
    figure = difference_figure(found, ("a", "b"))
    np.testing.assert_allclose(figure.data[0].z, found.change[2].reshape(4, 4))
    assert "“red”" in figure.layout.title.text


@pytest.mark.parametrize(
    "other",
    [
        fakes.trace("Another text."),
        fakes.trace(target="Nichts davon"),
        fakes.caption_trace(),
    ],
)
def test_maps_of_different_inputs_have_no_difference(other: Trace) -> None:
    one = fakes.trace()
    assert not fits_difference(one, other, FOCUS, FOCUS)
    with pytest.raises(ValueError, match="cannot be compared"):
        compute_difference(one, other, FOCUS, FOCUS)
