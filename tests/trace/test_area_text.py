from areaviz.trace.area_text import area_text, span_text
from areaviz.trace.areas import Area


def test_areas_in_words() -> None:
    assert area_text(Area(1, 3, 2, 3)) == "rows 2-3, columns 4-6"
    assert area_text(Area(2, 4, 1, 1)) == "row 3, column 5"


def test_spans_in_words() -> None:
    assert span_text(Area(0, 2, 1, 1)) == "item 3"
    assert span_text(Area(0, 2, 1, 3)) == "items 3-5"
