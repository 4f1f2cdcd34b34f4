"""Question 9: which entries of the table give the sum of a rectangle?"""

from __future__ import annotations

from areaviz.lessons import summed_table
from areaviz.lessons.ask.question_parts import QuestionData, Texts
from areaviz.trace.areas import Area

AREA = Area(1, 1, 2, 2)


def make_question(texts: Texts) -> QuestionData:
    """Ask for the entries of the table from which the sum of a rectangle is computed."""
    i1, i2, i3, i4 = summed_table.get_corners(AREA)
    total = summed_table.MEMORY[
        AREA.top : AREA.top + AREA.height, AREA.left : AREA.left + AREA.width
    ].sum()
    rows, columns = summed_table.compute_table().shape
    places = summed_table.locate_corners(AREA)
    numbers = {
        "memory": summed_table.MEMORY.tolist(),
        "table": summed_table.compute_table().tolist(),
        "area": [AREA.top, AREA.left, AREA.height, AREA.width],
        "answer": sorted(row * columns + column for row, column in places),
        "rows": rows,
        "columns": columns,
        "cell": texts["cell"],
        "captions": [texts["memory"], texts["table"]],
    }
    words = {"i1": f"{i1:g}", "i2": f"{i2:g}", "i3": f"{i3:g}", "i4": f"{i4:g}"}
    deep = {"memory": summed_table.MEMORY.tolist()}
    return QuestionData(numbers, words | {"sum": f"{total:g}", "size": AREA.size}, deep)
