"""The registry of tasks, published results for context, and metrics of where models look.

Read `Task` and `TASKS` first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Published results of translation models by level and size, as context for our figures.


@dataclass(frozen=True, slots=True)
class Published:
    """BLEU of one model size, as a paper reports it."""

    regular: float
    # Areas by Eq. 3 and 4.
    area: float
    # Areas by Eq. 9 and 4, if reported.
    features: float | None = None
    # Significance as stated by the paper, or "" if it states none. "*" means p < 0.05 against
    # regular attention. "**" means p < 0.05 against every other kind as well.
    area_sign: str = ""
    features_sign: str = ""

    def of(self, mechanism: str) -> float | None:
        """Return the figure of the mechanism "regular" or "area", or None for another mechanism."""
        return {"regular": self.regular, "area": self.area}.get(mechanism)


BySize = Mapping[tuple[str, str], Published]
"""The results of a paper, by level and size."""


AREA_ATTENTION: BySize = {
    ("token", "Tiny"): Published(18.58, 19.13, 19.27, "*", "*"),
    ("token", "Small"): Published(22.55, 22.84, 23.2, "", "**"),
    ("token", "Base"): Published(28.16, 28.47, 28.52, "", "*"),
    ("token", "Big"): Published(29.26, 29.49, 29.77, "", "*"),
    ("character", "Tiny"): Published(6.9, 8.2),
    ("character", "Small"): Published(12.16, 13.46, None, "*"),
    ("character", "Base"): Published(24.88, 24.96),
    ("character", "Big"): Published(25.96, 26.57),
}
LSTMS: BySize = {
    ("token", "256 cells, 1 head"): Published(16.58, 19.26, 19.46, "*", "*"),
    ("token", "256 cells, 4 heads"): Published(16.73, 20.25, 20.74, "*", "**"),
    ("token", "512 cells, 1 head"): Published(18.65, 21.82, 21.80, "*", "*"),
    ("token", "512 cells, 4 heads"): Published(19.16, 23.09, 23.41, "*", "*"),
    ("token", "1024 cells, 1 head"): Published(19.4, 23.69, 23.48, "*", "*"),
    ("token", "1024 cells, 4 heads"): Published(20.21, 24.55, 24.85, "*", "**"),
    ("character", "256 cells, 1 head"): Published(9.9, 11.23),
    ("character", "256 cells, 4 heads"): Published(11.99, 12.51),
    ("character", "512 cells, 1 head"): Published(16.37, 16.86),
    ("character", "512 cells, 4 heads"): Published(16.43, 17.61),
    ("character", "1024 cells, 1 head"): Published(20.26, 21.05, None, "*"),
    ("character", "1024 cells, 4 heads"): Published(21.28, 21.71),
}
"""BLEU on WMT 2014 English-German, by level and size: Li, Kaiser, Bengio and Si, "Area Attention",
ICML 2019, Tables 1 and 2 (token level) and Tables 3 and 4 (character level). Tables 1 and 2 are
means of three runs. Areas have at most 2 items in LSTMs. Their data are 4.5 million pairs of news,
ours are 29,000 image captions. Compare figures only within one column, never across columns.
"""


# The registry of tasks: inputs, samples, and the metrics that are reported.
#
# Evaluation, figures and the pages iterate over `TASKS`. Published figures give context. Ours
# cannot be compared with them directly, because data, networks and runs differ.


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
        published={"Grammar as a foreign language, WSJ": "F1 88.3 %, unbalanced 1.5 %"},
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
    Task("words of a picture", "Picture encoders", can=frozenset()),
)
TASKS: Mapping[str, Task] = {task.key: task for task in _ALL}
"""Every task by `Card.task`, in the order of the pages."""


# Metrics of where a model looks, by task, and their baselines.
#
# The `attention` of a card has a metric under a key such as "hit", and the value of an uninformed
# baseline under that key with a suffix, such as "hit_uniform".


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
        {"_uniform": "Random places", "_position": "Another picture", "_untrained": "Untrained"},
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
        {"_random": "Random areas", "_other": "Areas of other brackets", "_untrained": "Untrained"},
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
