"""Metrics of where a model looks, by task, and their baselines.

The `attention` of a card has a metric under a key such as "hit", and the value of an uninformed
baseline under that key with a suffix, such as "hit_uniform".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

UNTRAINED = "Untrained: the same network before it learned anything."


@dataclass(frozen=True, slots=True)
class LookMeasures:
    """The attention metrics of a task.

    Args:
        question: The question that they answer.
        shares: Key of a metric -> description of the share.
        beside: Suffix of a baseline -> title of its column.
        meaning: Explanation of the column titles.
    """

    question: str
    shares: Mapping[str, str]
    beside: Mapping[str, str]
    meaning: str


_OF_CAPTIONS = LookMeasures(
    "Does it look at what it speaks of?",
    {
        "pointing": "Words whose heaviest cell lies in the gold box",
        "best_pointing": "The same words in the best alignment",
        "mass": "Attention inside the gold box",
        "own_pointing": "The same of its own captions' words, where the caption is true",
        "own_mass": "Attention of these inside the gold box",
        "area_hit": "Words whose heaviest area has its middle in the gold box",
        "multi_words": "Words whose heaviest area has several cells",
        "picture_share": "Part of what is read that the picture gives",
    },
    {
        "_uniform": "Any place alike",
        "_middle": "Middle of the picture",
        "_fixed": "Such areas at one place",
        "_position": "Blind to the picture",
        "_untrained": "Untrained",
    },
    "Any place alike: attention that is the same everywhere. Middle of the picture: all attention"
    " there, whatever the word. Such areas at one place: areas of the same shapes, each shape where"
    " it is best for these very words. Blind to the picture: one mean map for all words."
    f" {UNTRAINED}",
)

LOOK_MEASURES: Mapping[str, LookMeasures] = {
    "caption": _OF_CAPTIONS,
    "picture translation": _OF_CAPTIONS,
    "digits": LookMeasures(
        "Does it look at the digits?",
        {
            "hit": "Looks whose middle lies on a digit",
            "first_hit": "First looks whose middle lies on a digit",
            "coverage": "Digit covered by the glimpses",
            "overlap": "Overlap of what was cut out and the digit's box",
        },
        {
            "_uniform": "Anywhere",
            "_position": "At another picture",
            "_untrained": "Untrained",
        },
        "Anywhere: the same looks at random places. At another picture: its looks at one picture,"
        f" judged by the digits of the next. {UNTRAINED}",
    ),
    "speech": LookMeasures(
        "Does it listen where the digit is said?",
        {
            "hit": "Digits whose heaviest moment lies where they are said",
            "best_hit": "The same digits in the best alignment",
        },
        {
            "_uniform": "Any moment",
            "_diagonal": "Equal distances",
            "_position": "Usual time",
            "_untrained": "Untrained",
        },
        "Any moment: one at random. Equal distances: as if every digit took as long. Usual time:"
        f" when the digit of that number is said on average. {UNTRAINED}",
    ),
    "video": LookMeasures(
        "Does it look at the action that it tells?",
        {
            "peak": "Words whose heaviest area has its middle in the action",
            "best_peak": "The same words in the best alignment",
            "first": "Words whose heaviest frame, the first of equals, lies in the action",
            "area": "Words whose heaviest area lies in the action as a whole",
            "multi_share": "Words whose heaviest area has several frames",
        },
        {"_uniform": "Any frame", "_position": "Usual frame", "_untrained": "Untrained"},
        "Any frame: one at random. Usual frame: the one in which first and second actions are most"
        f" often, whatever the clip. {UNTRAINED}",
    ),
    "points": LookMeasures(
        "Does it point at the point that follows?",
        {"hit": "Steps whose heaviest point is the right one, where several can follow"},
        {"_uniform": "Any point", "_position": "Usual point", "_untrained": "Untrained"},
        "Any point: one at random of those that can follow. Usual point: the number that is most"
        f" often right at this step, whatever the set. {UNTRAINED}",
    ),
    "parsing": LookMeasures(
        "Does an opening bracket look at exactly its words?",
        {"span": "Opening brackets whose heaviest area is exactly their words, in the best head"},
        {
            "_random": "Such an area anywhere",
            "_other": "The other brackets' areas",
            "_untrained": "Untrained",
        },
        "Brackets around two words to as many as an area may have. Such an area anywhere: one of"
        " that size at random. The other brackets' areas: those of the same sentence. Untrained:"
        " the best head of the same network before it learned anything.",
    ),
    "questions": LookMeasures(
        "Does it read the facts that answer the question?",
        {
            "hit": "Facts that answer the question and are the heaviest of some hop",
            "hit, hop 1": "Heaviest facts of hop 1 that answer the question",
            "hit, hop 2": "Heaviest facts of hop 2 that answer the question",
            "hit, hop 3": "Heaviest facts of hop 3 that answer the question",
        },
        {"_uniform": "Any facts", "_position": "Usual age", "_untrained": "Untrained"},
        "Any facts: as many at random as there are hops. Usual age: the facts of the ages that are"
        f" heaviest on average, whatever is asked. {UNTRAINED}",
    ),
}
"""Attention metrics by `Task.key`.

The metrics of tasks that only read or write text say how well attention follows words.
"""
