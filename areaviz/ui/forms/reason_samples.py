"""Sample stories, points and sentences, written for the app."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Story:
    """A story with its question.

    Args:
        title: the displayed title.
        facts: its sentences, the oldest first.
        question: a question about them.
        gold: indices of the facts that answer it, from 0.
    """

    title: str
    facts: tuple[str, ...]
    question: str
    gold: tuple[int, ...]

    @property
    def text(self) -> str:
        """The text of a request."""
        return " ".join((*self.facts, self.question))


STORIES = (
    Story(
        "Where is the apple? Two facts answer it",
        (
            "Daniel went to the office.",
            "Mary journeyed to the garden.",
            "Mary picked up the apple there.",
            "Sandra moved to the hallway.",
            "Daniel travelled to the bathroom.",
            "Mary went back to the kitchen.",
            "Sandra took the milk there.",
        ),
        "Where is the apple?",
        (2, 5),
    ),
    Story(
        "Where is Sandra? One fact answers it",
        (
            "Sandra went to the bedroom.",
            "John moved to the kitchen.",
            "Sandra travelled to the garden.",
            "Daniel journeyed to the bedroom.",
            "John went back to the office.",
        ),
        "Where is Sandra?",
        (2,),
    ),
    Story(
        "Yes or no",
        (
            "Mary moved to the hallway.",
            "John went to the bathroom.",
            "Mary travelled to the office.",
            "Sandra went to the kitchen.",
        ),
        "Is Mary in the office?",
        (2,),
    ),
    Story(
        "What lies north?",
        (
            "The bathroom is north of the garden.",
            "The kitchen is south of the garden.",
        ),
        "What is north of the garden?",
        (0,),
    ),
)
"""Sample stories; the memory network knows all of their words."""

POINTS = "120,240 300,820 480,130 520,560 700,900 860,420 640,300 250,500 900,700"
"""Nine sample points."""

SENTENCES = (
    "The old man saw a dog in the park.",
    "She said that she would come back tomorrow.",
    "My sister and her friends play music in a small town.",
    "What did you find in the kitchen?",
    "The children who live next door like to sing.",
    "If it rains, we will stay at home.",
)
"""Sample sentences for parsing."""


def gold_of(text: str) -> tuple[int, ...]:
    """Return indices of the facts that answer a sample's question, () for other texts."""
    for story in STORIES:
        if story.text == text:
            return story.gold
    return ()
