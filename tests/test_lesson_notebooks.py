"""The notebooks of the lessons, run by nbconvert: empty, with a wrong answer and the right one."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbconvert.preprocessors import ExecutePreprocessor

from areaviz.samples.paths import HERO
from areaviz.trace import file
from areaviz.trace.query import top_areas
from areaviz.views.message import choose_first_focus
from tests.sampled import sampled

ROOT = Path(__file__).parents[1]
CASES = {
    "lesson_1_areas_of_a_sequence": ("guess = 'elephants'", ""),
    "lesson_3_key_and_value": ("key = 16\nvalue = 4", "key = 4\nvalue = 16"),
    "lesson_4_from_a_query_to_the_output": ("coverage = weights", "coverage = holds @ weights"),
    "lesson_6_begin_and_end": ("end_score = 0", "end_score = 0.1"),
}
"""A wrong and a right blank of each notebook; "" is read from the trace."""


def outcomes(name: str, blanks: list[str]) -> list[str]:
    """Run a notebook once with its check repeated for every blank; return what the checks print."""
    notebook = nbformat.read(ROOT / "examples" / f"{name}.ipynb", as_version=4)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    *start, empty, check = code
    assert "= ..." in empty
    cells = [*start]
    for blank in (empty, *blanks):
        cells += [blank, check]
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in cells]
    runner = ExecutePreprocessor(timeout=120, kernel_name="python3")
    done, _ = runner.preprocess(notebook, {"metadata": {"path": str(ROOT)}})
    checks = done.cells[len(start) + 1 :: 2]
    return ["".join(output.text for output in cell.outputs) for cell in checks]


def taken_words() -> str:
    """Return the words of the heaviest area that the first notebook asks for."""
    trace = file.load(HERO)
    look = choose_first_focus(trace)
    attention = trace.maps[look.site]
    tops = []
    for head in range(attention.heads):
        tops.append(top_areas(attention, look.layer, head, look.items[0], k=1)[0])
    top = max(tops, key=lambda one: (one.area.size > 1, one.weight))
    assert top.area.size > 1
    field = trace.fields[attention.memory]
    end = field.anchors[top.area.left + top.area.width - 1, 1]
    return field.raw[field.anchors[top.area.left, 0] : end].strip()


@pytest.mark.parametrize("name", sampled(CASES, *list(CASES)[:1]))
def test_lesson_notebook_checks_the_blank(name: str) -> None:
    wrong, right = CASES[name]
    empty, no, yes = outcomes(name, [wrong, right or f"guess = {taken_words()!r}"])
    assert empty.startswith("Not yet: fill in") and no.startswith("Not yet")
    assert yes.startswith("Right")
