"""The registry of tasks: inputs, samples, and the metrics that are reported.

Evaluation, figures and the pages iterate over `TASKS`. Published figures give context. Ours cannot
be compared with them directly, because data, networks and runs differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from areaviz.cards.published import AREA_ATTENTION, LSTMS, BySize, Published

WRITES = frozenset({"weigh", "gate", "hide", "target", "attribution"})
"""The capabilities of a model that writes: the kinds of changes, a given output, and attribution.
"""


@dataclass(frozen=True, slots=True)
class Task:
    """One task, from its inputs to its page.

    Args:
        key: `Card.task`.
        title: Name for users.
        inputs: The input fields.
        texts: Kind of the texts of its examples, see `areaviz.samples.dataset`, or "" for none.
        samples: The app's own examples, a key of `SAMPLE_SETS`, or "" for a task without them.
        given: The output given to models with every example of a dataset, None if they write their
            own, or "" for texts that are only read.
        opens: The model that its page shows first, if available. After a change, write the stored
            traces of the pages again with `areaviz openings`.
        can: What its models support besides an input: kinds of changes, "target" and "attribution".
        headline: The entry of `Card.figures` that tables report.
        measures: Key -> name. Models are ordered by the first metric.
        about: Explanation of the metrics.
        percent: Keys of metrics that are shown in per cent.
        decimals: Key -> number of decimals, for metrics that need more than two.
        published: Results of papers, system -> figure in words.
        by_network: Results of a paper for a kind of network, by the level and size of `Card`.
        conditions: Suffix of a metric under another condition -> name of the condition.
        splits: The splits to measure. Training chooses checkpoints on the first one.
        follows_words: Whether its attention metrics say how well attention follows words.
    """

    key: str
    title: str
    inputs: frozenset[str] = frozenset()
    texts: str = ""
    samples: str = ""
    given: str | None = None
    opens: str = ""
    can: frozenset[str] = WRITES
    headline: str = "test"
    measures: Mapping[str, str] = field(default_factory=dict)
    about: str = ""
    percent: frozenset[str] = frozenset()
    decimals: Mapping[str, int] = field(default_factory=dict)
    published: Mapping[str, str] = field(default_factory=dict)
    by_network: Mapping[str, BySize] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=lambda: {"": ""})
    splits: tuple[str, ...] = ("val", "test")
    follows_words: bool = False

    @property
    def by_size(self) -> BySize:
        """The results of the paper for all kinds of networks."""
        found: dict[tuple[str, str], Published] = {}
        for reported in self.by_network.values():
            found |= reported
        return found

    def by_condition(self, figures: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
        """Return the figures of a dataset as condition in words -> metric -> value.

        The plain condition is always included.
        """
        found = {}
        for suffix, name in self.conditions.items():
            values = {key: figures.get(key + suffix) for key in self.measures}
            values = {key: value for key, value in values.items() if value is not None}
            if values or not suffix:
                found[name] = values
        return found


_GATED = (1, 2, 4, 6, 14, 20)
"""The bAbI tasks with a target for their accuracy, which must be close to the published one."""

_ALL = (
    Task(
        "translation",
        "Translation",
        inputs=frozenset({"source"}),
        texts="sentences",
        samples="Sentences",
        opens="token-boundary",
        headline="test_2016_flickr",
        measures={"bleu": "BLEU", "bleu_lowercase": "BLEU, lower-cased", "chrf": "chrF"},
        about="Translation of held-out sentences, 0 to 100, by sacrebleu",
        published={
            "Encoder-decoder without attention, English to French news"
            " (Cho, Courville and Bengio 2015, Table I)": "BLEU 17.82",
            "Encoder-decoder with additive attention, English to French news": "BLEU 28.45",
        },
        by_network={"Transformer": AREA_ATTENTION, "LSTM": LSTMS},
        splits=("val", "test_2016_flickr", "test_2017_flickr"),
        follows_words=True,
    ),
    Task(
        "caption",
        "Captions",
        inputs=frozenset({"picture"}),
        samples="Scenes to describe",
        opens="scene-captions-told",
        measures={
            "bleu_4": "BLEU-4",
            "rouge_l": "ROUGE-L",
            "cider_d": "CIDEr-D",
            "true": "True, %",
        },
        about="Captions of held-out pictures: BLEU-4 and ROUGE-L from 0 to 100, CIDEr-D from 0 to"
        " 10. True: share of captions of shape scenes that are correct. A scene has many true"
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
        inputs=frozenset({"source", "picture"}),
        texts="sentences",
        samples="Scenes with a sentence",
        opens="scene-translation",
        measures={
            "bleu": "BLEU",
            "colour": "Hidden colour",
            "noun": "Hidden noun",
            "ambiguous": "Ambiguous noun",
        },
        about="Translation of held-out sentences, by what the model sees. Hidden and ambiguous"
        " words of shape scenes: how often words are right that only the picture can tell.",
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
        inputs=frozenset({"picture"}),
        texts="digits",
        samples="Digits among clutter",
        opens="items-soft",
        can=frozenset(),
        measures={"error": "Error"},
        about="Share of held-out pictures in which the model reads a digit wrongly, in one pass"
        " without sampling",
        percent=frozenset({"error"}),
        published={
            "Recurrent attention, 28x28, 6 glimpses": "1.1 to 1.3 %",
            "Recurrent attention, 60x60 translated, 6 glimpses": "1.2 %",
            "Recurrent attention, 60x60 cluttered, 6 glimpses": "4.1 %",
            "Convolutional network, 60x60 cluttered": "8.1 %",
            "Deep recurrent attention, pairs: with, without context": "5 %, 7 %",
            "Recurrent attention, pairs": "9 %",
        },
    ),
    Task(
        "speech",
        "Spoken digits",
        inputs=frozenset({"sound"}),
        samples="Spoken digits",
        opens="speech-hybrid",
        # A frame of the spectrogram is only a quarter of an item, so attribution is not offered.
        can=WRITES - {"attribution"} | {"share"},
        measures={"error": "Error", "hit": "Boundary hit", "long_error": "Error, long repeats"},
        about="Error: inserted, deleted and substituted digits, as a share of the spoken digits,"
        " in strings of 6 to 10 digits that are joined from held-out recordings. Boundary hit: how"
        " often the top moment is where the digit is spoken. Long repeats: strings of 12 to 14"
        " digits with runs of one digit.",
        percent=frozenset({"error", "hit", "long_error"}),
        published={
            "Attention-based recognition on TIMIT, phoneme error: content": "18.7 %",
            "location": "18.0 %",
            "location, smoothed": "17.6 %",
        },
    ),
    Task(
        "video",
        "Clips",
        inputs=frozenset({"clip"}),
        samples="Moving digits",
        opens="video-both",
        measures={
            "words": "Words right",
            "right": "Sentences right",
            "action": "Action told",
            "cider_d": "CIDEr-D",
        },
        about="1,000 held-out clips of drawn digits with two actions each. Words right: share of"
        " the digits, verbs and directions that are correct and in the right place. For films of"
        " people: share of the content words of a person's sentence that the model's sentence has,"
        " share of its sentences that name the right action, and CIDEr-D from 0 to 10.",
        percent=frozenset({"words", "right", "action"}),
        published={
            "Video description on YouTube2Text: encoder and decoder": "METEOR .2868",
            "with a 3-D network, with attention to frames, with both": ".2832, .2900, .2960",
        },
    ),
    Task(
        "points",
        "Hulls and tours",
        texts="points",
        samples="Points",
        can=frozenset({"weigh", "hide", "target"}),
        measures={"right": "Right", "ratio": "Length", "area": "Area"},
        about="Right: share of sets of ten points whose whole answer is exact. Length: length of"
        " a tour, divided by the shortest. Area: area of a hull, as a share of the exact hull.",
        percent=frozenset({"right", "area"}),
        decimals={"ratio": 4},
        published={
            "Pointer network, hull of 10 points, trained on 5 to 50": "87.0 %, area 99.8 %",
            "Pointer network, tour of 10 points": "2.88; the shortest is 2.87",
        },
    ),
    Task(
        "parsing",
        "Trees of sentences",
        inputs=frozenset({"source"}),
        texts="trees",
        samples="Sentences with trees",
        opens="parser-boundary",
        measures={
            "f1": "Bracket F1",
            "exact": "Right trees",
            "malformed": "Malformed",
            "unbalanced": "Unbalanced",
            "f1_free": "Bracket F1 without the grammar",
            "malformed_free": "Malformed without it",
            "unbalanced_free": "Unbalanced without it",
        },
        about="Trees of held-out sentences of at most 20 words, punctuation included. Bracket F1:"
        " brackets with the right label around the right words. Malformed: brackets do not match,"
        " or the number of words differs from the sentence. Unbalanced: brackets do not match,"
        " which papers call malformed. The grammar masks symbols that cannot follow, so neither"
        " occurs. Without the grammar, trees are scored as they were written.",
        percent=frozenset(
            {"f1", "exact", "malformed", "unbalanced", "f1_free", "malformed_free"}
            | {"unbalanced_free"}
        ),
        published={
            "Grammar as a foreign language, WSJ": "F1 88.3 %, unbalanced 1.5 %",
        },
        splits=("val", "test", "test_genres"),
    ),
    Task(
        "questions",
        "Questions about a story",
        texts="stories",
        samples="Stories",
        opens="memory-stories",
        measures={"right": "All tasks"} | {f"qa{task}": f"Task {task}" for task in _GATED},
        about="Share of right answers to held-out questions: the mean over all 20 bAbI tasks, and"
        " the tasks with targets",
        percent=frozenset({"right", *(f"qa{task}" for task in range(1, 21))}),
        published={
            "Memory network (3 hops, one per task), tasks 1, 2, 4": "99.9 %, 78.4 %, 96.2 %",
            "Memory network (3 hops, one per task), tasks 6, 14, 20": "92.1 %, 98.2 %, 100 %",
        },
    ),
    Task(
        "reading",
        "Language models",
        inputs=frozenset({"source"}),
        texts="sentences",
        samples="Sentences to read",
        given="",
        opens="language-model-boundary",
        headline="test_2016_flickr",
        measures={
            "perplexity": "Perplexity",
            "bits_a_character": "Bits per character",
            "trigram": "Counted triples",
            "bigram": "Pairs",
            "unigram": "Pieces",
            "untrained": "Untrained",
        },
        about="Perplexity of held-out captions: the number of equally probable subwords among"
        " which the model chooses, on average. For comparison: the perplexity of triples, pairs and"
        " single subwords counted in its training text, and of the untrained network.",
        splits=("val", "test_2016_flickr"),
        follows_words=True,
    ),
    Task(
        "words of a picture",
        "Picture encoders",
        can=frozenset(),
    ),
)
TASKS: Mapping[str, Task] = {task.key: task for task in _ALL}
"""Every task by `Card.task`, in the order of the pages."""
