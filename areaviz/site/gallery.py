"""The gallery of the site: twelve stored runs as interactive pages, and their list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from areaviz.cards.tasks import TASKS
from areaviz.draw.labels import make_element
from areaviz.page.page import make_page
from areaviz.samples.paths import OPENINGS
from areaviz.site.page_frame import Files, Site, add_site_link, render_site_page
from areaviz.trace import file
from areaviz.trace.record import Trace

RUN_COUNT = 12
"""The number of runs in the gallery."""
FIRST = (
    *("token-boundary", "char-boundary", "language-model-boundary", "scene-captions-boundary"),
    *("scene-translation", "memory-stories", "pointer-hull", "parser-boundary", "speech-hybrid"),
    *("video-both", "items-soft", "stn-cluttered"),
)
"""The models of the gallery, in order."""
DESCRIPTION = (
    "Each page contains one run of a model, stored when the site was made, with all its attention."
    " Click a word, choose a head, or change the layer."
)


def make_files(site: Site) -> Files:
    """Return the gallery and the pages of its runs."""
    cards = []
    for model in site.stored:
        card = site.cards[model]
        link = make_element("a", card.title, href=f"traces/{model}.html")
        what = f"{TASKS[card.task].title} · {model}"
        also = make_element("p", _render_live_link(site, model)) if model in site.live else ""
        inside = [make_element("h2", link), make_element("p", what, class_="facts")]
        cards.append(make_element("div", *inside, *([also] if also else []), class_="card"))
    main = [make_element("p", DESCRIPTION), make_element("div", *cards, class_="cards")]
    yield "gallery.html", render_site_page(site, "Gallery", main)
    for model, path in site.stored.items():
        yield f"traces/{model}.html", add_site_link(make_page(file.load(path)), site)


def _render_live_link(site: Site, model: str) -> str:
    return make_element("a", "Run this model", href=site.best_page(model))


def find_stored_run(is_wanted: Callable[[Trace], bool]) -> Trace | None:
    """Return the first stored run of the app's pages for which `is_wanted` is true, or None."""
    for path in sorted(OPENINGS.glob("*.npz")):
        trace = file.load(path)
        if is_wanted(trace):
            return trace
    return None


def list_stored_traces(home: Path, openings: Path) -> Mapping[str, Path]:
    """Return the largest file with a stored run of each model in the gallery, by model.

    Args:
        home: the file of a translation's trace.
        openings: the folder of the traces that the app's pages first show.
    """
    largest: dict[str, Path] = {}
    for path in sorted([home, *openings.glob("*.npz")], key=lambda one: one.stat().st_size):
        largest[file.load(path).request.model] = path
    return {name: largest[name] for name in FIRST[:RUN_COUNT] if name in largest}
