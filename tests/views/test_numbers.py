"""Values in the figures, compared with slow, obvious references."""

import math
from dataclasses import replace

import numpy as np
import pytest

from areaviz.draw import matrix, overview, probabilities
from areaviz.draw import spans as pyramid
from areaviz.draw import spans as sizes
from areaviz.trace import query
from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import AttentionMap, Output, Trace
from areaviz.trace.request import Focus, Request
from areaviz.views import lines
from areaviz.views.views import VIEWS
from tests import fakes


@pytest.fixture(scope="module")
def trace() -> Trace:
    return fakes.trace()


def mean_weight(trace: Trace, focus: Focus, start: int, length: int) -> float:
    """Return the weight of one span, averaged over heads and queries, computed area by area."""
    attention = trace.maps[focus.site]
    heads = range(attention.heads) if focus.head is None else [focus.head]
    chosen = (
        focus.items
        if focus.items and focus.side == "query"
        else range(len(trace.fields[attention.query]))
    )
    table = attention.grid.table().tolist()
    index = table.index([0, start, 1, length])
    found = [
        float(attention.weights[focus.layer, head, q, index]) for head in heads for q in set(chosen)
    ]
    return sum(found) / len(found)


PYRAMIDS = [
    Focus("encoder-decoder"),
    Focus("encoder-decoder", 1, 2, "query", (3,)),
    Focus("encoder self", 0, None, "query", (3, 1, 3)),
    Focus("encoder-decoder", 0, 1, "memory", (3,)),
]


@pytest.mark.parametrize("focus", PYRAMIDS, ids=str)
def test_pyramid_cells_are_mean_weights_over_their_items(trace: Trace, focus: Focus) -> None:
    rows = VIEWS["pyramid"].figure(trace, focus).data
    assert [row.y0 for row in rows] == [1, 2, 3, 4, 5]
    for row in rows:
        places = range(len(row.z[0]))
        weights = [mean_weight(trace, focus, start, row.y0) for start in places]
        assert row.z[0] == pytest.approx(np.array(weights), rel=1e-4)
        # A cell that is one item wide is centred above the items of its span.
        assert row.x0 == (row.y0 - 1) / 2
    # All rows have one scale, which ends at the heaviest area.
    figure = VIEWS["pyramid"].figure(trace, focus)
    largest = max(max(row.z[0]) for row in rows)
    assert figure.layout.coloraxis.cmin == 0 and {row.coloraxis for row in rows} == {"coloraxis"}
    assert largest <= figure.layout.coloraxis.cmax < 2.5 * largest
    listed = [float(row[3]) for row in VIEWS["pyramid"].table(trace, focus).rows]
    assert sum(listed) == pytest.approx(1, abs=1e-5)
    table = VIEWS["pyramid"].table(trace, focus)
    assert len(table.rows) == trace.maps[focus.site].grid.count
    assert table.rows[19][:3] == (2, 2, "␣s")


def test_half_columns_make_a_trapezoid() -> None:
    halves = pyramid.to_half_columns(
        [
            pyramid.PyramidRow(1, np.array([1, 2, 4], dtype=np.float32)),
            pyramid.PyramidRow(2, np.array([4, 1], dtype=np.float32)),
        ]
    )
    expected = [[1, 1, 2, 2, 4, 4], [np.nan, 4, 4, 1, 1, np.nan]]
    np.testing.assert_array_equal(halves, expected)


def test_pyramid_labels_rows_with_their_sums(trace: Trace) -> None:
    focus = Focus("encoder-decoder", 0, 1, items=(2,))
    sums = query.area_size_shares(
        replace(
            trace.maps["encoder-decoder"],
            weights=trace.maps["encoder-decoder"].weights[:, :, 2:3],
        ),
        0,
        1,
    )
    figure = VIEWS["pyramid"].figure(trace, focus)
    told = [float(note.text.strip("<b>/%")) for note in figure.layout.annotations]
    assert told == pytest.approx([100 * share for share in sums.values()], abs=0.5)


def test_pyramid_rows_share_one_scale_with_a_round_end(trace: Trace) -> None:
    figure = VIEWS["pyramid"].figure(trace, Focus("encoder-decoder", 0, 1))
    assert all(row.zmax is None and row.zmin is None for row in figure.data)
    end = figure.layout.coloraxis.cmax
    assert end == pytest.approx(float(f"{end:.2g}"))


def test_pyramid_of_larger_areas_begins_with_pairs(trace: Trace) -> None:
    focus = Focus("encoder-decoder", 0, 1, areas="several")
    figure = VIEWS["pyramid"].figure(trace, focus)
    assert [row.y0 for row in figure.data] == [2, 3, 4, 5]
    assert "are left out" in figure.layout.title.subtitle.text.replace("<br>", " ")
    assert VIEWS["pyramid"].table(trace, focus).rows[0][1] == 2


@pytest.mark.parametrize("items", [(), (2,), (2, 7)])
def test_coverage_rows_sum_to_mean_area_size(trace: Trace, items: tuple[int, ...]) -> None:
    focus = Focus("encoder-decoder", 1, items=items)
    values = matrix.build_coverage(trace, focus).values
    attention = trace.maps["encoder-decoder"]
    spans = attention.grid.table()[:, [1, 3]].tolist()
    chosen = list(items) or list(range(attention.weights.shape[2]))
    for head in range(4):
        expected = np.zeros(attention.grid.items)
        for index, (left, width) in enumerate(spans):
            expected[left : left + width] += float(attention.weights[1, head, chosen, index].mean())
        np.testing.assert_allclose(values[head], expected, rtol=1e-4, atol=1e-6)
    size = attention.weights[1, 0, chosen] @ attention.grid.sizes()
    assert values[0].sum() == pytest.approx(float(size.mean()), rel=1e-4)


def test_alignment_rows_are_shares_of_produced_items(trace: Trace) -> None:
    drawn = matrix.build_alignment(trace, Focus("encoder-decoder", 0, 3))
    np.testing.assert_allclose(drawn.values, query.item_shares(trace.maps["encoder-decoder"], 0, 3))
    np.testing.assert_allclose(drawn.values.sum(1), 1, atol=1e-5)
    assert (
        drawn.rows[:4] == ("E", "i", "n", "␣")
        and drawn.rows[-1] == "⟨end⟩"
        and drawn.columns[:3] == ("A", "␣", "s")
    )


def test_alignment_of_words_includes_preceding_spaces(trace: Trace) -> None:
    drawn = matrix.build_alignment(trace, Focus("encoder-decoder", 0, 3, "query", (5,), "word"))
    assert drawn.rows == ("Ein", "kleiner", "Hund", "rennt.", "⟨end⟩")
    assert drawn.columns == ("A", "small", "dog", "runs.", "⟨end⟩")
    shares = query.item_shares(trace.maps["encoder-decoder"], 0, 3)
    assert drawn.values[1, 1] == pytest.approx(float(shares[3:11, 1:7].sum(1).mean()), rel=1e-4)
    assert drawn.marked_rows == (1,) and drawn.row_title == "output words"
    np.testing.assert_allclose(drawn.values.sum(1), 1, atol=1e-5)


def test_words_keep_blanks_that_no_word_follows() -> None:
    drawn = matrix.build_alignment(
        fakes.trace("  a  b  ", " "), Focus("encoder-decoder", unit="word")
    )
    assert drawn.columns == ("a", "b", "␣␣", "⟨end⟩") and drawn.rows == ("␣", "⟨end⟩")


def test_query_lines_are_shares_strongest_first(trace: Trace) -> None:
    focus = Focus("encoder-decoder", 0, 1, "query", (4,))
    drawn = lines.find_lines(trace, focus).lines
    shares = query.item_shares(trace.maps["encoder-decoder"], 0, 1)[4]
    assert {line.item: line.share for line in drawn} == pytest.approx(
        dict(enumerate(shares.tolist()))
    )
    assert [line.share for line in drawn] == sorted((line.share for line in drawn), reverse=True)


def test_memory_lines_come_from_all_queries_and_heads(trace: Trace) -> None:
    drawn = lines.find_lines(trace, Focus("encoder-decoder", 0, None, "memory", (2,))).lines
    assert {line.item for line in drawn} == {2} and {(line.head, line.query) for line in drawn} == {
        (head, q) for head in range(4) for q in range(24)
    }


def test_strongest_lines_are_drawn_without_a_choice(trace: Trace) -> None:
    focus = Focus("encoder-decoder")
    drawn = lines.find_lines(trace, focus)
    attention = trace.maps["encoder-decoder"]
    every = np.concatenate([query.item_shares(attention, 0, head).ravel() for head in range(4)])
    np.testing.assert_allclose(
        [line.share for line in drawn.lines], np.sort(every)[::-1][: lines.MAX_LINES]
    )
    figure = VIEWS["lines"].figure(trace, focus)
    widths = [trace.line.width for trace in figure.data if trace.x is not None and len(trace.x) > 2]
    shares = [line.share for line in reversed(drawn.lines)]
    np.testing.assert_allclose(widths, [9 * share / drawn.widest for share in shares], atol=0.006)


def test_line_connects_upper_item_and_lower_query() -> None:
    drawn = lines.find_lines(fakes.trace("abc", "d"), Focus("encoder-decoder"))
    x, y = drawn.path(lines.Line(head=0, query=1, item=3, share=0.5))
    assert (x[0], y[0]) == (3.5 / 4, 1) and (x[-1], y[-1]) == (1.5 / 2, 0)


def test_overview_shows_every_head_by_layer(trace: Trace) -> None:
    focus = Focus("encoder self")
    tiles = overview.arrange_overview(trace, focus).tiles
    assert [(tile.layer, tile.head) for tile in tiles] == [
        (layer, head) for layer in range(2) for head in range(4)
    ]
    points = VIEWS["overview"].figure(trace, focus).data[1]
    assert [tuple(at) for at in points.customdata] == [(tile.layer, tile.head) for tile in tiles]


def test_overview_places_item_shares_by_head(trace: Trace) -> None:
    drawn = overview.arrange_overview(trace, Focus("encoder-decoder"))
    shares = query.item_shares(
        trace.maps["encoder-decoder"], drawn.tiles[5].layer, drawn.tiles[5].head
    )
    places = np.array(drawn.sheet.shape) // (drawn.down, drawn.across)
    top, left = drawn.tiles[5].row * places[0], drawn.tiles[5].column * places[1]
    rows, columns = round(places[0] * drawn.high), round(places[1] * drawn.broad)
    picture = drawn.sheet[top : top + rows, left : left + columns]
    factor = rows // shares.shape[0], columns // shares.shape[1]
    np.testing.assert_allclose(picture[:: factor[0], :: factor[1]], shares)
    assert np.isnan(drawn.sheet[top + rows : top + places[0]]).all()
    assert drawn.tiles[5].entropy == pytest.approx(
        float(
            query.entropy(
                trace.maps["encoder-decoder"], drawn.tiles[5].layer, drawn.tiles[5].head
            ).mean()
        ),
        rel=1e-4,
    )


def test_missing_distance_has_no_column(trace: Trace) -> None:
    columns = VIEWS["overview"].table(trace, Focus("encoder-decoder")).columns
    assert len(columns) == 5 and "mean distance (items)" not in columns
    assert "mean distance (items)" in VIEWS["overview"].table(trace, Focus("encoder self")).columns


def test_size_bars_are_the_shares_of_each_head(trace: Trace) -> None:
    figure = VIEWS["sizes"].figure(trace, Focus("encoder-decoder", 1, 2))
    attention = trace.maps["encoder-decoder"]
    for head, bars in enumerate(figure.data):
        expected = [
            float(attention.weights[1, head][:, attention.grid.sizes() == size].sum(1).mean())
            for size in range(1, 6)
        ]
        np.testing.assert_allclose(bars.y, expected, rtol=1e-4)
    assert [bars.marker.opacity for bars in figure.data] == [0.35, 0.35, 1, 0.35]


def test_bars_of_two_heads_never_touch(trace: Trace) -> None:
    drawn = sizes.compute_histogram(trace, Focus("encoder-decoder"))
    assert all(drawn.x(head + 1)[0] - drawn.x(head)[-1] > 1.5 for head in range(3))


def test_probabilities_show_the_item_and_the_likeliest_other(trace: Trace) -> None:
    bars, rings = VIEWS["probabilities"].figure(trace, Focus("encoder self")).data
    np.testing.assert_allclose(bars.y, trace.output.probabilities)
    for t, (label, options) in enumerate(
        zip(trace.fields["target"].labels, trace.output.alternatives, strict=True)
    ):
        assert rings.y[t] == pytest.approx(
            max(p for other, p in options if other != label), rel=1e-5
        )
    first, *others, last = bars.hovertext[0].removeprefix("E (item 1)<br>").split("<br>")
    best, chance = trace.output.alternatives[0][0]
    assert (
        first == f"{chance:.1%} {best}"
        and last == f"produced at {trace.output.probabilities[0]:.1%}"
        and others
    )
    row = VIEWS["probabilities"].table(trace, Focus("encoder self")).rows[3]
    assert (
        row[:2] == (4, "␣")
        and row[2] == pytest.approx(float(trace.output.probabilities[3]))
        and row[3] != "␣"
    )


def test_many_probabilities_are_averaged() -> None:
    trace = fakes.trace("a", "b" * 900, layers=1, heads=1)
    drawn = probabilities.find_output_probabilities(trace)
    assert drawn.block == 3 and math.isclose(
        drawn.bars[1], trace.output.probabilities[3:6].mean(), rel_tol=1e-5
    )
    assert drawn.x[:2].tolist() == [1.0, 4.0]


@pytest.mark.long
def test_million_items_are_drawn_and_printed_quickly() -> None:
    items = 1_000_000
    fields = (
        fakes.text_field("target", "b", end=""),
        fakes.text_field("source", "a" * items, end=""),
    )
    weights = np.zeros((1, 1, 1, items), np.float32)
    weights[..., items // 4] = 1
    attention = AttentionMap(
        "encoder-decoder", "target", "source", AreaGrid(1, items, 1, 1), weights
    )
    output = Output("target", np.zeros(1, np.float32), ((),))
    trace = Trace(
        Request("m", ""), {one.name: one for one in fields}, output, {attention.site: attention}
    )
    printed = VIEWS["pyramid"].print(trace, Focus("encoder-decoder"))
    image = printed.axes[0].images[0]
    drawn = np.asarray(image.get_array())
    assert drawn.shape == (1, 2000) and tuple(image.get_extent()) == (-0.5, items - 0.5, 0.5, 1.5)
    assert drawn[0].argmax() == 500 and drawn[0, 500] == pytest.approx(1 / 500)


def test_overview_is_not_offered_for_many_heads() -> None:
    trace = fakes.trace("ab", "c", 1, 1, 1)
    one = trace.maps["encoder-decoder"]

    def of(layers: int, heads: int) -> Trace:
        weights = np.broadcast_to(one.weights, (layers, heads, *one.weights.shape[2:]))
        return replace(trace, maps={one.site: replace(one, weights=weights)})

    focus = Focus("encoder-decoder")
    assert VIEWS["overview"].fits(of(64, 32), focus)
    assert VIEWS["overview"].figure(of(64, 32), focus).data
    assert not VIEWS["overview"].fits(of(1000, 1000), focus)
