"""The registry of the site's pages, the function that writes them, and the site's README.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from areaviz import __version__
from areaviz.app.models import sort_best_first
from areaviz.app.texts import write_in_language
from areaviz.cards.card import Card, read_cards
from areaviz.live.build import check_live
from areaviz.samples.paths import ASSETS, HOME, OPENINGS
from areaviz.site import home, learn, models
from areaviz.site.frame import PICTURE, Files, Site, SitePage, with_switch
from areaviz.texts.catalogue import ENGLISH, LANGUAGES, message
from areaviz.trace.errors import InputError
from areaviz.trace.safe_files import write_whole

# The README.md of the site. Its header also makes the site a static Space of Hugging Face.


README_NAME = "README.md"
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


def make_readme(site: Site) -> Files:
    """Return the README."""
    yield README_NAME, TEXT.format(count=len(site.live), version=__version__)


# The registry of the site's pages, and the function that writes them all.


PAGES: tuple[SitePage, ...] = (
    SitePage("index", message("Home"), home.make_home_files, is_translated=True),
    SitePage("tour", message("Tour"), learn.make_tour_files, is_translated=True),
    SitePage("lessons", message("Lessons"), learn.make_lesson_files, is_translated=True),
    SitePage("live", message("Live models"), models.make_live_files),
    SitePage("gallery", message("Gallery"), home.make_gallery_files),
    SitePage("models", message("Models"), models.make_card_files),
    SitePage("teach", message("For teachers"), learn.make_teacher_files, is_translated=True),
)
"""All pages in the order of the menu.

A page is a module with a function `make_files` and a line here.
"""
LARGEST = 60_000_000
"""Maximum size of a site in bytes."""


def make_site(
    folder: Path,
    checkpoints: Path,
    live_page: Callable[[str], str],
    models: Sequence[str] = (),
    address: str = "",
) -> int:
    """Write the site, and return its size in bytes.

    Args:
        folder: the folder to write. It must be new, empty or an older site.
        checkpoints: the folder of the models.
        live_page: function that returns the live page of a model.
        models: the models that get a live page. () chooses one for each family, level and task.
        address: the web address of the site's folder, which shared links need for their picture, or
            "" if it is unknown.

    Raises:
        InputError: the folder contains other files, a model is unknown or cannot run in a page, or
            the site would be too large.
        BackendError: a file cannot be written.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / README_NAME).exists():
        raise InputError(f"{folder} contains other files. Choose a new or an empty folder.")
    cards = {card.name: card for card in read_cards(checkpoints)}
    for name in models:
        if name not in cards:
            raise InputError(f'There is no model "{name}" in {checkpoints}. Choose another model.')
        check_live(cards[name])
    stored = home.list_stored_traces(HOME, OPENINGS)
    stored = {name: path for name, path in stored.items() if name in cards}
    live = models or choose_live_models(cards, tuple(stored))
    site = Site(cards, live, stored, PAGES, live_page, checkpoints, address)
    size = _write_picture(folder) if address else 0
    written = [iterate_files(replace(site, language=code)) for code in LANGUAGES]
    for path, text in chain(make_readme(site), *written):
        content = text.encode("utf-8", "replace")
        size += len(content)
        if size > LARGEST:
            raise InputError(
                f"The site would be larger than {LARGEST // 10**6} MB. Choose fewer live models."
            )
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(folder / path, content)
    return size


def iterate_files(site: Site) -> Files:
    """Yield the files of the pages in the language of a site. Only English has all pages."""
    with write_in_language(site.language):
        for page in PAGES:
            if page.is_translated:
                for path, text in page.files(site):
                    yield f"{site.folder}{path}", with_switch(text, site, path)
            elif site.language == ENGLISH:
                yield from page.files(site)


def _write_picture(folder: Path) -> int:
    """Write the picture of shared links, and return its size in bytes."""
    picture = (ASSETS / PICTURE).read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / PICTURE, picture)
    return len(picture)


def choose_live_models(cards: Mapping[str, Card], shown: Sequence[str]) -> list[str]:
    """Return one model for each family, level and task whose models can run in a browser.

    It is a model of the gallery if possible, and otherwise the model with the best result.

    Args:
        cards: all cards.
        shown: the models of the gallery.
    """
    chosen: dict[tuple[str, str, str], list[Card]] = {}
    for card in cards.values():
        if can_run_live(card):
            chosen.setdefault((card.family, card.level, card.task), []).append(card)
    found = []
    for group in chosen.values():
        ordered = [card for card in group if card.name in shown] or sort_best_first(group)
        found.append(ordered[0].name)
    return found


def can_run_live(card: Card) -> bool:
    """Return whether a model can run in a browser."""
    try:
        check_live(card)
    except InputError:
        return False
    return True
