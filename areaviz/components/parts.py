"""The components that run in the browser, joined from their files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from areaviz.texts.catalogue import DECIMAL_MARKS, ENGLISH, load_translations

TEXTS = "texts.js"
"""The first script of components whose texts are translated."""
_POINTED = (
    TEXTS,
    "message.js",
    "areas.js",
    "ribbon/data.js",
    "ribbon/layout.js",
    "ribbon/readings.js",
    "ribbon/sentence.js",
    "ribbon/legend.js",
    "ribbon/controls.js",
    "ribbon/pointed_view.js",
)
"""The scripts that the ribbon and the grid share."""
_READ = ("message.js", "elements.js")
"""The scripts that components share if they read a message and create elements."""
COMPONENTS: Mapping[str, tuple[str, ...]] = {
    "ribbon": (
        "ribbon/ribbon.html",
        "ribbon/ribbon.css",
        *_POINTED,
        "ribbon/painter.js",
        "ribbon/side.js",
        "ribbon/play_scene.js",
        "ribbon/play.js",
        "ribbon/ribbon.js",
    ),
    "grid": (
        "grid/grid.html",
        "ribbon/ribbon.css",
        "grid/grid.css",
        *_POINTED,
        "grid/data.js",
        "grid/marks.js",
        "grid/picture.js",
        "grid/chips.js",
        "grid/controls.js",
        "grid/grid.js",
    ),
    "hops": (*_READ, "hops/hops.html", "hops/hops.css", "hops/hops.js"),
    "points": (*_READ, "points/points.html", "points/points.css", "points/points.js"),
    "tree": (*_READ, "tree/tree.html", "tree/tree.css", "tree/tree.js"),
    "player": ("player/player.html", "player/player.css", "player/player.js"),
    "hearing": ("message.js", "hearing/hearing.html", "hearing/hearing.css", "hearing/hearing.js"),
    "looks": (*_READ, "looks/looks.html", "looks/looks.css", "looks/looks.js"),
    "strip": (*_READ, "strip/strip.html", "strip/strip.css", "strip/strip.js"),
    "thumbnails": (
        "thumbnails/thumbnails.html",
        "thumbnails/thumbnails.css",
        "thumbnails/thumbnails.js",
    ),
    "paste": ("thumbnails/paste.html", "thumbnails/paste.css", "thumbnails/paste.js"),
    "restart_recovery": (
        "restart_recovery/restart_recovery.html",
        "restart_recovery/restart_recovery.css",
        "restart_recovery/restart_recovery.js",
    ),
    "language": ("language/language.html", "language/language.css", "language/language.js"),
    "clicks": ("clicks/clicks.html", "clicks/clicks.css", "clicks/clicks.js"),
    "rows": ("rows/rows.html", "rows/rows.css", "rows/rows.js"),
    "judging": (
        "judging/judging.html",
        "judging/judging.css",
        "judging/texts.js",
        "judging/boxes.js",
        "judging/judging.js",
    ),
    "tour": (TEXTS, "tour/tour.html", "tour/tour.css", "tour/tour.js"),
    "lesson": (
        TEXTS,
        "lessons/lesson.html",
        "lessons/lesson.css",
        "lessons/theta.js",
        "lessons/arithmetic.js",
        "lessons/kit.js",
        "lessons/pictures.js",
        "lessons/option_pictures.js",
        "lessons/order_picture.js",
        "lessons/cell_pictures.js",
        "lessons/window_picture.js",
        "lessons/picture_list.js",
        "lessons/deep_kit.js",
        "lessons/deep_idea.js",
        "lessons/deep_computed.js",
        "lessons/lesson_index.js",
        "lessons/lesson_frame.js",
        "lessons/lesson_path.js",
    ),
}
"""The files of every component, in the order in which they are joined."""


SHOWN = re.compile(r'((?:aria-label|title)="|>)([^<>"]*\w[^<>"]*)("|<)')
"""The texts in markup that users see, or that screen readers read out."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The markup, styles and script of a component.

    Args:
        html, css: markup and styles. They need their own shadow tree.
        js: a script that defines `mount({ data, parentElement, setStateValue, setTriggerValue })`.
            It needs its own scope.
    """

    html: str
    css: str
    js: str


@lru_cache(maxsize=64)
def read_parts(name: str, language: str = ENGLISH) -> Parts:
    """Return the parts of a component, including the style sheet that all components share.

    Args:
        name: a key of `COMPONENTS`.
        language: the language of its texts, one of `catalogue.KNOWN`.
    """
    paths = COMPONENTS[name]
    html, js = _join_files(paths, ".html"), _join_files(paths, ".js")
    css = _join_files(("component.css", *paths), ".css")
    if TEXTS not in paths:
        return Parts(html, css, js)
    return Parts(translate_markup(html, language), css, f"{_make_texts(js, language)}\n{js}")


def translate_markup(html: str, language: str) -> str:
    """Return markup with its texts and labels in a language."""
    known = load_translations(language)
    return SHOWN.sub(lambda found: f"{found[1]}{known.get(found[2], found[2])}{found[3]}", html)


def _make_texts(script: str, language: str) -> str:
    """Return a script that defines the constants which `texts.js` uses.

    They contain only the translations of texts that occur in the component's script.
    """
    texts = {
        english: one for english, one in load_translations(language).items() if english in script
    }
    # "</" would end the script of an exported page.
    told = json.dumps(texts, ensure_ascii=False).replace("</", "<\\/")
    mark = DECIMAL_MARKS.get(language, ".")
    return f"const TEXTS = {told};\nconst [LANGUAGE, DECIMAL] = {json.dumps([language, mark])};"


def read_text(path: str) -> str:
    """Return the text of a file in `areaviz/components`."""
    return files("areaviz.components").joinpath(path).read_text("utf-8")


def _join_files(paths: tuple[str, ...], kind: str) -> str:
    joined = "\n".join(read_text(path) for path in paths if path.endswith(kind))
    # A component is one classic script, which must not contain `export`. Some of its files have it,
    # because tests import them as modules.
    return re.sub(r"^export (?=function )", "", joined, flags=re.MULTILINE)
