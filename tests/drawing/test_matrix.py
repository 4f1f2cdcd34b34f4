from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as PrintFigure

from areaviz.draw import matrix
from areaviz.draw.matplotlib import draw_in_print
from areaviz.draw.matrix import Matrix, plot_matrix
from areaviz.draw.plotly import draw_on_screen
from areaviz.draw.theme import relabel_for_width
from areaviz.trace.query import find_area_of_each
from areaviz.trace.request import Focus
from areaviz.views.views import VIEWS
from tests import fakes


def example(rows: int, columns: int) -> Matrix:
    values = np.random.default_rng(0).random((rows, columns), dtype=np.float32)
    row_labels, column_labels = (
        tuple(f"{side}{i}" for i in range(n)) for side, n in (("r", rows), ("c", columns))
    )
    return Matrix(
        title="A title",
        note="A note",
        caption="A caption",
        values=values,
        rows=row_labels,
        columns=column_labels,
        row_title="rows",
        column_title="columns",
        unit="a unit",
        top=1.0,
    )


def test_small_matrix_is_drawn_cell_by_cell() -> None:
    small = example(3, 4)
    heatmap = draw_on_screen(plot_matrix(small)).data[0]
    np.testing.assert_array_equal(heatmap.z, small.values)
    assert heatmap.text[2][3].startswith("r2 → c3<br>")


def test_large_matrix_is_one_picture_with_colour_bar() -> None:
    figure = draw_on_screen(plot_matrix(example(97, 40)))
    image = figure.layout.images[0]
    assert (image.sizex, image.sizey) == (40, 97) and figure.layout.coloraxis.cmax == 1.0
    assert "averaged" not in figure.layout.title.text


def test_huge_matrix_is_averaged_with_a_note() -> None:
    huge = example(3, 801)
    assert "averaged 1×3 to a pixel" in draw_on_screen(plot_matrix(huge)).layout.title.text
    table = matrix.tabulate_matrix(huge)
    assert table.columns[1:3] == ("1-3", "4-6") and table.columns[-1] == "799-801"
    assert table.rows[1][2] == pytest.approx(float(huge.values[1, 3:6].mean()), rel=1e-5)


def test_table_contains_the_drawn_numbers() -> None:
    table = matrix.tabulate_matrix(example(2, 3))
    assert table.columns == ("rows", "1 c0", "2 c1", "3 c2")
    assert table.rows[1][0] == "2 r1" and table.rows[1][3] == float(example(2, 3).values[1, 2])


def test_scale_ends_at_averaged_maximum() -> None:
    values = np.zeros((2, 1024), dtype=np.float32)
    values[0, 0] = 0.3
    peak = replace(example(2, 1024), values=values, top=0.5)
    assert draw_on_screen(plot_matrix(peak)).layout.coloraxis.cmax == pytest.approx(0.1)


def test_marked_runs_are_outlined() -> None:
    marked = replace(example(6, 5), marked_rows=(1, 2, 5), marked_columns=(0,))
    boxes = [(s.x0, s.y0, s.x1, s.y1) for s in draw_on_screen(plot_matrix(marked)).layout.shapes]
    assert boxes == [(-0.5, 0.5, 4.5, 2.5), (-0.5, 4.5, 4.5, 5.5), (-0.5, -0.5, 0.5, 5.5)]


def overlaps(figure: PrintFigure) -> int:
    """Return the number of neighbouring tick labels whose drawn outlines touch."""
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    figure.draw(renderer)
    touching = 0
    for axes in figure.axes:
        for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
            level = [label for label in labels if label.get_text() and not label.get_rotation()]
            boxes = [label.get_window_extent(renderer) for label in level]
            touching += sum(a.overlaps(b) for a, b in zip(boxes, boxes[1:], strict=False))
    return touching


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("alignment", "mWiM w" * 9),
        ("pyramid", "A man, a plan; WWWWW 漢字漢字 " * 2),
        ("lines", "mw" * 50),
        ("sizes", "ab"),
    ],
)
def test_printed_labels_do_not_overlap(name: str, text: str) -> None:
    trace = fakes.trace(text, text[::-1], layers=1)
    assert overlaps(VIEWS[name].print(trace, Focus("encoder-decoder", 0, 1))) == 0


def outlined(rows: int = 3) -> Matrix:
    """Return a matrix with an outline in all rows except the first."""
    one = matrix.Outlined(1, 3, "b c", 2, 0.75)
    return replace(example(rows, 4), outline="densest area", outlined=(None, *[one] * (rows - 1)))


def test_outlined_areas_are_drawn_and_listed() -> None:
    boxes = [one for one in draw_on_screen(plot_matrix(outlined())).data if one.type == "scatter"]
    assert {len(box.x) for box in boxes} == {2 * 6}
    assert min(x for x in boxes[0].x if x is not None) == pytest.approx(0.56)
    assert max(x for x in boxes[0].x if x is not None) == pytest.approx(2.44)
    table = matrix.tabulate_matrix(outlined())
    assert table.columns[:4] == ("rows", "densest area", "items in it", "its share")
    assert table.rows[0][1:4] == ("none", 0, 0.0) and table.rows[2][1:4] == ("b c", 2, 0.75)
    assert all(len(row) == len(table.columns) for row in table.rows)
    lines = draw_in_print(plot_matrix(outlined())).axes[0].lines
    assert [len(np.asarray(line.get_xydata())) for line in lines] == [2 * 6, 2 * 6]


def test_large_matrix_has_no_outlines() -> None:
    large = outlined(97)
    assert not [one for one in draw_on_screen(plot_matrix(large)).data if one.mode == "lines"]


@pytest.mark.parametrize("rows", [3, 97])
def test_signed_matrix_has_a_two_sided_scale(rows: int) -> None:
    values = example(rows, 4).values * 6 - 3
    signed = replace(example(rows, 4), values=values, is_signed=True, top=3.0)
    scale = draw_on_screen(plot_matrix(signed)).layout.coloraxis
    assert (scale.cmin, scale.cmax) == (-3, 3)
    assert scale.colorbar.ticktext[0] == "1/8" and scale.colorbar.ticktext[-1] == "8×"
    bar = draw_in_print(plot_matrix(signed)).axes[-1]
    assert [label.get_text() for label in bar.get_yticklabels()][3] == "1×"
    if rows == 3:
        assert "times the average" in draw_on_screen(plot_matrix(signed)).data[0].text[0][0]


def test_labels_are_thinned_to_fit() -> None:
    figure = draw_on_screen(plot_matrix(example(3, 40)))
    few = len(figure.layout.xaxis.tickvals)
    heading = figure.layout.height - figure.layout.margin.t
    wide = relabel_for_width(figure, 1600)
    assert few < len(wide.layout.xaxis.tickvals) == 40
    assert wide.layout.height - wide.layout.margin.t == heading


def test_alignment_outlines_the_areas_of_the_reading() -> None:
    trace = fakes.trace()
    view = VIEWS["alignment"]
    focus = Focus("encoder-decoder", 1, 2)
    found = find_area_of_each(trace.maps["encoder-decoder"], focus, [(0, 1)])[0]
    row = view.table(trace, focus).rows[0]
    assert found and row[2] == found.area.width and row[3] == pytest.approx(found.weight)
    densest = view.table(trace, replace(focus, reading="densest", mass=70)).rows[0]
    assert float(densest[3]) >= 0.699
    assert view.table(trace, replace(focus, reading="coverage")).columns[1].startswith("1 ")
    assert view.table(trace, replace(focus, against="average")).columns[1].startswith("1 ")
    signed = view.figure(trace, replace(focus, against="average"))
    assert "blue: less" in signed.layout.title.subtitle.text
