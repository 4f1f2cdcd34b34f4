"""The words and places of a trace, as the tour and the teacher's page write them."""

from __future__ import annotations

from areaviz.app.texts import sentence
from areaviz.texts.catalogue import message
from areaviz.trace.areas import Area
from areaviz.trace.query import Attended, top_areas
from areaviz.trace.record import AttentionMap, Field


def quote_text(text: str) -> str:
    """Return a text in quotation marks, as the sentences below pictures have them."""
    return sentence("“{text}”", text=text)


def get_word_text(field: Field, item: int) -> str:
    """Return the text of an item without spaces around it."""
    start, end = field.anchors[item].tolist()
    return field.raw[start:end].strip()


def list_top_areas(attention: AttentionMap, layer: int, item: int) -> list[Attended]:
    """Return the heaviest area of every head of a layer for an item that attends."""
    heads = range(attention.heads)
    return [top_areas(attention, layer, head, item, k=1)[0] for head in heads]


def get_span_text(field: Field, area: Area) -> str:
    """Return the text of an area of a sequence."""
    first, last = area.left, area.left + area.width - 1
    return field.raw[field.anchors[first, 0] : field.anchors[last, 1]].strip()


def describe_place(area: Area) -> str:
    """Describe where an area of a picture is, as the sentence below the picture does."""
    row = {"number": area.top + 1, "first": area.top + 1, "last": area.top + area.height}
    column = {"number": area.left + 1, "first": area.left + 1, "last": area.left + area.width}
    rows, columns = message("rows {first}-{last}"), message("columns {first}-{last}")
    if area.height == 1:
        rows = message("row {number}")
    if area.width == 1:
        columns = message("column {number}")
    return f"{sentence(rows, **row)}, {sentence(columns, **column)}"


def format_percent(top: Attended) -> str:
    """Return the weight of an area in whole per cent."""
    return f"{100 * top.weight:.0f} %"
