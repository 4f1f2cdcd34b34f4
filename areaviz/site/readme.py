"""The README.md of the site. Its header also makes the site a static Space of Hugging Face."""

from __future__ import annotations

from areaviz import __version__
from areaviz.site.page_frame import Files, Site

NAME = "README.md"
TEXT = """---
title: areaviz
emoji: 🔎
colorFrom: green
colorTo: gray
sdk: static
app_file: index.html
pinned: false
---

# areaviz

See what trained models attend to, as areas of texts and pictures. Open `index.html`: the pages
work from a disk and on any static host. {count} models run in the reader's browser. The pages fetch
nothing and send nothing.

Made with areaviz {version} by `areaviz site FOLDER`. Each model's page names the licence of its
weights.
"""


def make_files(site: Site) -> Files:
    """Return the README."""
    yield NAME, TEXT.format(count=len(site.live), version=__version__)
