"""The parts that all pages of the site share, and the tags for shared links."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from areaviz.app.texts import sentence
from areaviz.cards.card import Card
from areaviz.draw.labels import Markup, make_document, make_element, make_raw_element
from areaviz.page.page import make_page_style
from areaviz.texts.catalogue import ENGLISH, LANGUAGES, message
from areaviz.views.parts import join_modules, read_text

# Tags for shared links.
#
# Social networks show a page's title, a sentence and a picture from them.


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


# The parts that all pages of the site share: models, menu, style and footer.


SITE_NAME = "areaviz"
FOOTER = message("This site is made of files. Its pages fetch nothing and send nothing.")


@dataclass(frozen=True, slots=True)
class Site:
    """The contents of the site.

    Args:
        cards: all cards, by name.
        live: the names of the models that have a live page, in order.
        stored: the files of the gallery's traces, by the name of their model.
        menu: the pages in the menu.
        live_page: function that returns the live page of a model.
        checkpoints: the folder of the models.
        address: the web address of the site's folder, or "" if it is unknown.
        language: the language of the pages that are written.
    """

    cards: Mapping[str, Card]
    live: Sequence[str]
    stored: Mapping[str, Path]
    menu: Sequence[SitePage]
    live_page: Callable[[str], str]
    checkpoints: Path
    address: str = ""
    language: str = ENGLISH

    @property
    def folder(self) -> str:
        """The folder of the pages in this language with a slash, or "" for English."""
        return "" if self.language == ENGLISH else f"{self.language}/"

    @property
    def root(self) -> str:
        """The relative path from a page in this language to the site's folder."""
        return "../" if self.folder else ""

    def best_page(self, model: str) -> str:
        """Return the path of a model's live page, or else of its stored run, or else of its card.

        The path begins at the folder of this language. The pages of models are in English.
        """
        if model in self.live:
            return f"{self.root}live/{model}.html"
        kind = "traces" if model in self.stored else "cards"
        return f"{self.root}{kind}/{model}.html"


Files = Iterator[tuple[str, str]]
"""Pairs of a relative path and the text of the file."""


@dataclass(frozen=True, slots=True)
class SitePage:
    """An entry of the registry.

    Args:
        name: the name of its file without ".html".
        title: its title in the menu.
        files: function that yields the files of the page, the page itself first.
        is_translated: whether it is written in every language.
    """

    name: str
    title: str
    files: Callable[[Site], Files]
    is_translated: bool = False


def render_site_page(
    site: Site,
    title: str,
    main: Sequence[Markup],
    depth: int = 0,
    styles: Sequence[str] = (),
    modules: Sequence[str] = (),
    script: str = "",
) -> str:
    """Return a page of the site with its menu. It loads no other file.

    Args:
        site: the site.
        title: title of the tab and of the page.
        main: content of the page below its title.
        depth: number of folders around the file, not counting that of the language.
        styles: further style sheets that the content contains. The security policy allows them.
        modules: ES modules of `areaviz`, joined into the page's script.
        script: code that follows the modules and starts them. It runs as a module.
    """
    up = "../" * depth
    links = []
    for page in site.menu:
        root = "" if page.is_translated else site.root
        links.append(make_element("a", sentence(page.title), href=f"{up}{root}{page.name}.html"))
    own = f"{join_modules(modules)}\n{script}".strip()
    scripts = [read_text("site/language.js"), *([own] if own else [])]
    body = [
        make_element("nav", *links, aria_label=sentence("Pages")),
        make_element("header", make_element("h1", title)),
        make_element("main", *main),
        make_element("footer", sentence(FOOTER)),
        *(make_raw_element("script", one, type="module") for one in scripts),
    ]
    style = f"{make_page_style('auto')}\n{read_text('site/site.css')}"
    tab = title if title.startswith(SITE_NAME) else f"{title} · {SITE_NAME}"
    tags = share_tags(tab, site.address)
    return make_document(tab, [style, *styles], scripts, body, tags=tags, language=site.language)


def add_site_link(html: str, site: Site, above: Markup | str = "") -> str:
    """Return a page in a folder of the site with a link back to the site's first page.

    Args:
        html: the page.
        site: the site.
        above: content between the link and the page.
    """
    first = site.menu[0]
    link = make_element("a", f"{SITE_NAME}: {sentence(first.title)}", href=f"../{first.name}.html")
    nav = make_element("nav", link, aria_label=sentence("Pages"), class_="facts")
    return html.replace("<body>", f"<body>{nav}{above}", 1)


def with_switch(html: str, site: Site, path: str) -> str:
    """Return a page with links to the same page in the other languages.

    Args:
        html: the page, with its navigation.
        site: the site in the language of the page.
        path: the path of the page within the folder of its language.
    """
    up = "../" * path.count("/") + site.root
    links = []
    for code, name in LANGUAGES.items():
        if code != site.language:
            to = f"{up}{replace(site, language=code).folder}{path}?lang={code}"
            links.append(make_element("a", name, href=to, lang=code, hreflang=code))
    return html.replace("</nav>", f"{''.join(links)}</nav>", 1)
