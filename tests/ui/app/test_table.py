"""Tables for readers: columns that count as numbers, and how the page draws them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.app.texts import are_empty, are_numbers


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "2.5"],
        ["−0.3", "+1,024"],
        ["4.56%", "38.9 %"],
        ["6.90", "19.13*"],
        ["1.1×", "–"],
        ["0.341 ± 0.000", ""],
        ["−0.2 to +0.4"],
        [r"\-0\.3", r"3\.1"],
    ],
)
def test_figures_with_signs_units_and_intervals_are_numbers(cells: list[str]) -> None:
    assert are_numbers(cells)


@pytest.mark.parametrize("cells", [[], ["", "–"], ["1", "two"], ["Layer 1"], ["to"], ["1 2"]])
def test_words_and_empty_columns_are_not_numbers(cells: list[str]) -> None:
    assert not are_numbers(cells)


def test_column_of_dashes_says_nothing() -> None:
    assert are_empty(["–", "", r"\–"])
    assert not are_empty(["–", "0"]) and not are_empty([])


def test_column_with_dashes_is_aligned_with_numbers() -> None:
    def script() -> None:
        from areaviz.app.texts import draw_text_table

        draw_text_table({"Model": ["a", "b"], "BLEU": ["38.9", "–"], "chrF": ["–", "–"]})

    [table] = AppTest.from_function(script).run().table
    style = table.proto.arrow_data.styler.styles
    assert "th.col1" in style and "th.col2" in style and "col0" not in style


def test_cells_are_shown_unchanged() -> None:
    def script() -> None:
        from areaviz.app.texts import draw_text_table

        draw_text_table({"Model": ["a", "b"], "BLEU": ["38.9", "–"]})

    app = AppTest.from_function(script).run()
    assert not app.exception
    table = app.table[0].value
    assert table.to_dict("list") == {"Model": ["a", "b"], "BLEU": ["38.9", "–"]}


def test_table_without_numbers_is_drawn() -> None:
    def script() -> None:
        from areaviz.app.texts import draw_text_table

        draw_text_table({"Model": ["a"], "Keys": ["mean"]})

    app = AppTest.from_function(script).run()
    assert not app.exception and list(app.table[0].value) == ["Model", "Keys"]


@pytest.mark.long
def test_page_without_table_does_not_import_pandas() -> None:
    code = "import sys, areaviz.app.result; print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
