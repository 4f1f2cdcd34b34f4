"""What the pages of the site share: the models they show, their menu and their style."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from areaviz.cards.card import Card
from areaviz.components.modules import joined_modules
from areaviz.components.parts import text_of
from areaviz.drawing.markup import Markup, document, element, raw
from areaviz.publish.page import page_style
from areaviz.site.share import share_tags

NAME = "areaviz"
FOOTER = "This site is made of files. Its pages fetch nothing and send nothing."


@dataclass(frozen=True, slots=True)
class Site:
    """What the pages of the site show.

    Args:
        cards: all cards, by name.
        live: the models that have a live page, in order.
        stored: the traces of the gallery, by the name of their model.
        menu: names and titles of the pages in the menu.
        live_page: returns the live page of a model.
        checkpoints: the folder of the models.
        address: the address of the site's folder, "" if it is unknown.
    """

    cards: Mapping[str, Card]
    live: Sequence[str]
    stored: Mapping[str, Path]
    menu: Sequence[tuple[str, str]]
    live_page: Callable[[str], str]
    checkpoints: Path
    address: str = ""

    def best_page(self, model: str) -> str:
        """Return the path of the page that shows most of a model: live, its trace, or its card."""
        if model in self.live:
            return f"live/{model}.html"
        return f"traces/{model}.html" if model in self.stored else f"cards/{model}.html"


Files = Iterator[tuple[str, str]]
"""Pairs of a relative path and the text of the file."""


@dataclass(frozen=True, slots=True)
class SitePage:
    """An entry of the registry.

    Args:
        name: the name of its file without ".html".
        title: its title in the menu.
        files: returns its files, the page itself first.
    """

    name: str
    title: str
    files: Callable[[Site], Files]


def site_page(
    site: Site,
    title: str,
    main: Sequence[Markup],
    depth: int = 0,
    styles: Sequence[str] = (),
    modules: Sequence[str] = (),
    script: str = "",
) -> str:
    """Return a page of the site with its menu; it loads nothing.

    Args:
        site: the site.
        title: title of the tab and of the page.
        main: content of the page below its title.
        depth: number of folders around the file, for relative links.
        styles: further style sheets that the content uses in elements of its own.
        modules: ES modules of `areaviz/components`, joined into the page's script.
        script: code after the modules, which mounts them; it runs as a module.
    """
    up = "../" * depth
    links = [element("a", text, href=f"{up}{name}.html") for name, text in site.menu]
    own = f"{joined_modules(modules)}\n{script}".strip()
    scripts = [own] if own else []
    body = [
        element("nav", *links, aria_label="Pages"),
        element("header", element("h1", title)),
        element("main", *main),
        element("footer", FOOTER),
        *(raw("script", one, type="module") for one in scripts),
    ]
    style = f"{page_style('auto')}\n{text_of('site/site.css')}"
    tab = title if title.startswith(NAME) else f"{title} · {NAME}"
    return document(tab, [style, *styles], scripts, body, tags=share_tags(tab, site.address))


def linked(html: str, site: Site, above: Markup | str = "") -> str:
    """Return a page in a folder of the site with a link back to the site's first page.

    Args:
        html: the page.
        site: the site.
        above: what stands between the link and the page.
    """
    (name, text), *_ = site.menu
    link = element("a", f"{NAME}: {text}", href=f"../{name}.html")
    nav = element("nav", link, aria_label="Pages", class_="facts")
    return html.replace("<body>", f"<body>{nav}{above}", 1)
