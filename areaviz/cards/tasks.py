"""What is measured for each task: the set that counts, the measures that stand out, and what papers
report.

Published figures are for reading beside ours, never as a contest: data, networks and runs differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class TaskFigures:
    """title: of the task. headline: the entry of `Card.figures` that counts. measures: key -> name,
    the first is the one models are ordered by. percent: keys that are shares and shown as such.
    about: what the measures are.
    published: what papers report, system -> figure in words, with its source. conditions: what is
    appended to the key of a measure that was taken again under another condition -> the condition
    in words. splits: that can be measured, the first is the one that checkpoints are chosen on.
    """

    title: str
    headline: str
    measures: Mapping[str, str]
    about: str
    percent: frozenset[str] = frozenset()
    published: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=lambda: {"": ""})
    splits: tuple[str, ...] = ("val", "test")

    def by_condition(self, figures: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
        """Figures of one set, condition in words -> measure -> value; the plain condition is there
        in any case.
        """
        found = {
            name: {key: figures[key + suffix] for key in self.measures if key + suffix in figures}
            for suffix, name in self.conditions.items()
        }
        return {
            name: values for name, values in found.items() if values or name == self.conditions[""]
        }


TASKS: Mapping[str, TaskFigures] = {
    "translation": TaskFigures(
        "Translation",
        "test_2016_flickr",
        {"bleu": "BLEU", "bleu_lowercase": "BLEU, lower-cased", "chrf": "chrF"},
        "Translation of held-out sentences, 0 to 100, by sacrebleu",
        splits=("val", "test_2016_flickr", "test_2017_flickr"),
    ),
    "caption": TaskFigures(
        "Captions",
        "test",
        {"bleu_4": "BLEU-4", "rouge_l": "ROUGE-L", "cider_d": "CIDEr-D", "true": "True, %"},
        "Captions of held-out pictures: BLEU-4 and ROUGE-L from 0 to 100, CIDEr-D from 0 to 10."
        " True: how many captions of shape scenes say what is there; a scene has many true captions"
        " but one reference.",
        published={
            "Area attention paper, Flickr, regular": "CIDEr 0.355",
            "Area attention paper, Flickr, areas of 3x3": "CIDEr 0.377",
            "Show, attend and tell on Flickr8k, soft": "BLEU-4 19.5",
            "Show, attend and tell on Flickr8k, hard": "BLEU-4 21.3",
        },
    ),
    "picture translation": TaskFigures(
        "Translation with a picture",
        "test",
        {
            "bleu": "BLEU",
            "colour": "Hidden colour",
            "noun": "Hidden noun",
            "ambiguous": "Ambiguous noun",
        },
        "Translation of held-out sentences, by what the model sees. Hidden and ambiguous words of"
        " shape scenes: how often what only the picture tells is right.",
        percent=frozenset({"colour", "noun", "ambiguous"}),
        conditions={
            "": "its picture",
            "_without": "no picture",
            "_blank": "a grey picture",
            "_wrong": "another sentence's picture",
        },
        published={
            "Doubly attentive Transformer paper, with pictures": "BLEU 41.0",
            "Doubly attentive Transformer paper, text only": "BLEU 38.6",
        },
    ),
    "digits": TaskFigures(
        "Digits in pictures",
        "test",
        {"error": "Error"},
        "Share of held-out pictures with any digit read wrongly, in a single pass without sampling",
        percent=frozenset({"error"}),
        published={
            "Recurrent attention, 28x28, 6 glimpses": "1.1 to 1.3 %",
            "Recurrent attention, 60x60 cluttered, 6 glimpses": "4.1 %",
            "Convolutional network, 60x60 cluttered": "8.1 %",
            "Deep recurrent attention, pairs: with, without context": "5 %, 7 %",
            "Recurrent attention, pairs": "9 %",
        },
    ),
}
"""By `Card.task`, in the order pages show them."""
