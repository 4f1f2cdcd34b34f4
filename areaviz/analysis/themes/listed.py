"""The titles and notes of lists of themes, for pages, the command line and reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from areaviz.analysis.themes.theme import Theme, Themes
from areaviz.drawing.labels import counted

METHOD = (
    "Each theme was searched for in one half of the examples and confirmed in the other half, at a"
    " false discovery rate (q) of at most 2 %. Found means that the output has the word of the"
    " reference; another word can be right, too."
)
NOTHING = "No theme was found: nothing is both large and certain enough."
# Too rare conditions that are named.
MAX_RARE = 8


@dataclass(frozen=True, slots=True)
class Part:
    """Some themes under a title."""

    title: str
    themes: tuple[Theme, ...]


def split_parts(themes: Themes) -> tuple[Part, ...]:
    """Return what fails, and when it fails by the model's own confidence and attention.

    Confidence and attention say when outputs are worse but not what is wrong with the input, so
    their themes stand apart. A part without themes is left out.
    """
    kinds = tuple(one for one in themes.found if not one.is_about_model)
    moments = tuple(one for one in themes.found if one.is_about_model)
    parts = (Part("By input", kinds), Part("By confidence and attention", moments))
    return tuple(part for part in parts if part.themes)


def list_title(themes: Themes, systems: int) -> str:
    """Return the title of a list; systems: how many there are in the analysis."""
    count = counted(len(themes.found), "theme")
    if themes.better is not None:
        return f"{count} where ({themes.worse + 1}) is worse than ({themes.better + 1})"
    return f"{count} of failure of ({themes.worse + 1})" if systems > 1 else f"{count} of failure"


def rare_note(lists: Sequence[Themes]) -> str:
    """Return what was too rare to be tested, one sentence, "" for nothing."""
    one = lists[0]
    named = sorted(one.rare.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{text} ({count})" for text, count in named[:MAX_RARE]]
    if len(named) > MAX_RARE:
        parts.append(counted(len(named) - MAX_RARE, "further condition"))
    if one.rare_words:
        parts.append(f"{one.rare_words:,} words and word pairs")
    if not parts:
        return ""
    return f"Too rare to test, in fewer than {one.least} examples: {'; '.join(parts)}."
