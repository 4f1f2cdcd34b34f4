"""A question about a story, and the words of a sentence as a memory network reads them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORD = re.compile(r"[\w']+")


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the story before it."""

    # The number of the task, 1..20.
    task: int
    # Sentences, oldest first.
    facts: tuple[str, ...]
    text: str
    # One word, or several words joined by commas.
    answer: str
    # Indices of the facts that answer the question, from 0.
    gold: tuple[int, ...]


def split_sentence(sentence: str) -> tuple[str, ...]:
    """Return the words of a sentence in lower case, without punctuation."""
    return tuple(_WORD.findall(sentence.lower()))
