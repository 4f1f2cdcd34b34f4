"""Examples of the app with known answers: stories, sets of points, and sentences with trees.

Stories and points are generated with a fixed seed. The sentences and their trees were written for
the app, in the style of the Penn Treebank.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from areaviz.data.examples import Dataset, Example
from areaviz.trace.kinds import EXTENT, WORD, format_points

STORIES, SETS = 40, 40
SIZES = (5, 10)
"""Minimum and maximum number of points in a set."""
APART = 30
"""Minimum distance of two points. Closer points could not be distinguished in a drawing."""
_SEED = 17
_PEOPLE = ("Mary", "John", "Sandra", "Daniel")
_ROOMS = ("kitchen", "garden", "office", "bathroom", "hallway", "bedroom")
_THINGS = ("apple", "milk", "football")
_GOES = ("went to", "moved to", "travelled to", "journeyed to", "went back to")
_TAKES = ("picked up", "took", "grabbed")
_TREES = (
    "(S (NP The old man) (VP saw (NP a dog) (PP in (NP the park))) .)",
    "(S (NP The dog) (VP slept) .)",
    "(S (NP She) (VP reads (NP a long book)) .)",
    "(S (NP My sister) (VP lives (PP in (NP a small town))) .)",
    "(S (NP We) (VP will (VP stay (PP at (NP home)))) .)",
    "(S (NP He) (VP gave (NP the children) (NP an apple)) .)",
    "(S (NP (NP The house) (PP on (NP the hill))) (VP is (ADJP very old)) .)",
    "(S (NP They) (VP want (S (VP to (VP buy (NP a new car))))) .)",
    "(S (NP I) (VP think (SBAR that (S (NP he) (VP is (ADJP right))))) .)",
    "(S (NP (NP A friend) (PP of (NP my brother))) (VP plays (NP the guitar)) .)",
    "(S (NP The train) (VP left (PP at (NP noon))) .)",
    "(S (NP Anna and Peter) (VP cooked (NP a good dinner)) .)",
    "(S (NP The students) (VP have (VP read (NP the first chapter))) .)",
    "(S (PP In (NP the morning)) , (NP the birds) (VP sing) .)",
    "(S (NP She) (VP said (SBAR that (S (NP she) (VP would (VP come (ADVP back)))))) .)",
    "(S (NP The teacher) (VP was (VP asked (NP a difficult question))) .)",
    "(S (NP You) (VP should (VP not (VP open (NP that door)))) .)",
    "(S (NP The water) (VP is (ADJP cold) , but (ADJP clear)) .)",
    "(S (NP A young woman) (VP walked (PP along (NP the river)) (PP with (NP her dog))) .)",
    "(S (S (NP The sun) (VP shines)) and (S (NP the snow) (VP melts)) .)",
    "(S (NP It) (VP rained (NP all day)) .)",
    "(S (NP (NP The letter) (PP from (NP my mother))) (VP made (NP me) (ADJP happy)) .)",
    "(S (NP The boys) (VP play (PP in (NP the garden))) .)",
    "(S (NP Nobody) (VP knew (NP his name)) .)",
)
_APART = (
    # Punctuation around words. Full stops within "U.S." or "3.5" stay.
    (re.compile(r"([“”\"()\[\]?!;…$€£%/&—–]|--|\.{2,})"), r" \1 "),
    (re.compile(r"(?<=\w)-(?=\w)"), " - "),
    (re.compile(r"([,:])(?=\s|$)"), r" \1"),
    # The final full stop of a sentence, but not that of "U.S.".
    (re.compile(r"(?<!\.)(?<!\.[^\W\d_])\.(?=\s*[”\")\]]*\s*$)"), " ."),
    # Contractions, which a treebank writes as two words.
    (re.compile(r"(?i)(?<=\w)(n['’]t)\b"), r" \1"),
    (re.compile(r"(?i)(?<=\w)(['’](?:s|re|ve|ll|d|m))\b"), r" \1"),
    (re.compile(r"(?i)\b(can)(not)\b"), r"\1 \2"),
    (re.compile(r"(?i)\b(gon)(na)\b"), r"\1 \2"),
)
_PART = re.compile(r"\(([A-Z]+)|\)|[^\s()]+")


def make_sentences_with_trees() -> Dataset:
    """Return sentences whose references are their constituency trees, written as one line."""
    examples = []
    for number, bracketed in enumerate(_TREES, 1):
        words, tree = linearise_tree(bracketed)
        examples.append(Example(str(number), " ".join(words), (tree,)))
    return Dataset("Sentences with trees", tuple(examples), {})


def linearise_tree(bracketed: str) -> tuple[list[str], str]:
    """Split a bracketed sentence, "(S (NP He) (VP slept) .)", into words and a linear tree.

    A linear tree has a placeholder for each word, and its closing brackets have labels.
    """
    words: list[str] = []
    tokens, open_labels = [], []
    for part in _PART.finditer(bracketed):
        if part[1]:
            open_labels.append(part[1])
            tokens.append(f"({part[1]}")
        elif part[0] == ")":
            tokens.append(f"){open_labels.pop()}")
        else:
            words.append(part[0])
            tokens.append(WORD)
    return words, " ".join(tokens)


def separate_punctuation(sentence: str) -> str:
    """Separate punctuation and contractions in a sentence by spaces, as a treebank does."""
    for pattern, replacement in _APART:
        sentence = pattern.sub(replacement, sentence)
    return " ".join(sentence.split())


def make_stories() -> Dataset:
    """Return stories of people who walk about. Each ends by asking where a person or a thing is."""
    rng = np.random.default_rng(_SEED)
    examples = [_make_story(str(number), rng) for number in range(1, STORIES + 1)]
    return Dataset("Stories", tuple(examples), {})


def _make_story(name: str, rng: np.random.Generator) -> Example:
    facts: list[str] = []
    # Room of every person, and the index of the fact that states it.
    rooms: dict[str, tuple[str, int]] = {}
    for _ in range(int(rng.integers(3, 7))):
        _add_walk(str(rng.choice(_PEOPLE)), facts, rooms, rng)
    wanted = str(rng.choice(list(rooms)))
    if rng.random() < 0.5:
        room, fact = rooms[wanted]
        return _make_question(name, facts, wanted, room, (fact,))
    thing = str(rng.choice(_THINGS))
    taken = len(facts)
    facts.append(f"{wanted} {rng.choice(_TAKES)} the {thing} there.")
    # The person carries the thing to another room. Then some of the other people walk on.
    _add_walk(wanted, facts, rooms, rng)
    room, fact = rooms[wanted]
    for other in (one for one in _PEOPLE if one != wanted and rng.random() < 0.3):
        _add_walk(other, facts, rooms, rng)
    return _make_question(name, facts, f"the {thing}", room, (taken, fact))


def _add_walk(
    person: str, facts: list[str], rooms: dict[str, tuple[str, int]], rng: np.random.Generator
) -> None:
    """Add a fact: the person goes to another room."""
    others = [room for room in _ROOMS if room != rooms.get(person, ("", 0))[0]]
    room = str(rng.choice(others))
    rooms[person] = room, len(facts)
    facts.append(f"{person} {rng.choice(_GOES)} the {room}.")


def _make_question(
    name: str, facts: Sequence[str], wanted: str, room: str, gold: tuple[int, ...]
) -> Example:
    return Example(name, " ".join((*facts, f"Where is {wanted}?")), (room,), facts=gold)


def make_point_sets() -> Dataset:
    """Return sets of points in a square, without answers.

    The answer depends on the task of the model, such as the convex hull, and is computed later.
    """
    rng = np.random.default_rng(_SEED)
    examples: list[Example] = []
    while len(examples) < SETS:
        count = SIZES[0] + len(examples) % (SIZES[1] - SIZES[0] + 1)
        points_N2 = rng.integers(EXTENT // 20, EXTENT - EXTENT // 20, (count, 2))
        apart_NN = np.linalg.norm(points_N2[:, None] - points_N2[None], axis=2)
        if apart_NN[np.triu_indices(count, 1)].min() >= APART:
            examples.append(Example(str(len(examples) + 1), format_points(points_N2)))
    return Dataset("Points", tuple(examples), {})
