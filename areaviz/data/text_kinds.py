"""What the texts of examples are: sentences, sentences with trees, stories with a question, points.

Of pictures without a text, whether they show digits to be read.

A kind is known by what the texts and their right answers look like, so no file has to say it.
"""

from __future__ import annotations

from collections.abc import Sequence

from areaviz.trace.errors import InputError
from areaviz.trace.facts import story
from areaviz.trace.points import points_of
from areaviz.trace.tree import is_opening, read_tree

SENTENCES, TREES, STORIES, POINTS = "sentences", "trees", "stories", "points"
"""Texts; sentences whose right answer is a linear tree; facts and a question; places of points."""
DIGITS = "digits"
"""No text: pictures whose right answers are digits."""


def text_kind(text: str, references: Sequence[str]) -> str:
    """The kind of one example's text; "" for no text.

    A story is told from two sentences to translate by its answers, which are one word each, or
    several joined by commas.
    """
    if not text.strip():
        return ""
    if _is_points(text):
        return POINTS
    if references and all(map(_is_tree, references)):
        return TREES
    if references and all(len(one.split()) == 1 for one in references) and _is_story(text):
        return STORIES
    return SENTENCES


def are_digits(references: Sequence[str]) -> bool:
    """Whether right answers are digits alone, as of pictures whose digits are to be read."""
    return bool(references) and all(one.isascii() and one.isdigit() for one in references)


def common_kind(kinds: Sequence[str]) -> str:
    """The kind of a set from those of its examples: what all texts are, else sentences."""
    known = {kind for kind in kinds if kind}
    if len(known) > 1:
        return SENTENCES
    return known.pop() if known else ""


def _is_points(text: str) -> bool:
    # Most texts are no points, and raising an error for each takes most of the time of reading.
    if not text.lstrip()[:1].isdigit():
        return False
    try:
        return bool(len(points_of(text)))
    except InputError:
        return False


def _is_story(text: str) -> bool:
    try:
        story(text)
    except InputError:
        return False
    return True


def _is_tree(text: str) -> bool:
    tokens = text.split()
    if not tokens or not is_opening(tokens[0]):
        return False
    tree = read_tree(tokens)
    return not tree.problem and tree.is_closed
