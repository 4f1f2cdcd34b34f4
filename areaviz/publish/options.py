"""What can be chosen about a page; apart from it, as the command line reads this without Plotly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from areaviz.trace.errors import InputError
from areaviz.trace.limits import check_range

Theme = Literal["auto", "light", "dark"]
THEMES: tuple[Theme, ...] = get_args(Theme)
LEAST_AREAS, MOST_AREAS = 4, 64
SMALLEST, LARGEST = 2**17, 2**28


@dataclass(frozen=True, slots=True)
class PageOptions:
    """What a page carries and how large it may be.

    Args:
        title: stands above the page, else the model's name.
        note: what its maker has to say of it, below the title.
        layers: 0-based, those the page carries; all of them if none is named.
        sites: those the page carries; all of them if none is named.
        areas: so many of a query and head at the most, 4 to 64; fewer make a smaller page, and
            vaguer means of several items.
        limit: how many bytes the page may have, 128 KiB to 256 MiB.
        views: names of views whose figures stand below, folded, where they fit; they show the layer
            at which the page opens.
        theme: "light", "dark", or "auto", which follows the reader's system.
    """

    title: str = ""
    note: str = ""
    layers: tuple[int, ...] = ()
    sites: tuple[str, ...] = ()
    areas: int = MOST_AREAS
    limit: int = 16 * 2**20
    views: tuple[str, ...] = ()
    theme: Theme = "auto"

    def checked(self) -> PageOptions:
        """Return these options.

        Raises:
            InputError: a number lies outside its range, or there is no such theme.
        """
        check_range("limit", self.limit, (SMALLEST, LARGEST))
        check_range("areas", self.areas, (LEAST_AREAS, MOST_AREAS))
        if self.theme not in THEMES:
            raise InputError(
                f'There is no theme "{self.theme}"; choose one of {", ".join(THEMES)}.'
            )
        return self
