"""What a shared link to a page of the site shows: its title, a sentence and a picture."""

from __future__ import annotations

from collections.abc import Sequence

from areaviz.drawing.markup import Markup, element

PICTURE = "share.png"
"""The picture's file at the top of the site. It is the last still of the ribbon's animation."""
WHAT = "See which words, areas of pictures and moments a model attends to, head by head."


def share_tags(title: str, address: str) -> Sequence[Markup]:
    """Return the Open Graph tags of a page; () without an address, which pictures need.

    Args:
        title: the title of the page.
        address: the address of the site's folder, "" if it is unknown.
    """
    if not address:
        return ()
    told = {
        "og:type": "website",
        "og:title": title,
        "og:description": WHAT,
        "og:image": f"{address.rstrip('/')}/{PICTURE}",
    }
    tags = [element("meta", property=name, content=content) for name, content in told.items()]
    return [*tags, element("meta", name="twitter:card", content="summary_large_image")]
