"""The kinds of texts of examples: sentences, sentences with trees, stories, points.

For pictures without a text, the kind is whether they show digits to be read. A kind is inferred
from the texts and their right answers, so files need not state it.
"""

from __future__ import annotations

from collections.abc import Sequence

from areaviz.trace.errors import InputError
from areaviz.trace.kinds import is_opening, parse_points, read_tree, split_story

SENTENCES, TREES, STORIES, POINTS = "sentences", "trees", "stories", "points"
"""Kinds of texts: plain texts, sentences whose reference is a linear tree, facts with a question,
and coordinates of points.
"""
DIGITS = "digits"
"""Kind of examples without a text: pictures whose references are digits."""


def find_text_kind(text: str, references: Sequence[str]) -> str:
    """Return the kind of one example's text, or "" for no text.

    A story can look like two sentences to translate. It is recognised by its answers, each of which
    is one word or several words joined by commas.
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
    """Return whether there are references and all consist of digits, as for pictures of digits."""
    return bool(references) and all(one.isascii() and one.isdigit() for one in references)


def find_common_kind(kinds: Sequence[str]) -> str:
    """Return the kind of a dataset: the kind of all its texts, or sentences if they differ."""
    known = {kind for kind in kinds if kind}
    if len(known) > 1:
        return SENTENCES
    return known.pop() if known else ""


def _is_points(text: str) -> bool:
    # Check the first character, because parsing every text and catching the error would be slow.
    if not text.lstrip()[:1].isdigit():
        return False
    try:
        return bool(len(parse_points(text)))
    except InputError:
        return False


def _is_story(text: str) -> bool:
    try:
        split_story(text)
    except InputError:
        return False
    return True


def _is_tree(text: str) -> bool:
    tokens = text.split()
    if not tokens or not is_opening(tokens[0]):
        return False
    tree = read_tree(tokens)
    return not tree.problem and tree.is_closed
