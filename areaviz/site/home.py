"""Home of the site, and the gallery of its stored runs."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from areaviz.app.home import TILES, WHAT_IT_DOES, Tile
from areaviz.app.page import TITLES
from areaviz.app.texts import sentence
from areaviz.cards.tasks import TASKS
from areaviz.draw.labels import Markup, make_data_block, make_element
from areaviz.page.body import collect_script_settings, make_panel, render_payload
from areaviz.page.content import PageOptions, Payload, format_focus, list_places, make_payload
from areaviz.page.page import collect_page_content, make_mount_script, make_page
from areaviz.samples.paths import HERO, LOOKS, OPENINGS
from areaviz.site.frame import Files, Site, add_site_link, render_site_page
from areaviz.texts.catalogue import message
from areaviz.trace import file
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.message import choose_first_focus
from areaviz.views.parts import read_parts, read_text

# Home of the site: a ribbon, tiles for six pages ("Six ways in"), and links to other parts.
#
# It follows the app's Home.


HEADING = message("See what a model attends to")
STILL = message("This page needs scripts to show the attention. The links below work without them.")
DOORS = (
    (
        "tour",
        message("Take the tour"),
        message("Five steps show areas, heads and rectangles in stored runs."),
    ),
    (
        "lessons",
        message("Guess and learn"),
        message("Short questions about how areas work, one a page."),
    ),
    (
        "live",
        message("Run a model here"),
        message("Type a sentence, and a model answers on your device."),
    ),
    (
        "gallery",
        message("Look at stored runs"),
        message("Explore twelve runs of models of many kinds."),
    ),
    (
        "models",
        message("Read the cards"),
        message("What each model is, its results, its limits and its licence."),
    ),
    (
        "teach",
        message("Teach a class"),
        message("A plan of 45 minutes with answers, and a sheet to print."),
    ),
)


def make_home_files(site: Site) -> Files:
    """Return Home."""
    style, hero, script = _render_hero(site.language)
    tiles = [_render_tile(site, way) for way in TILES]
    doors = []
    translated_pages = [page.name for page in site.menu if page.is_translated]
    for name, title, what in DOORS:
        root = "" if name in translated_pages else site.root
        link = make_element("a", sentence(title), href=f"{root}{name}.html")
        told = make_element("p", sentence(what))
        doors.append(make_element("div", make_element("h2", link), told, class_="card"))
    # Link to the live page of the ribbon's model, or to its stored run.
    model = file.load(HERO).request.model
    own = model in site.live
    label = sentence("Try your own sentence") if own else sentence("Explore this run")
    tried = make_element("a", label, href=site.best_page(model), class_="button")
    what = Markup(make_element("p", sentence(WHAT_IT_DOES).replace("**", "")))
    main = [
        make_element("div", what, tried, class_="hero"),
        *hero,
        make_element("h2", sentence("Six ways in")),
        make_element("div", *tiles, class_="cards six"),
        make_element("div", *doors, class_="cards"),
    ]
    yield (
        "index.html",
        render_site_page(site, sentence(HEADING), main, styles=[style], script=script),
    )


def _render_hero(language: str) -> tuple[str, list[Markup], str]:
    """Return the style, the markup and the script of the ribbon at the top of Home."""
    trace = file.load(HERO)
    look = choose_first_focus(trace)
    options = PageOptions(sites=(look.site,), layers=(look.layer,), language=language)
    found = list_places(trace, options)
    # The focus selects no items, so the ribbon shows the word that shows areas best.
    focus = Focus(look.site, look.layer, unit="word")
    content = collect_page_content(trace, found, focus, options)
    told = collect_script_settings(content) | {"opening": format_focus(focus)}
    data: Payload = make_payload(trace, found[0], look.layer, options)
    shared = "\n".join(map(read_text, ("views/message.js", "page/panels.js", "page/page.js")))
    still = make_element(
        "section", make_element("p", sentence(STILL)), content.instead, id="without-script"
    )
    drawn = [
        still,
        make_panel("ribbon", language),
        make_data_block(told, id="panels"),
        render_payload(data),
    ]
    return (
        read_parts("ribbon").css,
        drawn,
        f"{make_mount_script(content.shown, language)}\n{shared}",
    )


def _render_tile(site: Site, way: Tile) -> Markup:
    """Return the tile of a way in. It links to a live page or, without one, to a stored run."""
    title = sentence(TITLES[way.page])
    link = make_element("a", title, href=site.best_page(_choose_model(way, site)))
    inside = [make_element("h3", link), make_element("p", sentence(way.what))]
    return make_element("div", _render_preview(way, title), *inside, class_="card")


def _render_preview(way: Tile, title: str) -> Markup:
    if way.picture.is_file():
        data = base64.b64encode(Path(way.picture).read_bytes()).decode()
        source = f"data:image/svg+xml;base64,{data}"
        return make_element(
            "img", src=source, alt=sentence("Preview of {title}", title=title), class_="preview"
        )
    text = f"{way.example.text} …" if way.example else ""
    return make_element("p", text, class_="preview reading")


def _choose_model(way: Tile, site: Site) -> str:
    """Return the model that a way in shows, or another model of its task that is on the site."""
    if way.example is None:
        name = way.model
    else:
        looks = json.loads(LOOKS.read_text("utf-8"))
        name = str(looks[way.example.slug]["models"][0])
    if name in site.live or name in site.stored or name not in site.cards:
        return name
    task = site.cards[name].task
    others = [one for one in (*site.live, *site.stored) if site.cards[one].task == task]
    return others[0] if others else name


# The gallery of the site: twelve stored runs as interactive pages, and their list.


RUN_COUNT = 12
"""The number of runs in the gallery."""
FIRST = (
    *("token-boundary", "char-boundary", "language-model-boundary", "scene-captions-boundary"),
    *("scene-translation", "memory-stories", "pointer-hull", "parser-boundary", "speech-hybrid"),
    *("video-both", "items-soft", "stn-cluttered"),
)
"""The models of the gallery, in order."""
GALLERY_DESCRIPTION = (
    "Each page contains one run of a model, stored when the site was made, with all its attention."
    " Click a word, choose a head, or change the layer."
)


def make_gallery_files(site: Site) -> Files:
    """Return the gallery and the pages of its runs."""
    cards = []
    for model in site.stored:
        card = site.cards[model]
        link = make_element("a", card.title, href=f"traces/{model}.html")
        what = f"{TASKS[card.task].title} · {model}"
        also = make_element("p", _render_live_link(site, model)) if model in site.live else ""
        inside = [make_element("h2", link), make_element("p", what, class_="facts")]
        cards.append(make_element("div", *inside, *([also] if also else []), class_="card"))
    main = [make_element("p", GALLERY_DESCRIPTION), make_element("div", *cards, class_="cards")]
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
