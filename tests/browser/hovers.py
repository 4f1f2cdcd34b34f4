"""Hover over ten items, and count those whose hover highlights an area of several items."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

HOVERS, WANTED = 10, 5
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Waits for the frame that shows the hovered item."""


def several_seen(view: Locator) -> list[str]:
    """Hover over ten evenly spaced items, and return the sentences of items with larger areas.

    An item counts if the heaviest area of some head has two or more items. The view is in its
    initial state, without a selection.

    Args:
        view: A ribbon or an image grid that is ready.
    """
    side = view.locator("[data-side=query] .item:visible, [data-side=query] .chip:visible")
    count = side.count()
    assert count, "nothing attends here"
    places = sorted({round(place * (count - 1) / (HOVERS - 1)) for place in range(HOVERS)})
    said = []
    for place in places:
        view.page.mouse.move(2, 2)
        side.nth(place).hover()
        view.evaluate(DRAWN)
        sentence = view.locator(".say")
        expect(sentence).to_contain_text("attend")
        if int(view.get_attribute("data-largest") or 0) >= 2:
            said.append(sentence.inner_text())
    return said
