"""The words of a text, and classes of words in English, German and French."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# Numbers, words with inner hyphens or apostrophes, and single characters of Chinese and Japanese,
# whose words are not separated by spaces.
_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(
    rf"\d+(?:[.,]\d+)*|[{_CJK}]|[^\W\d_{_CJK}]+(?:[-'’][^\W\d_{_CJK}]+)*",
)


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
