"""How opened pages are compared with stored pictures and layouts, and when they cannot be."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from tests.browser.openings import PAGES
from tests.browser.screens import (
    MOST_MOVED,
    difference,
    moved,
    not_compared,
    packed,
    stored_layouts,
)

LAYOUT = {"wide": {"title": [80, 60, 300, 100]}, "narrow": {}}


def picture(dark_rows: int) -> bytes:
    """Return a white picture of 100 x 100 pixels with dark rows at the top."""
    pixels_HW3 = np.full((100, 100, 3), 255, np.uint8)
    pixels_HW3[:dark_rows] = 0
    file = io.BytesIO()
    Image.fromarray(pixels_HW3).save(file, "PNG")
    return file.getvalue()


def test_difference_is_the_share_of_pixels_that_differ() -> None:
    assert difference(picture(0), packed(picture(0))) == 0
    assert abs(difference(picture(0), packed(picture(32))) - 0.32) < 0.02


def test_parts_that_moved_appeared_or_vanished_are_named() -> None:
    left, top, right, bottom = LAYOUT["wide"]["title"]
    near = {"wide": {"title": [left + MOST_MOVED, top, right, bottom]}, "narrow": {}}
    far = {"wide": {"title": [left, top, right, bottom + MOST_MOVED + 1]}, "narrow": {}}
    assert moved(near, LAYOUT) == []
    assert len(moved(far, LAYOUT)) == 1
    assert len(moved({"wide": {}, "narrow": {"lit": [0, 0, 9, 9]}}, LAYOUT)) == 2


def test_pictures_of_a_different_version_are_skipped_with_reason() -> None:
    assert "and this is 1.2.3" in not_compared("1.2.3")


def test_every_page_has_a_stored_layout() -> None:
    assert stored_layouts().keys() == PAGES.keys()
