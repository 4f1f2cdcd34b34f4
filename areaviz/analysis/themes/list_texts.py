"""The titles and notes of lists of themes for pages, the command line and reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from areaviz.analysis.themes.theme import Theme, Themes
from areaviz.draw.labels import pluralise

METHOD = (
    "Each theme was searched for in one half of the examples and confirmed in the other half, at a"
    " false discovery rate (q) of at most 2 %. Found means that the output has the word of the"
    " reference. Another word can be right, too."
)
NO_THEMES = "No theme was found: nothing is both large and certain enough."
# Maximum number of conditions to name as too rare.
MAX_RARE = 8


@dataclass(frozen=True, slots=True)
class Part:
    """A group of themes under a title."""

    title: str
    themes: tuple[Theme, ...]


def split_parts(themes: Themes) -> tuple[Part, ...]:
    """Split themes into those about the input and those about the model's confidence and attention.

    Confidence and attention show when outputs are worse but not what is wrong with the input, so
    their themes are separate. A part without themes is left out.
    """
    kinds = tuple(one for one in themes.found if not one.is_about_model)
    moments = tuple(one for one in themes.found if one.is_about_model)
    parts = (Part("By input", kinds), Part("By confidence and attention", moments))
    return tuple(part for part in parts if part.themes)


def list_title(themes: Themes, systems: int) -> str:
    """Return the title of a list in an analysis with this number of systems."""
    count = pluralise(len(themes.found), "theme")
    if themes.better is not None:
        return f"{count} where ({themes.worse + 1}) is worse than ({themes.better + 1})"
    return f"{count} of failure of ({themes.worse + 1})" if systems > 1 else f"{count} of failure"


def describe_rare_conditions(lists: Sequence[Themes]) -> str:
    """Return a sentence about conditions that were too rare to be tested, "" if there are none."""
    one = lists[0]
    named = sorted(one.rare.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{text} ({count})" for text, count in named[:MAX_RARE]]
    if len(named) > MAX_RARE:
        parts.append(pluralise(len(named) - MAX_RARE, "further condition"))
    if one.rare_words:
        parts.append(f"{one.rare_words:,} words and word pairs")
    if not parts:
        return ""
    return f"Too rare to test, in fewer than {one.least} examples: {'; '.join(parts)}."
