"""Spans that get bars in print, and the share of their scale that the weights take."""

from __future__ import annotations

from dataclasses import replace

import pytest
from matplotlib.figure import Figure

from areaviz.trace.request import Focus
from areaviz.views.ribbon.print import (
    Placed,
    PlacedText,
    choose_bar_tints,
    choose_bars,
    compute_bands_height,
    draw_threads,
)
from areaviz.views.ribbon.table import Span

FOCUS = Focus("encoder-decoder", items=(0,))


def spans_of_heads(weights: list[float]) -> list[Span]:
    """Return two spans per head, the first one with the given weight."""
    found = []
    for head, weight in enumerate(weights):
        found += [Span((0,), head, head, 2, weight), Span((0,), head, head + 3, 1, weight / 2)]
    return found


def test_choose_bars_draws_the_top_span_of_up_to_four_heads() -> None:
    bars = choose_bars(spans_of_heads([0.1, 0.4, 0.2, 0.3]), range(4), FOCUS)
    assert [(bar.span.head, bar.lane, bar.is_first) for bar in bars] == [
        (head, head, True) for head in range(4)
    ]
    assert [bar.share for bar in bars] == [0.1, 0.4, 0.2, 0.3]


def test_choose_bars_draws_three_of_more_heads() -> None:
    bars = choose_bars(spans_of_heads([0.1, 0.4, 0.2, 0.3, 0.05]), range(5), FOCUS)
    assert [(bar.span.head, bar.lane) for bar in bars] == [(1, 0), (2, 1), (3, 2)]


def test_choose_bars_gives_every_span_of_a_single_head_a_lane() -> None:
    bars = choose_bars(spans_of_heads([0.5]), range(1), FOCUS)
    assert [(bar.lane, bar.is_first) for bar in bars] == [(0, True), (1, True)]
    assert [bar.is_pale for bar in bars] == [False, True]


def test_choose_bars_draws_lighter_items_of_coverage_in_the_lane_of_their_head() -> None:
    focus = replace(FOCUS, reading="coverage")
    bars = choose_bars(spans_of_heads([0.5, 0.4]), range(2), focus)
    assert [(bar.lane, bar.is_first) for bar in bars] == [
        (0, True),
        (0, False),
        (1, True),
        (1, False),
    ]


@pytest.mark.parametrize("factor, share", [(1.0, 0.0), (4.0, 0.5), (64.0, 1.0)])
def test_share_relative_to_average_is_logarithmic(factor: float, share: float) -> None:
    focus = replace(FOCUS, against="average")
    (bar,) = choose_bars([Span((0,), 0, 0, 1, factor)], range(1), focus)
    assert bar.share == pytest.approx(share)


def test_bands_height_grows_with_lanes() -> None:
    one, four = (choose_bars(spans_of_heads([0.5] * n), range(n), FOCUS) for n in (2, 4))
    assert compute_bands_height([]) < compute_bands_height(one) < compute_bands_height(four)


def test_bar_tints_colour_every_item_below_a_bar_deeper_for_more_weight() -> None:
    light = choose_bar_tints(choose_bars(spans_of_heads([0.1, 0.1]), range(2), FOCUS))
    deep = choose_bar_tints(choose_bars(spans_of_heads([0.9, 0.9]), range(2), FOCUS))
    assert set(light) == set(deep) == {0, 1, 2}

    def green(colour: str) -> int:
        return int(colour[3:5], 16)

    assert all(green(deep[item][0]) < green(light[item][0]) for item in light)


@pytest.mark.parametrize(
    ("chosen", "middle"), [((1,), 15), ((1, 2), 20), ((1, 2, 4), 20), ((1, 3, 4), 15)]
)
def test_threads_lead_to_the_middle_of_the_first_run(chosen: tuple[int, ...], middle: int) -> None:
    items = [Placed(0, 10.0 * number, 10, "a", number) for number in range(6)]
    own, other = PlacedText(items, {0: 100.0}), PlacedText(items, {0: 0.0})
    bars = choose_bars(spans_of_heads([0.5])[:1], range(1), FOCUS)
    axes = Figure().add_subplot()
    draw_threads(axes, own, other, chosen, bars, is_below=False)
    (thread,) = axes.patches
    (start, *_, end) = thread.get_path().vertices.tolist()
    assert start[0] == 10 and end == [middle, 100]
