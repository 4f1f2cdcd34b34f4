"""Conditions of themes: properties of examples that are known without the output.

Words and the material of the search come first. Conditions about texts and all other conditions
follow, and then quantities for trends.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd

from areaviz.trace.errors import InputError

# The words of a text, and classes of words in English, German and French.


# Numbers, words with inner hyphens or apostrophes, and single characters of Chinese and Japanese,
# whose words are not separated by spaces.
_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"\d+(?:[.,]\d+)*|[{_CJK}]|[^\W\d_{_CJK}]+(?:[-'’][^\W\d_{_CJK}]+)*")


def split_keeping_case(text: str) -> list[str]:
    """Return the words of a text as they are written, without punctuation."""
    return _WORD.findall(text)


def lower_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation."""
    return _WORD.findall(text.lower())


def find_usual_spelling(texts: Iterable[str]) -> Mapping[str, str]:
    """Map each word in lower case to its usual spelling, such as "menschen" to "Menschen".

    The first word of a text is not counted, because it is capitalised in any case.
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(split_keeping_case(text)[1:])
    spelling: dict[str, str] = {}
    for word, _ in sorted(counts.items(), key=lambda item: (item[1], item[0])):
        spelling[word.lower()] = word
    return spelling


def without_accents(word: str) -> str:
    """Return a word without its accents: "über" as "uber", "groß" as "gross"."""
    decomposed = unicodedata.normalize("NFKD", word.replace("ß", "ss"))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


@dataclass(frozen=True, slots=True)
class WordClass:
    """A class of words with one meaning, in all languages together.

    Attributes:
        one: phrase for one word of the class, such as "a colour". It follows "has" in a sentence.
        two: phrase for two words of the class. It also follows "has".
        plural: name of all words of the class.
        words: the words in lower case.
    """

    one: str
    two: str
    plural: str
    words: frozenset[str]


def _make_word_class(one: str, two: str, plural: str, words: str) -> WordClass:
    return WordClass(one, two, plural, frozenset(words.split()))


_COLOURS = """
red blue green yellow black white brown grey gray orange pink purple tan violet beige gold golden
silver rot rote roten roter rotes rotem blau blaue blauen blauer blaues blauem grün grüne grünen
grüner grünes grünem gelb gelbe gelben gelber gelbes gelbem schwarz schwarze schwarzen schwarzer
schwarzes schwarzem weiß weiße weißen weißer weißes weißem braun braune braunen brauner braunes
braunem grau graue grauen grauer graues grauem orangefarben orangefarbene orangefarbenen
orangefarbener orangefarbenes orangefarbenem orangen orangene orangenen oranger rosa lila pinke
pinken violett violette violetten violetter violettes violettem rouge rouges bleu bleue bleus
bleues vert verte verts vertes jaune jaunes noir noire noirs noires blanc blanche blancs blanches
brun brune bruns brunes marron gris grise grises rose roses violette
"""
_NUMBERS = """
two three four five six seven eight nine ten several zwei drei vier fünf sechs sieben acht neun
zehn mehrere mehreren deux trois quatre cinq six sept huit neuf dix plusieurs
"""
_NEGATIONS = """
no not without nobody none never nothing neither nor cannot don't doesn't didn't isn't aren't wasn't
weren't won't can't couldn't wouldn't shouldn't kein keine keinen keiner keinem keines nicht nichts
ohne niemand nie niemals pas sans aucun aucune jamais personne rien non
"""
_PLACES = """
above below behind under over between beside near left right front inside outside vor hinter unter
über neben zwischen oberhalb unterhalb links rechts innerhalb außerhalb devant derrière sous sur
entre gauche droite dessus dessous
"""
_PERSONS = """
man men woman women boy boys girl girls child children people person persons lady ladies guy guys
kid kids baby babies mann männer männern frau frauen junge jungen mädchen kind kinder kindern leute
leuten menschen mensch person personen baby babys homme hommes femme femmes garçon garçons fille
filles enfant enfants gens personnes bébé dame dames
"""
WORD_CLASSES = (
    _make_word_class("a colour", "two colours", "colours", _COLOURS),
    _make_word_class("a number word", "two number words", "number words", _NUMBERS),
    _make_word_class("a negation", "two negations", "negations", _NEGATIONS),
    _make_word_class("a word of place", "two words of place", "words of place", _PLACES),
    _make_word_class("a person", "two persons", "words for persons", _PERSONS),
    _make_word_class(
        '"and" or "or"', '"and" or "or" twice', '"and" and "or"', "and or und oder et ou"
    ),
)
# Quotation marks of several languages.
QUOTES = frozenset('"“”„«»')


# The input of the search for themes: texts, outputs, scores, metrics and metadata of examples.


FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

# Minimum and maximum number of examples. Fewer are not enough for a test in each half, and more
# take too long on a page.
MIN_EXAMPLES, MAX_EXAMPLES = 80, 20_000
# Largest number of words of all texts together.
MAX_TEXT_WORDS = 2_000_000


@dataclass(frozen=True, slots=True)
class Score:
    """A score of outputs.

    Attributes:
        title: its name, such as "chrF".
        values: the score of every example, NaN where it is unknown: float [E].
        better: "high" or "low".
    """

    title: str
    values: FloatArray
    better: str = "high"


@dataclass(frozen=True, slots=True)
class Written:
    """The outputs of one system for the examples, and measurements of each output."""

    outputs: tuple[str, ...]
    scores: tuple[Score, ...] = ()
    # Confidence and metrics of attention, by title. They become conditions, never symptoms.
    measures: Mapping[str, FloatArray] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Material:
    """The examples in which themes are searched.

    Attributes:
        places: the indices of the examples in the dataset.
        sources: the input texts, "" if an example has none.
        references: the references of each example.
        files: the picture, sound or clip of each example, "" for none.
        written: the outputs of one system, or of two systems to compare.
        metadata: columns by name, with a text for every example.
        documents: the document of each example, "" for none.
    """

    places: tuple[int, ...]
    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    files: tuple[str, ...]
    written: tuple[Written, ...]
    metadata: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    documents: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.places)

    @property
    def digest(self) -> str:
        """The SHA-256 of all content."""
        found = hashlib.sha256()
        texts = (self.places, self.sources, self.references, self.files, self.documents)
        found.update(repr((texts, sorted(self.metadata.items()))).encode("utf-8", "surrogatepass"))
        for one in self.written:
            found.update(repr(one.outputs).encode("utf-8", "surrogatepass"))
            for score in one.scores:
                found.update(repr((score.title, score.better)).encode())
                found.update(score.values.tobytes())
            for title, values in one.measures.items():
                found.update(repr(title).encode() + values.tobytes())
        return found.hexdigest()

    def has_sources(self) -> bool:
        """Return whether some example has an input text."""
        return any(self.sources)

    def has_one_reference(self) -> bool:
        """Return whether no example has more than one reference."""
        return any(self.references) and all(len(one) <= 1 for one in self.references)


def check_count(examples: int) -> None:
    """Check that there are enough examples for a proof, and not too many.

    Raises:
        InputError: there are too few or too many.
    """
    if examples < MIN_EXAMPLES:
        raise InputError(
            f"Themes need at least {MIN_EXAMPLES} examples with an output, but there are"
            f" {examples:,}. Use a larger set."
        )
    if examples > MAX_EXAMPLES:
        raise InputError(
            f"Themes can be found in at most {MAX_EXAMPLES:,} examples, but there are"
            f" {examples:,}. Use a part of the set."
        )


def check_size(material: Material) -> None:
    """Check the number of examples and of words.

    Raises:
        InputError: there are too few examples, too many examples or too many words.
    """
    check_count(len(material))
    words = sum(len(text.split()) for text in material.sources)
    words += sum(len(text.split()) for texts in material.references for text in texts)
    words += sum(len(text.split()) for one in material.written for text in one.outputs)
    if words > MAX_TEXT_WORDS:
        raise InputError(
            f"Themes can be found in at most {MAX_TEXT_WORDS:,} words, but the texts have"
            f" {words:,}. Use a part of the set."
        )


# Conditions about a text other than single words: word classes, length, form and rare words.


# Quantiles of the length that define short and long texts.
SHORT, LONG = (0.1, 0.2, 0.35), (0.5, 0.65, 0.8, 0.9)
# Minimum number of characters of a long word.
LONG_WORD = 12
_HYPHEN = re.compile(r"\w-\w")
# The text of a condition, its words, whether it holds for each example, and whether it is named if
# it is too rare.
Found = tuple[str, tuple[str, ...], Sequence[bool], bool]


def iterate_text_conditions(
    side: str, texts: Sequence[str], words_E: Sequence[list[str]]
) -> Iterator[Found]:
    """Yield the conditions of texts other than single words and pairs of words.

    Args:
        side: "source" or "reference".
        texts: the text of each example.
        words_E: the words of each text in lower case.
    """
    yield from _iterate_word_classes(side, words_E)
    yield from _iterate_lengths(side, words_E)
    yield from _iterate_forms(side, texts, words_E)
    yield from _iterate_beginnings(side, words_E)
    yield from _iterate_rare_words(side, words_E)


def _iterate_word_classes(side: str, words_E: Sequence[list[str]]) -> Iterator[Found]:
    for one in WORD_CLASSES:
        counts = [sum(word in one.words for word in words) for words in words_E]
        words = tuple(sorted(one.words))
        yield f"the {side} has {one.one}", words, [count >= 1 for count in counts], True
        yield f"the {side} has {one.two}", words, [count >= 2 for count in counts], False


def _iterate_lengths(side: str, words_E: Sequence[list[str]]) -> Iterator[Found]:
    length_E = np.array([len(words) for words in words_E])
    for quantile in SHORT:
        most = int(np.quantile(length_E, quantile))
        yield f"the {side} has {most} words or fewer", (), list(length_E <= most), False
    for quantile in LONG:
        least = int(np.quantile(length_E, quantile)) + 1
        yield f"the {side} has {least} words or more", (), list(length_E >= least), False


def _iterate_forms(
    side: str, texts: Sequence[str], words_E: Sequence[list[str]]
) -> Iterator[Found]:
    yield f"the {side} has a comma", (), ["," in text for text in texts], True
    has_digit = [any(map(str.isdigit, text)) for text in texts]
    yield f"the {side} has a digit", (), has_digit, True
    yield f"the {side} has a hyphen", (), [bool(_HYPHEN.search(text)) for text in texts], True
    has_quotes = [not QUOTES.isdisjoint(text) for text in texts]
    yield f"the {side} has quotation marks", (), has_quotes, True
    has_end = [text.rstrip().endswith((".", "!", "?", "。")) for text in texts]
    yield f"the {side} has no full stop at its end", (), [not one for one in has_end], True
    if side == "source":
        # Nouns of German references are capitalised, so this is informative only for sources.
        capitals = [
            any(word[0].isupper() for word in split_keeping_case(text)[1:]) for text in texts
        ]
        yield f"the {side} has a capital inside, as of a name", (), capitals, True
    long = [any(len(word) >= LONG_WORD for word in words) for words in words_E]
    yield f"the {side} has a word of {LONG_WORD} letters or more", (), long, False


def _iterate_beginnings(side: str, words_E: Sequence[list[str]]) -> Iterator[Found]:
    firsts = [words[0] if words else "" for words in words_E]
    for word, count in Counter(firsts).items():
        if word and count > 1:
            yield f"the {side} begins with “{word}”", (), [one == word for one in firsts], False


def _iterate_rare_words(side: str, words_E: Sequence[list[str]]) -> Iterator[Found]:
    counts_E = count_unique_words(words_E)
    yield f"the {side} has a word that no other has", (), list(counts_E >= 1), False
    yield f"the {side} has two words that no other has", (), list(counts_E >= 2), False


def count_unique_words(words_E: Sequence[list[str]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return how many words of each text occur nowhere else in the texts: int [E]."""
    frequency = Counter(word for words in words_E for word in words)
    return np.array([sum(frequency[word] == 1 for word in words) for words in words_E], np.int64)


# All conditions that a list of examples offers, from its texts, measures and metadata.
#
# Words of the output are not conditions. A wrong word in the output would otherwise explain itself.


SOURCE, REFERENCE, MEASURE, METADATA = "source", "reference", "measure", "metadata"
# A condition needs this number of examples and this share of them. It may hold for at most MOST of
# the examples.
MIN_CONDITION_EXAMPLES, MIN_SHARE, MAX_SHARE = 16, 0.01, 0.6
# Maximum number of frequent words and of word pairs, because large vocabularies take minutes.
MAX_FREQUENT_WORDS = 3000
# A numeric column with more distinct values than this is cut at its fifths.
MAX_VALUES = 8
# Share of a column's cells that must be numbers for the column to count as numeric.
NUMERIC = 0.95
# Largest number of values named as too rare.
MAX_NAMED = 8


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition.

    Attributes:
        text: the condition as it follows "Where".
        kind: SOURCE, REFERENCE, MEASURE or METADATA.
        words: the words of the source that make it true, () if it is not about single words.
    """

    text: str
    kind: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Conditions:
    """All conditions of a dataset.

    Attributes:
        known: the conditions that can be tested.
        holds_EC: whether each condition is true for each example.
        rare: conditions that are true for too few examples, with their number of examples.
        rare_words: the number of words and word pairs that are too rare.
        least: the number of examples that a condition needs.
    """

    known: tuple[Condition, ...]
    holds_EC: BoolArray
    rare: Mapping[str, int]
    rare_words: int
    least: int


@dataclass
class _Collector:
    """Collects conditions, and the names of those that are too rare."""

    examples: int
    least: int
    known: list[Condition] = field(default_factory=list)
    columns: list[BoolArray] = field(default_factory=list)
    rare: dict[str, int] = field(default_factory=dict)
    rare_words: int = 0

    def add(self, condition: Condition, holds_E: Iterable[bool], is_named: bool = False) -> None:
        """Add a condition.

        If it is too rare, record its name if `is_named`, and drop it otherwise.
        """
        column_E = np.fromiter(holds_E, bool, self.examples)
        count = int(column_E.sum())
        if count >= self.least and count <= min(
            self.examples - self.least, MAX_SHARE * self.examples
        ):
            self.known.append(condition)
            self.columns.append(column_E)
        elif is_named and 0 < count < self.least:
            self.rare[condition.text] = count

    def add_words(self, side: str, texts: Sequence[str], has_pairs: bool) -> None:
        """Add a condition for every word of a side and, with `has_pairs`, every word pair."""
        spelling = find_usual_spelling(texts)
        where: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, words in enumerate(map(lower_words, texts)):
            units: set[tuple[str, ...]] = {(word,) for word in words}
            if has_pairs:
                units.update(pairwise(words))
            for unit in units:
                where[unit].append(place)
        frequent = [unit for unit, places in where.items() if len(places) >= self.least]
        self.rare_words += len(where) - len(frequent)
        frequent.sort(key=lambda unit: (-len(where[unit]), unit))
        for unit in frequent[:MAX_FREQUENT_WORDS]:
            holds_E = np.zeros(self.examples, bool)
            holds_E[where[unit]] = True
            spelled = " ".join(spelling.get(word, word) for word in unit)
            text = f"the {side} has “{spelled}”"
            self.add(Condition(text, side, unit if side == SOURCE else ()), holds_E)


def find_least_examples(count: int) -> int:
    """Return the minimum number of examples of a condition in a dataset of `count` examples."""
    return max(MIN_CONDITION_EXAMPLES, int(count * MIN_SHARE))


def find_conditions(material: Material, system: int) -> Conditions:
    """Return all conditions of a dataset.

    Args:
        material: the examples.
        system: the system whose confidence and attention become conditions.
    """
    collector = _Collector(len(material), find_least_examples(len(material)))
    has_one_reference = material.has_one_reference()
    references = [texts[0] if texts else "" for texts in material.references]
    if material.has_sources():
        _add_texts(collector, SOURCE, material.sources)
    elif has_one_reference:
        _add_texts(collector, REFERENCE, references)
    if material.has_sources() and has_one_reference:
        # The length and form of a reference are close to those of the source, so only its words are
        # used.
        collector.add_words(REFERENCE, references, has_pairs=False)
    for title, values_E in material.written[system].measures.items():
        _add_measure(collector, title, values_E)
    for name, cells in material.metadata.items():
        _add_column(collector, name, cells)
    return _without_doubles(collector)


def _add_texts(collector: _Collector, side: str, texts: Sequence[str]) -> None:
    words_E = list(map(lower_words, texts))
    collector.add_words(side, texts, has_pairs=True)
    for text, words, holds_E, is_named in iterate_text_conditions(side, texts, words_E):
        collector.add(Condition(text, side, words if side == SOURCE else ()), holds_E, is_named)


def _add_measure(collector: _Collector, title: str, values_E: FloatArray) -> None:
    """Add conditions for the lowest and highest tenth and fifth of a metric.

    The metric needs a value for nearly all examples.
    """
    known = np.isfinite(values_E)
    if known.mean() < 0.9 or np.ptp(values_E[known]) == 0:
        return
    name = title[:1].lower() + title[1:] if title[1:2].islower() else title
    for share, part in ((0.1, "tenth"), (0.2, "fifth")):
        low, high = np.quantile(values_E[known], [share, 1 - share])
        collector.add(Condition(f"{name} is in its lowest {part}", MEASURE), values_E <= low)
        collector.add(Condition(f"{name} is in its highest {part}", MEASURE), values_E > high)


def _add_column(collector: _Collector, name: str, cells: Sequence[str]) -> None:
    """Add conditions for the values of a metadata column, or for the extremes of its numbers."""
    numbers_E = parse_column_numbers(cells)
    if numbers_E is not None and len(np.unique(numbers_E[np.isfinite(numbers_E)])) > MAX_VALUES:
        low, high = np.nanquantile(numbers_E, [0.2, 0.8])
        collector.add(Condition(f"{name} is at most {low:.3g}", METADATA), numbers_E <= low)
        collector.add(Condition(f"{name} is more than {high:.3g}", METADATA), numbers_E > high)
        return
    counts = Counter(cell for cell in cells if cell)
    # A column of names has a different value for nearly every example, so it gives no condition.
    is_named = len(counts) <= len(cells) // 4
    for value, _ in counts.most_common(MAX_FREQUENT_WORDS):
        condition = Condition(f"{name} is {value}", METADATA)
        collector.add(condition, (cell == value for cell in cells), is_named)


def parse_column_numbers(cells: Sequence[str]) -> FloatArray | None:
    """Return the numbers of a column [E], NaN for other cells, or None if most are not numbers."""
    # A number such as 1e400 becomes infinite when it is parsed.
    numbers_E = pd.to_numeric(pd.Series(list(cells), dtype=object), errors="coerce").to_numpy(float)
    numbers_E = np.where(np.isfinite(numbers_E), numbers_E, np.nan)
    return numbers_E if np.isfinite(numbers_E).mean() > NUMERIC else None


def _without_doubles(collector: _Collector) -> Conditions:
    """Return one condition for each distinct set of examples, the one with the shortest text."""
    first: dict[bytes, int] = {}
    lengths = [len(one.text) for one in collector.known]
    for number in np.argsort(lengths, kind="stable"):
        first.setdefault(np.packbits(collector.columns[number]).tobytes(), int(number))
    kept = sorted(first.values())
    known = tuple(collector.known[number] for number in kept)
    holds_EC = np.zeros((collector.examples, len(kept)), bool)
    for column, number in enumerate(kept):
        holds_EC[:, column] = collector.columns[number]
    return Conditions(known, holds_EC, collector.rare, collector.rare_words, collector.least)


# Ordered quantities of the examples that can have a trend, such as "the longer, the worse".


@dataclass(frozen=True, slots=True)
class Quantity:
    """An ordered quantity and its wording.

    Attributes:
        more: the start of a sentence where high values are worse, such as "The longer the source".
        less: the start of a sentence where low values are worse.
        high: the name of the fifth of the examples with the highest values.
        low: the name of the fifth with the lowest values.
        values_E: the value of every example, NaN for none.
    """

    more: str
    less: str
    high: str
    low: str
    values_E: FloatArray


def find_quantities(material: Material) -> tuple[Quantity, ...]:
    """Return the source's length and number of unique words, and the metadata numbers that vary."""
    texts, side = material.sources, "source"
    if not material.has_sources():
        if not material.has_one_reference():
            return _list_metadata_quantities(material)
        texts, side = tuple(one[0] if one else "" for one in material.references), "reference"
    words_E = list(map(lower_words, texts))
    length = Quantity(
        f"The longer the {side}",
        f"The shorter the {side}",
        "the longest fifth",
        "the shortest fifth",
        np.array([len(words) for words in words_E], float),
    )
    unique = Quantity(
        f"The more words of the {side} occur nowhere else",
        f"The fewer words of the {side} occur nowhere else",
        "the fifth with the most",
        "the fifth with the fewest",
        count_unique_words(words_E).astype(float),
    )
    found = (length, unique, *_list_metadata_quantities(material))
    return tuple(one for one in found if np.nanstd(one.values_E) > 0)


def _list_metadata_quantities(material: Material) -> tuple[Quantity, ...]:
    found = []
    for name, cells in material.metadata.items():
        values_E = parse_column_numbers(cells)
        if values_E is not None and len(np.unique(values_E[np.isfinite(values_E)])) > 2:
            names = (f"The higher the value of “{name}”", f"The lower the value of “{name}”")
            ends = ("the fifth with the highest values", "the fifth with the lowest values")
            found.append(Quantity(*names, *ends, values_E))
    return tuple(found)
