"""Options of a page. This module does not import Plotly, so the command line starts quickly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from areaviz.texts.catalogue import ENGLISH, KNOWN, LANGUAGES
from areaviz.trace.errors import InputError, check_range

Theme = Literal["auto", "light", "dark"]
THEMES: tuple[Theme, ...] = get_args(Theme)
LEAST_AREAS, MOST_AREAS = 4, 64
MIN_BYTES, MAX_BYTES = 2**17, 2**28


@dataclass(frozen=True, slots=True)
class PageOptions:
    """The content and the size limit of a page.

    Args:
        title: the title above the page. "" uses the model's name.
        note: a note of the author below the title.
        layers: the layers to include, 0-based. Empty includes all layers.
        sites: the attention types to include. Empty includes all types.
        areas: the maximum number of areas per query and head, 4 to 64. Fewer areas make a smaller
            page, but means over several items become less exact.
        limit: the maximum size of the page in bytes, 128 KiB to 256 MiB.
        views: names of views to add as collapsed figures if they apply. They show the opening
            selection.
        theme: "light", "dark", or "auto", which follows the reader's system.
        language: the language of the page's own texts, "en" or "de". Figures are always in English,
            and so are components other than the ribbon and the grid.
    """

    title: str = ""
    note: str = ""
    layers: tuple[int, ...] = ()
    sites: tuple[str, ...] = ()
    areas: int = MOST_AREAS
    limit: int = 16 * 2**20
    views: tuple[str, ...] = ()
    theme: Theme = "auto"
    language: str = ENGLISH

    def checked(self) -> PageOptions:
        """Return these options after checking them.

        Raises:
            InputError: a number is out of range, or the theme or language does not exist.
        """
        check_range("limit", self.limit, (MIN_BYTES, MAX_BYTES))
        check_range("areas", self.areas, (LEAST_AREAS, MOST_AREAS))
        if self.theme not in THEMES:
            raise InputError(
                f'Theme "{self.theme}" does not exist. Choose one of {", ".join(THEMES)}.'
            )
        if self.language not in KNOWN:
            raise InputError(
                f'Language "{self.language}" does not exist. Choose one of {", ".join(LANGUAGES)}.'
            )
        return self
