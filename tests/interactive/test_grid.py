import io
from dataclasses import replace

import matplotlib.text
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.patches import Rectangle
from PIL import Image

from areaviz.trace.areas import Area, AreaGrid, format_area
from areaviz.trace.query import item_shares, top_areas
from areaviz.trace.record import AttentionMap
from areaviz.trace.request import Focus
from areaviz.views.grid.grid import (
    KEPT,
    OVERLAPS,
    SURE,
    TOP,
    choose_areas,
    describe_cells,
    draw_grid,
    find_bounding_box,
    find_heaviest_left_out,
    find_places,
    fits_grid,
    make_grid_payload,
    quantise_shares,
    tabulate_grid,
)
from areaviz.views.message import choose_first_item, serialise_payload
from tests import fakes
from tests.interactive.test_ribbon import unpacked

WORDS, SELF = Focus("encoder-decoder"), Focus("encoder self")


def random_map(rows: int, columns: int, area_size: int, queries: int, seed: int) -> AttentionMap:
    grid = AreaGrid.clamped((rows, columns), (area_size, area_size))
    logits = np.random.default_rng(seed).normal(0, 2, (1, 2, queries, grid.count))
    weights = np.exp(logits)
    return AttentionMap(
        "encoder-decoder",
        "target",
        "picture",
        grid,
        (weights / weights.sum(-1, keepdims=True)).astype("f4"),
    )


def overlap(one: Area, other: Area) -> float:
    """Return the intersection over union, counted cell by cell."""
    cells = [
        {
            (row, column)
            for row in range(a.top, a.top + a.height)
            for column in range(a.left, a.left + a.width)
        }
        for a in (one, other)
    ]
    return len(cells[0] & cells[1]) / len(cells[0] | cells[1])


def as_the_browser_does(areas: list[Area], weights: list[float], most: float, k: int) -> list[Area]:
    """Return the heaviest areas, without those that overlap a heavier one by more than `most`."""
    found: list[Area] = []
    for weight, _, area in sorted(
        zip(weights, range(len(areas)), areas, strict=True), key=lambda pair: -pair[0]
    ):
        if weight > 0 and len(found) < k and all(overlap(area, other) <= most for other in found):
            found.append(area)
    return found


@given(
    st.integers(1, 6), st.integers(1, 6), st.integers(1, 3), st.integers(1, 2), st.integers(0, 99)
)
def test_overlap_filtered_areas_match_slow_search(
    rows: int, columns: int, area_size: int, least: int, seed: int
) -> None:
    attention = random_map(rows, columns, area_size, 3, seed)
    kept = choose_areas(attention, 0, least)
    for head, query in np.ndindex(2, 3):
        areas = [attention.grid.area(index) for index in kept.index[head, query].tolist()]
        for most in OVERLAPS:
            k = TOP if most == 0.5 else SURE
            expected = top_areas(attention, 0, head, query, k, most, least)
            found = as_the_browser_does(areas, kept.weight[head, query].tolist(), most, k)
            assert found == [top.area for top in expected]


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 3), st.integers(0, 99))
def test_kept_areas_differ_and_bring_their_weight(
    rows: int, columns: int, area_size: int, seed: int
) -> None:
    attention = random_map(rows, columns, area_size, 2, seed)
    kept = choose_areas(attention, 0)
    assert kept.index.shape[-1] == min(KEPT, attention.grid.count)
    for head, query in np.ndindex(2, 2):
        taken = kept.index[head, query]
        assert len(set(taken.tolist())) == len(taken)
        np.testing.assert_array_equal(
            attention.weights[0, head, query][taken], kept.weight[head, query]
        )


@given(
    st.integers(1, 6), st.integers(1, 6), st.integers(1, 3), st.integers(1, 2), st.integers(0, 99)
)
def test_omitted_areas_never_exceed_the_stated_remainder(
    rows: int, columns: int, area_size: int, least: int, seed: int
) -> None:
    attention = random_map(rows, columns, area_size, 2, seed)
    kept = choose_areas(attention, 0, least)
    left = find_heaviest_left_out(attention, 0, kept, least)
    for head, query in np.ndindex(2, 2):
        others = set(np.flatnonzero(attention.grid.sizes() >= least).tolist()) - set(
            kept.index[head, query].tolist()
        )
        assert left[head, query] == max(
            (attention.weights[0, head, query, index] for index in others), default=0
        )


def test_masked_query_has_no_areas_and_no_shares() -> None:
    attention = random_map(3, 3, 2, 2, 0)
    masked = replace(attention, weights=np.zeros_like(attention.weights))
    assert not choose_areas(masked, 0).weight.any()
    assert not quantise_shares(masked, 0).any()


def test_shares_survive_encoding() -> None:
    trace = fakes.caption_trace(grid=8, area_size=3)
    attention = trace.maps["encoder self"]
    raw = (quantise_shares(attention, 1) / 255.0) ** 2
    back = raw / raw.sum(-1, keepdims=True)
    for head in range(attention.heads):
        np.testing.assert_allclose(back[head], item_shares(attention, 1, head), atol=1e-3)


def test_message_contains_data_for_the_browser() -> None:
    trace = fakes.caption_trace()
    header, arrays = unpacked(serialise_payload(make_grid_payload(trace, WORDS), link="pair"))
    attention, picture = trace.maps["encoder-decoder"], trace.request.picture
    assert picture is not None
    heaviest = arrays["area"].reshape(4, 5, -1)[..., 0]
    np.testing.assert_array_equal(heaviest, attention.weights[0].argmax(-1))
    np.testing.assert_array_equal(arrays["cells"].reshape(-1, 4), trace.fields["picture"].anchors)
    image = np.asarray(Image.open(io.BytesIO(arrays["picture"].tobytes())))
    np.testing.assert_array_equal(image, picture.pixels)
    assert header["grid"] == [4, 4, 2, 2] and header["link"] == "pair"
    assert header["text"]["labels"] == ["a", "small", "red", "circle", "⟨end⟩"]
    assert header["picture"] == {
        "title": "Picture",
        "size": [96, 64],
        "digest": picture.digest,
        "coarse": True,
    }
    items = list(choose_first_item(attention, 0, trace.fields[attention.query]))
    expected = {"many": 2, "most": 5, "listed": 4, "overlap": 0.5, "items": items, "step": 0.25}
    assert header["lit"] == expected and len(items) == 1
    assert "read" not in arrays
    sizes = attention.grid.sizes()
    assert (sizes[arrays["several"][arrays["several_weight"] > 0]] > 1).all()


def test_self_attending_picture_has_no_text() -> None:
    header, arrays = unpacked(serialise_payload(make_grid_payload(fakes.caption_trace(), SELF)))
    assert header["text"] is None and "start" not in arrays
    assert arrays["area"].size == 4 * 16 * header["keep"]["area"]


def test_single_cells_have_no_larger_areas() -> None:
    payload = make_grid_payload(fakes.caption_trace(area_size=1), WORDS)
    assert set(payload["header"]["keep"]) == {"area"}


def test_hard_attention_is_sent_with_its_probability() -> None:
    trace = fakes.caption_trace(hard=True)
    _, arrays = unpacked(serialise_payload(make_grid_payload(trace, replace(WORDS, layer=1))))
    attention = trace.maps["encoder-decoder"]
    assert attention.chosen is not None
    np.testing.assert_array_equal(arrays["read"].reshape(4, 5), attention.chosen[1])
    back = (arrays["read_weight"].reshape(4, 5) / 65535) ** 2
    np.testing.assert_allclose(back, attention.weights[1].max(-1), atol=2e-5)


def test_caption_has_room_for_heads_and_cell_counts() -> None:
    before, after = make_grid_payload(fakes.caption_trace(), replace(WORDS, layer=1, head=2))[
        "header"
    ]["caption"]
    assert before.endswith("encoder-decoder, layer 2 of 2, ")
    assert after == " · softmax over areas, areas up to 2×2 cells of 4×4"


def test_data_depends_only_on_layer_and_picture() -> None:
    trace = fakes.caption_trace()
    identity = make_grid_payload(trace, WORDS)["header"]["id"]
    chosen = replace(WORDS, head=1, items=(3,), side="memory", unit="word", areas="several")
    assert make_grid_payload(trace, chosen)["header"]["id"] == identity
    assert make_grid_payload(trace, replace(WORDS, layer=1))["header"]["id"] != identity
    other = replace(
        trace, request=replace(trace.request, picture=fakes.picture(width=96, height=65))
    )
    assert make_grid_payload(other, WORDS)["header"]["id"] != identity


@pytest.mark.parametrize("cells", [8, 14])
def test_message_stays_small(cells: int) -> None:
    assert (
        len(
            serialise_payload(
                make_grid_payload(fakes.caption_trace(grid=cells, area_size=3, layers=1), SELF)
            )
        )
        < 300_000
    )


def test_grid_fits_only_pictures() -> None:
    trace = fakes.caption_trace()
    assert fits_grid(trace, WORDS) and fits_grid(trace, SELF)
    assert not fits_grid(trace, Focus("decoder self")) and not fits_grid(trace, Focus("nowhere"))
    assert not fits_grid(fakes.trace(), WORDS)
    with pytest.raises(ValueError, match="decoder self"):
        make_grid_payload(trace, Focus("decoder self"))


def test_places_in_words() -> None:
    grid = AreaGrid(8, 8, 3, 3)
    assert find_bounding_box([9, 18], grid) == Area(1, 1, 2, 2)
    assert describe_cells([9, 10, 17, 18], grid) == "rows 2-3, columns 2-3"
    assert describe_cells([0, 9], grid) == "row 1, column 1 + row 2, column 2"


def test_table_lists_areas_of_all_heads() -> None:
    trace = fakes.caption_trace()
    table = tabulate_grid(trace, replace(WORDS, items=(2,)))
    attention = trace.maps["encoder-decoder"]
    for head in range(4):
        rows = [row for row in table.rows if row[1] == head + 1]
        expected = top_areas(attention, 0, head, 2, 5)
        assert [row[2] for row in rows] == [format_area(top.area) for top in expected]
        assert [row[7] for row in rows] == pytest.approx([top.weight for top in expected], abs=1e-4)
        first = expected[0].area
        assert rows[0][3:7] == (first.top + 1, first.left + 1, first.height, first.width)
        assert rows[0][0] == "red"
    # Hard attention read nothing.
    assert "read" not in table.columns


def test_table_averages_cells_and_may_omit_single_ones() -> None:
    trace = fakes.caption_trace()
    attention = trace.maps["encoder self"]
    places = find_places(trace, replace(SELF, items=(0, 1), head=2, areas="several"))
    mean_A = attention.weights[0, 2, [0, 1]].mean(0)
    larger = attention.grid.sizes() > 1
    assert places[0].weight == pytest.approx(mean_A[larger].max())
    assert all(place.area.size > 1 for place in places)
    assert (
        tabulate_grid(trace, replace(SELF, items=(0, 1), head=2)).rows[0][0] == "row 1, columns 1-2"
    )


def test_read_cells_precede_heavier_cells() -> None:
    trace = fakes.caption_trace(hard=True)
    attention = trace.maps["encoder-decoder"]
    assert attention.chosen is not None
    lightest = attention.weights.argmin(-1)
    drawn = replace(
        trace, maps={**trace.maps, "encoder-decoder": replace(attention, chosen=lightest)}
    )
    rows = tabulate_grid(drawn, replace(WORDS, items=(1,), head=0)).rows
    assert [row[8] for row in rows] == ["yes", "", "", "", ""]
    assert rows[0][2] == format_area(attention.grid.area(int(lightest[0, 0, 1])))
    heaviest = tabulate_grid(trace, replace(WORDS, items=(1,), head=0)).rows
    assert [row[8] for row in heaviest].count("yes") == 1
    assert len({row[2] for row in heaviest}) == len(heaviest)


def test_memory_side_lists_attending_queries() -> None:
    trace = fakes.caption_trace()
    rows = tabulate_grid(trace, replace(WORDS, side="memory", items=(5, 6), head=1)).rows
    shares_Q = item_shares(trace.maps["encoder-decoder"], 0, 1)[:, [5, 6]].sum(1)
    assert rows[0][0] == trace.fields["target"].labels[int(shares_Q.argmax())]
    assert rows[0][2] == "row 2, columns 2-3"
    assert [row[7] for row in rows] == pytest.approx(sorted(shares_Q, reverse=True)[:5], abs=1e-4)


def test_table_without_selection_has_every_query() -> None:
    assert len({row[0] for row in tabulate_grid(fakes.caption_trace(), WORDS).rows}) == 5
    assert len({row[0] for row in tabulate_grid(fakes.caption_trace(), SELF).rows}) == 16


@pytest.mark.parametrize(
    ("focus", "panels", "title"),
    [
        (WORDS, 5, "What the output “a small red"),
        (replace(WORDS, items=(1, 3)), 2, "“small + circle”"),
        (replace(WORDS, items=(1, 3), head=2), 2, "“small + circle”"),
        (replace(WORDS, items=(5,), side="memory"), 1, "attends to row 2, column 2"),
        (SELF, 1, "What row 3, column 3 of the picture attends to"),
        (replace(SELF, items=(0, 1, 6)), 1, "row 1, column 1 + row 1, column 2"),
        (replace(SELF, items=(5,), side="memory", head=1), 1, "attends to row 2, column 2"),
    ],
)
def test_print_shows_pictures_frames_and_words(focus: Focus, panels: int, title: str) -> None:
    figure = draw_grid(fakes.caption_trace(), focus)
    axes, texts = figure.axes[0], [text.get_text() for text in figure.findobj(matplotlib.text.Text)]
    assert any(title in text for text in texts)
    heads = 4 if focus.head is None else 1
    assert len([text for text in texts if text.startswith("head ")]) == heads * panels
    tinted = not (focus.side == "memory" and focus.site == "encoder-decoder")
    assert len(axes.images) == panels * (1 + tinted)
    assert len(axes.patches) + len(axes.lines) > heads * panels
    assert any("cells of 4×4" in text for text in texts)
    assert not any(text.get_parse_math() for text in figure.findobj(matplotlib.text.Text))


@pytest.mark.parametrize(("cells", "numbers"), [(4, ["1", "2", "3", "4"]), (40, ["2", "4"])])
def test_print_numbers_rows_and_columns_at_their_cells(cells: int, numbers: list[str]) -> None:
    trace = fakes.caption_trace(grid=cells, area_size=1, seen=fakes.picture(width=320, height=320))
    figure = draw_grid(trace, replace(WORDS, items=(1,)))
    axes = figure.axes[0]
    left, right, bottom, top = axes.images[0].get_extent()
    written = [text for text in axes.texts if text.get_text().isdecimal()]
    columns = [text for text in written if text.get_position()[1] < top]
    rows = [text for text in written if text.get_position()[0] < left]
    assert {text.get_text() for text in columns} == {text.get_text() for text in rows}
    assert [text.get_text() for text in columns][: len(numbers)] == numbers
    for text in columns:
        x, _ = text.get_position()
        assert left + (int(text.get_text()) - 1) / cells * (right - left) < x
        assert x < left + int(text.get_text()) / cells * (right - left)
    for text in rows:
        _, y = text.get_position()
        assert top < y < bottom


@pytest.mark.parametrize(("width", "height"), [(1, 640), (640, 1)])
def test_print_widens_a_thin_picture(width: int, height: int) -> None:
    trace = fakes.caption_trace(seen=fakes.picture(width=width, height=height))
    figure = draw_grid(trace, replace(WORDS, items=(1,)))
    axes = figure.axes[0]
    left, right, bottom, top = axes.images[0].get_extent()
    assert min(right - left, bottom - top) > 0.2  # inches
    frames = [p for p in axes.patches if isinstance(p, Rectangle) and not p.get_fill()]
    assert frames and all(
        left <= p.get_x() and p.get_x() + p.get_width() <= right + 0.05 for p in frames
    )
    assert all(top <= p.get_y() and p.get_y() + p.get_height() <= bottom + 0.05 for p in frames)


def test_print_limits_words_and_marks_read_cells() -> None:
    figure = draw_grid(
        fakes.caption_trace("one two three four five six seven $eight$", hard=True), WORDS
    )
    axes = figure.axes[0]
    assert len(axes.images) == 12
    white = [
        p for p in axes.patches if isinstance(p, Rectangle) and p.get_edgecolor() == (1, 1, 1, 1)
    ]
    assert len(white) == 6 * 4
    assert any("read: " in text.get_text() for text in axes.texts)
