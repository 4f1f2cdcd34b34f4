"""Question 9: which entries of the table give the sum of a rectangle?"""

from __future__ import annotations

from areaviz.lessons import summed_table
from areaviz.lessons.ask.question_parts import Asked, Texts
from areaviz.trace.areas import Area

AREA = Area(1, 1, 2, 2)


def ask(texts: Texts) -> Asked:
    """Ask for the entries of the table from which the sum of a rectangle is computed."""
    i1, i2, i3, i4 = summed_table.corners(AREA)
    total = summed_table.MEMORY[
        AREA.top : AREA.top + AREA.height, AREA.left : AREA.left + AREA.width
    ].sum()
    rows, columns = summed_table.table().shape
    places = summed_table.corner_places(AREA)
    numbers = {
        "memory": summed_table.MEMORY.tolist(),
        "table": summed_table.table().tolist(),
        "area": [AREA.top, AREA.left, AREA.height, AREA.width],
        "answer": sorted(row * columns + column for row, column in places),
        "rows": rows,
        "columns": columns,
        "cell": texts["cell"],
        "captions": [texts["memory"], texts["table"]],
    }
    words = {"i1": f"{i1:g}", "i2": f"{i2:g}", "i3": f"{i3:g}", "i4": f"{i4:g}"}
    deep = {"memory": summed_table.MEMORY.tolist()}
    return Asked(numbers, words | {"sum": f"{total:g}", "size": AREA.size}, deep)
