"""Components of the browser side, put together from their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

_SHARED = ("message.js", "areas.js")
_RIBBON = tuple(
    f"ribbon/{name}.js"
    for name in ("data", "text", "painter", "side", "legend", "looking", "ribbon")
)
_LENT = tuple(f"ribbon/{name}.js" for name in ("data", "text", "legend", "looking"))
_GRID = tuple(
    f"grid/{name}.js" for name in ("pictured", "marks", "picture", "chips", "words", "grid")
)
_WINDOW = tuple(f"window/{name}.js" for name in ("theta", "handles", "numbers", "window"))
COMPONENTS: Mapping[str, tuple[str, ...]] = {
    "ribbon": ("ribbon/ribbon.html", "ribbon/ribbon.css", *_SHARED, *_RIBBON),
    "grid": ("grid/grid.html", "ribbon/ribbon.css", "grid/grid.css", *_SHARED, *_LENT, *_GRID),
    "player": tuple(f"player/player.{kind}" for kind in ("html", "css", "js")),
    "thumbnails": tuple(f"thumbnails/thumbnails.{kind}" for kind in ("html", "css", "js")),
    "paste": tuple(f"thumbnails/paste.{kind}" for kind in ("html", "css", "js")),
    "restart_recovery": tuple(
        f"restart_recovery/restart_recovery.{kind}" for kind in ("html", "css", "js")
    ),
    "window": ("window/window.html", "window/window.css", *_WINDOW),
}
"""Of every component the files, in the order they are joined; the grid borrows some of the
ribbon's.
"""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a component is made of.

    html, css: markup and styles, for a shadow tree of their own. js: a script that defines
    `mount({ data, parentElement, setStateValue, setTriggerValue })`, to be called in a scope of its
    own.
    """

    html: str
    css: str
    js: str


@lru_cache(maxsize=16)
def parts(name: str) -> Parts:
    """The component of this name, a key of COMPONENTS; the style sheet that all components share
    comes first.
    """
    paths = COMPONENTS[name]
    return Parts(
        _joined(paths, ".html"), _joined(("component.css", *paths), ".css"), _joined(paths, ".js")
    )


def text_of(path: str) -> str:
    """One file of this folder."""
    return files("areaviz.components").joinpath(path).read_text("utf-8")


def _joined(paths: tuple[str, ...], kind: str) -> str:
    return "\n".join(text_of(path) for path in paths if path.endswith(kind))
