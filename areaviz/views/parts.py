"""The components that run in the browser, joined from their files into single scripts.

Read `COMPONENTS` and `read_parts` first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from posixpath import dirname, join, normpath

from areaviz.texts.catalogue import DECIMAL_MARKS, ENGLISH, load_translations

# The components: their files, their texts, and the joined scripts and styles.


TEXTS = "views/texts.js"
"""The first script of components whose texts are translated."""
_POINTED = (
    TEXTS,
    "views/message.js",
    "views/areas.js",
    "views/ribbon/layout.js",
    "views/ribbon/sentence.js",
    "views/ribbon/legend.js",
    "views/ribbon/pointed_view.js",
)
"""The scripts that the ribbon and the grid share."""
_READ = ("views/message.js", "views/elements.js")
"""The scripts that components share if they read a message and create elements."""
COMPONENTS: Mapping[str, tuple[str, ...]] = {
    "ribbon": (
        "views/ribbon/ribbon.html",
        "views/ribbon/ribbon.css",
        *_POINTED,
        "views/ribbon/painter.js",
        "views/ribbon/play.js",
        "views/ribbon/ribbon.js",
    ),
    "grid": (
        "views/grid/grid.html",
        "views/ribbon/ribbon.css",
        "views/grid/grid.css",
        *_POINTED,
        "views/grid/marks.js",
        "views/grid/picture.js",
        "views/grid/grid.js",
    ),
    "hops": (*_READ, "views/facts/facts.html", "views/facts/facts.css", "views/facts/facts.js"),
    "points": (
        *_READ,
        "views/points/points.html",
        "views/points/points.css",
        "views/points/points.js",
    ),
    "tree": (*_READ, "views/tree/tree.html", "views/tree/tree.css", "views/tree/tree.js"),
    "player": ("views/film/player.html", "views/film/player.css", "views/film/player.js"),
    "hearing": (
        "views/message.js",
        "views/sound/sound.html",
        "views/sound/sound.css",
        "views/sound/sound.js",
    ),
    "looks": (*_READ, "views/looks/looks.html", "views/looks/looks.css", "views/looks/looks.js"),
    "strip": (*_READ, "views/strip/strip.html", "views/strip/strip.css", "views/strip/strip.js"),
    "thumbnails": ("app/thumbnails.html", "app/thumbnails.css", "app/thumbnails.js"),
    "paste": ("app/paste.html", "app/paste.css", "app/paste.js"),
    "restart_recovery": (
        "app/restart_recovery.html",
        "app/restart_recovery.css",
        "app/restart_recovery.js",
    ),
    "language": ("app/language.html", "app/language.css", "app/language.js"),
    "clicks": ("sets/app/clicks.html", "sets/app/clicks.css", "sets/app/clicks.js"),
    "rows": ("sets/app/rows.html", "sets/app/rows.css", "sets/app/rows.js"),
    "judging": ("sets/app/judging.html", "sets/app/judging.css", "sets/app/judging.js"),
    "tour": (TEXTS, "learn/tour.html", "learn/tour.css", "learn/tour.js"),
    "lesson": (
        TEXTS,
        "learn/lesson.html",
        "learn/lesson.css",
        "learn/arithmetic.js",
        "learn/pictures.js",
        "learn/cell_pictures.js",
        "learn/deep.js",
        "learn/lesson.js",
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
    css = _join_files(("views/component.css", *paths), ".css")
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
    """Return the text of a file in the folder `areaviz`."""
    return files("areaviz").joinpath(path).read_text("utf-8")


def _join_files(paths: tuple[str, ...], kind: str) -> str:
    joined = "\n".join(read_text(path) for path in paths if path.endswith(kind))
    # A component is one classic script, which must not contain `export`. Some of its files have it,
    # because tests import them as modules.
    return re.sub(r"^export (?=function )", "", joined, flags=re.MULTILINE)


# Joining of ES modules into one classic script.
#
# Chromium refuses to load modules, or any other files, in a page that was opened from a disk. Such
# a page therefore contains its modules as a single script. Node and the type checker read the
# separate modules.


_IMPORT = re.compile(r"^import \{[^}]*\} from '(?P<path>\.\.?/[^']+)';\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(async function|function|class|const)\b)", re.MULTILINE)
_COMMENT = re.compile(r"^ *(//[^\n]*|/\*\*(?:(?!\*/).)*\*/)\n", re.MULTILINE | re.DOTALL)
"""Comments that fill whole lines. Browsers do not need them, and they are half of the bytes."""
_NAME = re.compile(r"^(?:async function|function|class|const|let) ([\w$]+)", re.MULTILINE)
_MORE_NAMES = re.compile(r"^const .*", re.MULTILINE)


def join_modules(paths: Iterable[str]) -> str:
    """Return one classic script with the given modules and all modules that they import.

    Each module occurs once. All modules share one scope, so top-level names must be unique.

    Args:
        paths: paths of modules in the folder `areaviz`.

    Raises:
        ValueError: two modules define the same name.
    """
    order: list[str] = []
    for path in paths:
        _collect(path, order)
    owners: dict[str, str] = {}
    scripts = []
    for path in order:
        script = without_comments(_EXPORT.sub("", _IMPORT.sub("", read_text(path))))
        for name in list_top_level_names(script):
            if name in owners:
                raise ValueError(f'{owners[name]} and {path} both define "{name}".')
            owners[name] = path
        scripts.append(script)
    return "\n".join(scripts)


def without_comments(script: str) -> str:
    """Return a script without the comments that fill whole lines."""
    return _COMMENT.sub("", script)


def list_top_level_names(script: str) -> list[str]:
    """Return the names that a script defines outside of functions and classes."""
    names = _NAME.findall(script)
    for line in _MORE_NAMES.findall(script):
        # One statement may define several constants, as in: const PAD = 0, END = 3;
        names += re.findall(r", ([A-Z][A-Z_]*) = ", line)
    return names


def _collect(path: str, order: list[str]) -> None:
    """Append a module to the list `order`, after the modules that it imports."""
    if path in order:
        return
    for found in _IMPORT.finditer(read_text(path)):
        _collect(normpath(join(dirname(path), found["path"])), order)
    order.append(path)
