import csv
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure as PrintFigure

from areaviz.draw.view import (
    Paper,
    Table,
    encode_csv,
    encode_figure,
    escape_cell,
    format_csv,
    format_json,
    unescape_cell,
)
from areaviz.trace.errors import InputError
from areaviz.trace.request import Focus
from areaviz.views.views import VIEWS
from tests import fakes
from tests.sampled import sampled

ACTIVE = ("=1+1", "+1", "-1", "@x", "\tx", "\rx", "'x", "''", "a;=1+1", "a\n=1", "＝1+1", ' "=1"')


@given(st.text(st.characters(codec="utf-8")) | st.sampled_from(ACTIVE))
def test_escaping_is_reversible_and_leaves_nothing_active(text: str) -> None:
    assert unescape_cell(escape_cell(text)) == text
    assert not escape_cell(text).startswith(("=", "+", "-", "@", "\t", "\r"))


@given(st.text(st.sampled_from("=-＋＝@;\t\r\n '\",ax"), max_size=12) | st.sampled_from(ACTIVE))
def test_escaping_covers_semicolons_and_tabs(text: str) -> None:
    assert unescape_cell(escape_cell(text)) == text
    written = format_csv(Table(("text",), [(text,)]))
    cells = [cell.lstrip('" ') for cell in re.split("[;\t\r\n]", written)]
    assert not [
        cell for cell in cells if cell.startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))
    ]


def test_csv_reads_back_with_numbers_as_numbers() -> None:
    table = Table(("label", "=n", "weight"), [(cell, -3, -0.25) for cell in (*ACTIVE, "a,b\n“c”")])
    header, *rows = csv.reader(io.StringIO(format_csv(table), newline=""))
    assert list(map(unescape_cell, header)) == list(table.columns)
    assert [(unescape_cell(a), int(b), float(c)) for a, b, c in rows] == list(table.rows)


def test_missing_numbers_are_empty_or_null() -> None:
    table = Table(("a", "b"), [(float("nan"), 1), (float("inf"), 2)])
    assert format_csv(table) == "a,b\r\n,1\r\n,2\r\n"
    assert json.loads(format_json(table)) == {"columns": ["a", "b"], "rows": [[None, 1], [None, 2]]}


def test_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="Choose one of svg, pdf, png"):
        encode_figure(PrintFigure(), "jpg")


@pytest.mark.parametrize("kind", ["svg", "pdf", "png"])
def test_equal_figures_are_equal_files(kind: str) -> None:
    def drawn() -> bytes:
        figure = PrintFigure(figsize=(2, 1))
        figure.subplots().imshow([[0, 1], [1, 0]])  # clipped; SVG refers to the clip path by an id
        return encode_figure(figure, kind)

    assert drawn() == drawn()


@pytest.mark.parametrize("width", sampled([3.35, 6.7, 12.0], 3.35))
@pytest.mark.parametrize("letters", sampled([6.0, 7.5, 12.0], 7.5))
def test_figure_has_chosen_width_and_font_size(width: float, letters: float) -> None:
    trace, focus = fakes.trace(), Focus("encoder-decoder", items=(1,))
    figure = VIEWS["alignment"].print(trace, focus)
    svg = encode_figure(figure, "svg", Paper(width, letters)).decode()
    found = re.search(r'<svg[^>]*width="([0-9.]+)pt"', svg)
    assert found is not None and float(found[1]) == pytest.approx(72 * width, abs=0.1)
    sizes = {round(float(text.get_fontsize()), 3) for text in figure.axes[0].get_xticklabels()}
    assert sizes == {letters}
    canvas = figure.bbox
    for text in figure.texts[:3]:
        box = text.get_window_extent()
        assert box.x1 <= canvas.x1 + 1 and box.y0 >= -1 and box.y1 <= canvas.y1 + 1


def test_impossible_paper_size_is_refused() -> None:
    with pytest.raises(InputError, match="width"):
        Paper(200.0).checked()
    with pytest.raises(InputError, match="letters"):
        Paper(letters=1.0).checked()


def test_spreadsheet_csv_declares_utf_8() -> None:
    content = encode_csv(Table(("Wort",), [("größer",)]))
    assert content.startswith(b"\xef\xbb\xbf") and "größer" in content.decode("utf-8-sig")
