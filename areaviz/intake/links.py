"""Gold alignments: the number of the first word (0 or 1), and a check that all words exist.

The Pharaoh format does not define whether words count from 0 or from 1. Alignments that are read
with the wrong number look plausible but are wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from areaviz.intake.columns import LINKS_FROM_0, LINKS_FROM_1, Column
from areaviz.samples.dataset import Links, read_links
from areaviz.trace.errors import InputError, shorten

# Number of words of a source, and of its reference or None if there is none.
Lengths = tuple[int, int | None]
Both = tuple[Links, Links]


def parse_links(
    column: Column, sources: Sequence[str], references: Sequence[str]
) -> tuple[list[Both], str]:
    """Return the sure and the possible links of every example, counted from 0.

    If a link contains 0, words count from 0. If no link contains 0 and one exceeds its sentence,
    words count from 1.

    Args:
        column: a column of links, in one of the three roles for links.
        sources: the source of each example.
        references: the first reference of each example, "" if there is none.

    Returns:
        The links, and a note for the user if words were found to count from 1, otherwise "".

    Raises:
        InputError: it is unclear whether words count from 0 or 1, or a link is outside its
            sentence.
    """
    texts = column.texts
    given = [read_links(column.where(place), text) for place, text in enumerate(texts)]
    lengths: list[Lengths] = []
    for source, reference in zip(sources, references, strict=True):
        lengths.append((len(source.split()), len(reference.split()) if reference else None))
    first = _find_first_number(column, given, lengths)
    found = []
    for place, text in enumerate(texts):
        both = read_links(column.where(place), text, first) if first else given[place]
        _check_links(column, place, both[1], lengths[place], first)
        found.append(both)
    note = ""
    if first and column.role != LINKS_FROM_1:
        note = (
            f'The links in "{shorten(column.name)}" count words from 1, because no link has a 0 and'
            " some links have the number of words in their sentence."
        )
    return found, note


def _find_first_number(column: Column, given: Sequence[Both], lengths: Sequence[Lengths]) -> int:
    """Return the number of the first word, 0 or 1."""
    if column.role in (LINKS_FROM_0, LINKS_FROM_1):
        return int(column.role == LINKS_FROM_1)
    pairs = [(place, link) for place, (_, possible) in enumerate(given) for link in possible]
    if not pairs or any(0 in link for _, link in pairs):
        return 0
    if any(_is_beyond(link, lengths[place]) for place, link in pairs):
        return 1
    raise InputError(
        f'It is not clear whether the links in "{shorten(column.name)}" count words from 0 or'
        f' from 1. None has a 0, and none exceeds its sentence. Choose "{LINKS_FROM_0}" or'
        f' "{LINKS_FROM_1}" as the role of the column.'
    )


def _is_beyond(link: tuple[int, int], lengths: Lengths) -> bool:
    source, reference = lengths
    return link[0] >= source or (reference is not None and link[1] >= reference)


def _check_links(column: Column, place: int, links: Links, lengths: Lengths, first: int) -> None:
    """Raise InputError if a link refers to a word that its sentence does not have."""
    for link in sorted(links):
        if _is_beyond(link, lengths):
            source, reference = lengths
            has = f"the source has {source:,} words"
            has += "" if reference is None else f" and the reference {reference:,}"
            raise InputError(
                f"{column.where(place)} links word {link[0] + first:,} to word"
                f" {link[1] + first:,}, but {has} (links count from {first}). Check that the links"
                " belong to these sentences."
            )
