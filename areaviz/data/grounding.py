"""Sentences whose words are linked to boxes in a picture."""

from __future__ import annotations

from dataclasses import dataclass

Box = tuple[float, float, float, float]
"""Left, top, right and bottom as shares of the picture's width and height."""
Boxes = tuple[tuple[int, tuple[Box, ...]], ...]
"""The index and the gold boxes of each word that has boxes, for one sentence."""

_FUNCTION_WORDS = """
a an the in on is are and with of to at his her their its it he she they them him that which who
while through down over up by for from into as out near next off behind around across along
another other some there one two three four five something someone has have be being each are's 's
. , " ' - ! ? ; : & this these another against under above during towards toward onto about after
before between both very where what all
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""English words and punctuation that do not name a visible thing."""


@dataclass(frozen=True, slots=True)
class GroundedSentence:
    """A sentence and the gold boxes of its words."""

    # Words separated by single spaces.
    text: str
    boxes: Boxes
