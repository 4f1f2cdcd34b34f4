"""Where areas and items lie, in words; everything counts from 1."""

from __future__ import annotations

from areaviz.trace.areas import Area


def area_text(area: Area) -> str:
    """An area of a picture's cells: "rows 2-3, columns 4-6"."""
    return f"{run_text('row', area.top, area.height)}, {run_text('column', area.left, area.width)}"


def span_text(area: Area) -> str:
    """An area of a text's items: "item 3" or "items 3-5"."""
    return run_text("item", area.left, area.width)


def run_text(name: str, first: int, count: int) -> str:
    """Neighbours along one side: "row 2" or "rows 2-3". name: singular. first: counted from 0."""
    return f"{name} {first + 1}" if count == 1 else f"{name}s {first + 1}-{first + count}"
