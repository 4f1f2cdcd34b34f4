"""Metrics of where a model looks, by task, and their baselines.

The `attention` of a card has a metric under a key such as "hit", and the value of an uninformed
baseline under that key with a suffix, such as "hit_uniform".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

UNTRAINED = "Untrained: the same network before training."


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
    "Does it look at what it describes?",
    {
        "pointing": "Words whose heaviest cell is in a gold box",
        "best_pointing": "These words in the best alignment",
        "mass": "Attention inside the gold boxes",
        "own_pointing": "Words of its own true captions whose heaviest cell is in a gold box",
        "own_mass": "Attention of these words inside the gold boxes",
        "area_hit": "Words whose heaviest area has its middle in a gold box",
        "multi_words": "Words whose heaviest area has several cells",
        "picture_share": "Share of the picture in what the model reads",
    },
    {
        "_uniform": "Uniform attention",
        "_middle": "Middle of the picture",
        "_fixed": "Areas at a fixed place",
        "_position": "One map for all words",
        "_untrained": "Untrained",
    },
    "Uniform attention: every cell gets equal attention. Middle of the picture: all attention is"
    " there for every word. Areas at a fixed place: areas of the same shapes, with each shape at"
    " its best place for these words. One map for all words: every word has the mean map of all"
    f" words. {UNTRAINED}",
)

LOOK_MEASURES: Mapping[str, LookMeasures] = {
    "caption": _OF_CAPTIONS,
    "picture translation": _OF_CAPTIONS,
    "digits": LookMeasures(
        "Does it look at the digits?",
        {
            "hit": "Glimpses whose middle is on a digit",
            "first_hit": "First glimpses whose middle is on a digit",
            "coverage": "Share of the digits that the glimpses cover",
            "overlap": "Overlap of the patch and the digit's box",
        },
        {
            "_uniform": "Random places",
            "_position": "Another picture",
            "_untrained": "Untrained",
        },
        "Random places: glimpses of the same sizes at random places. Another picture: the glimpses"
        f" at one picture, compared with the digits of the next picture. {UNTRAINED}",
    ),
    "speech": LookMeasures(
        "Does it listen where the digit is spoken?",
        {
            "hit": "Digits whose heaviest moment is where they are spoken",
            "best_hit": "These digits in the best alignment",
        },
        {
            "_uniform": "Random moment",
            "_diagonal": "Equal distances",
            "_position": "Usual time",
            "_untrained": "Untrained",
        },
        "Random moment: a moment drawn at random. Equal distances: the time of each digit if all"
        " digits had equal lengths. Usual time: the mean time of a digit with this number."
        f" {UNTRAINED}",
    ),
    "video": LookMeasures(
        "Does it look at the action that it describes?",
        {
            "peak": "Words whose heaviest area has its middle in the action",
            "best_peak": "These words in the best alignment",
            "first": "Words whose heaviest frame (the first of equal ones) is in the action",
            "area": "Words whose whole heaviest area is in the action",
            "multi_share": "Words whose heaviest area has several frames",
        },
        {"_uniform": "Random frame", "_position": "Usual frame", "_untrained": "Untrained"},
        "Random frame: a frame drawn at random. Usual frame: the frame in which first or second"
        f" actions happen most often in other clips. {UNTRAINED}",
    ),
    "points": LookMeasures(
        "Does it point at the right next point?",
        {"hit": "Steps with several possible points whose heaviest point is right"},
        {"_uniform": "Random point", "_position": "Usual point", "_untrained": "Untrained"},
        "Random point: one of the possible points, drawn at random. Usual point: the point number"
        f" that is most often right at this step in other sets. {UNTRAINED}",
    ),
    "parsing": LookMeasures(
        "Does an opening bracket attend to exactly its words?",
        {"span": "Opening brackets whose heaviest area is exactly their words, in the best head"},
        {
            "_random": "Random areas",
            "_other": "Areas of other brackets",
            "_untrained": "Untrained",
        },
        "Only brackets with at least two words and at most as many as the largest area count."
        " Random areas: areas of equal size at random places. Areas of other brackets: those in the"
        " same sentence. Untrained: the best head of the network before training.",
    ),
    "questions": LookMeasures(
        "Does it read the facts that answer the question?",
        {
            "hit": "Facts needed for the answer that are the heaviest in some hop",
            "hit, hop 1": "Heaviest facts of hop 1 that are needed for the answer",
            "hit, hop 2": "Heaviest facts of hop 2 that are needed for the answer",
            "hit, hop 3": "Heaviest facts of hop 3 that are needed for the answer",
        },
        {"_uniform": "Random facts", "_position": "Usual age", "_untrained": "Untrained"},
        "Random facts: one fact per hop, drawn at random. Usual age: the facts of the ages that are"
        f" heaviest on average over other questions. {UNTRAINED}",
    ),
}
"""Attention metrics by `Task.key`.

The metrics of tasks that only read or write text say how well attention follows words.
"""
