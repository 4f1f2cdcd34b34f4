"""The tasks: for each what it reads, what trains and measures it, and what counts.

Training, evaluation, figures and the pages walk `TASKS`. What lies in higher layers is named by its
import path ("module:name") and loaded by `load` where it is needed.
Published figures are for reading beside ours, never as a contest: data, networks and runs differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

WRITES = frozenset({"weigh", "gate", "hide", "target"})
"""What a request may ask of a model that writes: the kinds of changes, and a given output."""


@dataclass(frozen=True, slots=True)
class Published:
    """BLEU of one model size, as a paper reports it."""

    regular: float
    # Eq. 3 and 4
    area: float
    # Eq. 9 and 4, where reported
    features: float | None = None

    def of(self, mechanism: str) -> float | None:
        """The figure of mechanism "regular" or "area"; None for others."""
        return {"regular": self.regular, "area": self.area}.get(mechanism)


@dataclass(frozen=True, slots=True)
class Task:
    """One task, from its recipe to its page.

    Args:
        key: `Card.task`.
        title: for people.
        training: the task's class in `areaviz.training`, as an import path.
        recipe: the task's name in recipes where that is not the key.
        evaluate: a function (model, data, split, options) -> `Measured`, as an import path; "" for
            a task whose models are not measured.
        inputs: the fields it reads.
        samples: the app's own examples of it, a key of `SAMPLE_SETS`; "" for a task whose examples
            cannot be analysed.
        can: what a request may ask besides an input: kinds of changes, and "target".
        headline: the entry of `Card.figures` that counts.
        measures: key -> name; models are ordered by the first.
        about: what the measures are.
        percent: keys that are shares and shown as such.
        published: what papers report, system -> figure in words.
        by_size: what a paper reports for each level and size, as `Card` names them.
        conditions: what is appended to the key of a measure that was taken again under another
            condition -> the condition in words.
        splits: the splits to measure; checkpoints are chosen on the first.
        follows_words: whether the measures of attention say how well it follows words.
    """

    key: str
    title: str
    training: str
    recipe: str = ""
    evaluate: str = ""
    inputs: frozenset[str] = frozenset()
    samples: str = ""
    can: frozenset[str] = WRITES
    headline: str = "test"
    measures: Mapping[str, str] = field(default_factory=dict)
    about: str = ""
    percent: frozenset[str] = frozenset()
    published: Mapping[str, str] = field(default_factory=dict)
    by_size: Mapping[tuple[str, str], Published] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=lambda: {"": ""})
    splits: tuple[str, ...] = ("val", "test")
    follows_words: bool = False

    def by_condition(self, figures: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
        """Figures of a set, condition in words -> measure -> value; the plain condition always."""
        found = {}
        for suffix, name in self.conditions.items():
            values = {key: figures.get(key + suffix) for key in self.measures}
            values = {key: value for key, value in values.items() if value is not None}
            if values or not suffix:
                found[name] = values
        return found


AREA_ATTENTION: Mapping[tuple[str, str], Published] = {
    ("token", "Tiny"): Published(18.58, 19.13, 19.27),
    ("token", "Small"): Published(22.55, 22.84, 23.2),
    ("token", "Base"): Published(28.16, 28.47, 28.52),
    ("token", "Big"): Published(29.26, 29.49, 29.77),
    ("character", "Tiny"): Published(6.9, 8.2),
    ("character", "Small"): Published(12.16, 13.46),
    ("character", "Base"): Published(24.88, 24.96),
    ("character", "Big"): Published(25.96, 26.57),
}
"""BLEU on WMT 2014 English-German, by level and size: Li, Kaiser, Bengio and Si, "Area
Attention", ICML 2019, Table 1 (token level) and Table 3 (character level), mean of three runs.

Their data is news, 4.5 million pairs; ours is 29,000 image captions: a column can only be read
downwards, never across.
"""


_ALL = (
    Task(
        "translation",
        "Translation",
        "areaviz.training.translation:Translation",
        evaluate="areaviz.evaluation.translation:evaluate_translation",
        inputs=frozenset({"source"}),
        samples="Sentences",
        headline="test_2016_flickr",
        measures={"bleu": "BLEU", "bleu_lowercase": "BLEU, lower-cased", "chrf": "chrF"},
        about="Translation of held-out sentences, 0 to 100, by sacrebleu",
        by_size=AREA_ATTENTION,
        splits=("val", "test_2016_flickr", "test_2017_flickr"),
        follows_words=True,
    ),
    Task(
        "caption",
        "Captions",
        "areaviz.training.captions:Captions",
        recipe="captions",
        evaluate="areaviz.evaluation.captions:evaluate_captions",
        inputs=frozenset({"picture"}),
        samples="Scenes to describe",
        measures={
            "bleu_4": "BLEU-4",
            "rouge_l": "ROUGE-L",
            "cider_d": "CIDEr-D",
            "true": "True, %",
        },
        about="Captions of held-out pictures: BLEU-4 and ROUGE-L from 0 to 100, CIDEr-D from 0 to"
        " 10. True: how many captions of shape scenes say what is there; a scene has many true"
        " captions but one reference.",
        published={
            "Area attention paper, Flickr, regular": "CIDEr 0.355",
            "Area attention paper, Flickr, areas of 3x3": "CIDEr 0.377",
            "Show, attend and tell on Flickr8k, soft": "BLEU-4 19.5",
            "Show, attend and tell on Flickr8k, hard": "BLEU-4 21.3",
        },
    ),
    Task(
        "picture translation",
        "Translation with a picture",
        "areaviz.training.picture_translation:PictureTranslation",
        evaluate="areaviz.evaluation.picture_translation:evaluate_picture_translation",
        inputs=frozenset({"source", "picture"}),
        samples="Scenes with a sentence",
        measures={
            "bleu": "BLEU",
            "colour": "Hidden colour",
            "noun": "Hidden noun",
            "ambiguous": "Ambiguous noun",
        },
        about="Translation of held-out sentences, by what the model sees. Hidden and ambiguous"
        " words of shape scenes: how often what only the picture tells is right.",
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
    Task(
        "digits",
        "Digits in pictures",
        "areaviz.training.digits:Digits",
        evaluate="areaviz.evaluation.digits:evaluate_digits",
        inputs=frozenset({"picture"}),
        can=frozenset(),
        measures={"error": "Error"},
        about="Share of held-out pictures with any digit read wrongly, in a single pass without"
        " sampling",
        percent=frozenset({"error"}),
        published={
            "Recurrent attention, 28x28, 6 glimpses": "1.1 to 1.3 %",
            "Recurrent attention, 60x60 cluttered, 6 glimpses": "4.1 %",
            "Convolutional network, 60x60 cluttered": "8.1 %",
            "Deep recurrent attention, pairs: with, without context": "5 %, 7 %",
            "Recurrent attention, pairs": "9 %",
        },
    ),
    Task(
        "words of a picture",
        "Picture encoders",
        "areaviz.training.encoder:EncoderTask",
        recipe="encoder",
        can=frozenset(),
    ),
)
TASKS: Mapping[str, Task] = {task.key: task for task in _ALL}
"""Every task by `Card.task`, in the order pages show them."""


def load(path: str) -> Any:
    """What an import path "module:name" names."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
