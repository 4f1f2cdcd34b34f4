"""Ten items hovered, as a stranger would, and in how many of them an area of several items lights
up.
"""

from __future__ import annotations

from playwright.sync_api import Locator, expect

HOVERS, WANTED = 10, 5
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Waits for the frame that shows what was pointed at."""


def several_seen(view: Locator) -> list[str]:
    """What is said of those of ten items, spread over what attends, that show an area of two or
    more items as the heaviest of some head. Nothing is chosen before: it is as it opens.

    Args:
        view: a ribbon or an image grid, ready.
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
