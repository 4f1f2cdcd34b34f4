"""Sample stories, points and sentences, written for the app."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Story:
    """A story with its question.

    Args:
        facts: its sentences, the oldest first.
        question: a question about them.
        answer: the right answer.
        gold: indices of the facts from which it follows, from 0.
    """

    facts: tuple[str, ...]
    question: str
    answer: str
    gold: tuple[int, ...]

    @property
    def text(self) -> str:
        """The text of a request."""
        return " ".join((*self.facts, self.question))


STORIES = (
    Story(
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
        "kitchen",
        (2, 5),
    ),
    Story(
        (
            "Sandra went to the bedroom.",
            "John moved to the kitchen.",
            "Sandra travelled to the garden.",
            "Daniel journeyed to the bedroom.",
            "John went back to the office.",
        ),
        "Where is Sandra?",
        "garden",
        (2,),
    ),
    Story(
        (
            "Mary moved to the hallway.",
            "John went to the bathroom.",
            "Mary travelled to the office.",
            "Sandra went to the kitchen.",
        ),
        "Is Mary in the office?",
        "yes",
        (2,),
    ),
    Story(
        (
            "The bathroom is north of the garden.",
            "The kitchen is south of the garden.",
        ),
        "What is north of the garden?",
        "bathroom",
        (0,),
    ),
)
"""Sample stories. The memory network knows all of their words."""

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
