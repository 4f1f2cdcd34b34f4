"""Tags for shared links.

Social networks show a page's title, a sentence and a picture from them.
"""

from __future__ import annotations

from collections.abc import Sequence

from areaviz.draw.labels import Markup, make_element

PICTURE = "share.png"
"""The picture's file in the site's folder. It is the last frame of the ribbon's animation."""
DESCRIPTION = "See which words, areas of pictures and moments a model attends to, head by head."


def share_tags(title: str, address: str) -> Sequence[Markup]:
    """Return the Open Graph tags of a page, or () if the site's address is unknown.

    Args:
        title: the title of the page.
        address: the web address of the site's folder, or "" if it is unknown. The address of the
            picture contains it.
    """
    if not address:
        return ()
    told = {
        "og:type": "website",
        "og:title": title,
        "og:description": DESCRIPTION,
        "og:image": f"{address.rstrip('/')}/{PICTURE}",
    }
    tags = [make_element("meta", property=name, content=content) for name, content in told.items()]
    return [*tags, make_element("meta", name="twitter:card", content="summary_large_image")]
