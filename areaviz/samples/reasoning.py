"""Samples with known answers: stories, sets of points, and sentences with trees.

Point sets and their exact solutions come first. The samples of the page Reason come last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from areaviz.samples.dataset import Dataset, Example
from areaviz.trace.kinds import EXTENT, WORD, format_points

# Sets of points in a square, with exact answers: the convex hull and the shortest tour.
#
# Both answers are lists of points, counter-clockwise from the leftmost point. The last point is
# connected to the first. With this order, every set has exactly one answer to each problem.
#
# Shapes: B sets, N points, T positions of an answer, M = N - 1 points without the first, S subsets.


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

POINT_KINDS: Mapping[str, str] = {"hull": "convex hull", "tour": "shortest tour"}
"""The problems on points, with their names for readers."""
FEWEST, MOST = 3, 12
"""Minimum and maximum number of points in a set. The time of the exact tour doubles with each point
and is a fifth of a second for the maximum.
"""
VALID_SETS, TEST_SETS = 1000, 2000
"""Number of held-out sets of each size."""
_SEEDS = {"val": 1_000_001, "test": 2_000_003}
CHUNK = 2048
"""Number of sets whose tours are computed at once. It limits the memory."""


@dataclass(frozen=True, slots=True)
class PointSets:
    """Sets that all have the same number of points."""

    # [B, N, 2], x and y from 0 to 1.
    points: FloatArray
    # [B, N], the exact answers as indices of points, padded with -1.
    answers: IntArray

    def __len__(self) -> int:
        return len(self.points)


def draw_point_sets(kind: str, count: int, points: int, rng: np.random.Generator) -> PointSets:
    """Return sets of uniformly distributed points in the unit square, with their exact answers."""
    points_BN2 = rng.random((count, points, 2))
    return PointSets(points_BN2, solve_exactly(kind, points_BN2))


def draw_held_out_sets(kind: str, split: str, points: int) -> PointSets:
    """Return the sets of "val" or "test" with a given number of points. Each has its own seed."""
    count = VALID_SETS if split == "val" else TEST_SETS
    return draw_point_sets(kind, count, points, np.random.default_rng((_SEEDS[split], points)))


def solve_exactly(kind: str, points_BN2: FloatArray) -> IntArray:
    """Return the exact answers to sets: indices of points [B, N], padded with -1.

    Args:
        kind: A key of `POINT_KINDS`.
        points_BN2: The points.

    Raises:
        ValueError: `kind` is "hull" and all points of a set are on one line.
    """
    if kind == "tour":
        chunks = []
        for first in range(0, len(points_BN2), CHUNK):
            chunks.append(find_shortest_tours(points_BN2[first : first + CHUNK]))
        return np.concatenate(chunks)
    answers_BN = np.full(points_BN2.shape[:2], -1)
    for answer_N, points_N2 in zip(answers_BN, points_BN2, strict=True):
        found = find_convex_hull(points_N2)
        answer_N[: len(found)] = found
    return answers_BN


def find_convex_hull(points_N2: FloatArray) -> list[int]:
    """Return the indices of the convex hull's corners, computed by Qhull (scipy).

    Raises:
        ValueError: All points are on one line.
    """
    # Imported here, because scipy takes a second to import and only training needs many hulls.
    from scipy.spatial import ConvexHull, QhullError

    try:
        corners = [int(corner) for corner in ConvexHull(points_N2).vertices]
    except QhullError as error:
        raise ValueError("All points lie on one line.") from error
    first = corners.index(find_leftmost_point(points_N2))
    return corners[first:] + corners[:first]


def find_leftmost_point(points_N2: FloatArray) -> int:
    """Return the index of the point with the smallest x. The smallest y decides between several."""
    return int(np.lexsort((points_N2[:, 1], points_N2[:, 0]))[0])


def find_shortest_tours(points_BN2: FloatArray) -> IntArray:
    """Return the shortest closed tour of every set [B, N], by dynamic programming over subsets.

    The algorithm is that of Held and Karp 1962. `best[S][:, j]` is the length of the shortest path
    that leaves the first point, visits the points S and ends in the point j of S. It is the minimum
    of `best[S without j][:, k]` plus the distance from k to j, over all k in S without j. The
    algorithm is exact and finds the tours of thousands of small sets at once. A solver of larger
    problems, such as Concorde or OR-tools, would be an additional dependency.
    """
    count, others = len(points_BN2), points_BN2.shape[1] - 1
    way_BNN = np.linalg.norm(points_BN2[:, :, None] - points_BN2[:, None], axis=3)
    best_SBM = np.full((1 << others, count, others), np.inf, np.float32)
    before_SBM = np.zeros(best_SBM.shape, np.int8)
    for member in range(others):
        best_SBM[1 << member, :, member] = way_BNN[:, 0, member + 1]
    for subset in range(1, 1 << others):
        members = [member for member in range(others) if subset >> member & 1]
        for member in members if len(members) > 1 else []:
            paths_BM = best_SBM[subset ^ (1 << member)] + way_BNN[:, 1:, member + 1]
            before_SBM[subset, :, member] = paths_BM.argmin(1)
            best_SBM[subset, :, member] = paths_BM.min(1)
    last_B = (best_SBM[-1] + way_BNN[:, 1:, 0]).argmin(1)
    tours_BN = _trace_tours_back(before_SBM, last_B)
    return order_tours_from_leftmost(points_BN2, tours_BN)


def _trace_tours_back(before_SBM: npt.NDArray[np.int8], last_B: IntArray) -> IntArray:
    """Return the tours [B, N] from point 0 to the given last points.

    Args:
        before_SBM: For each subset and last point, the point before it on the shortest path.
        last_B: The last point of each tour before it returns to point 0.
    """
    subsets, count, others = before_SBM.shape
    rows_B, place_B = np.arange(count), last_B
    left_B = np.full(count, subsets - 1)
    tours_BN = np.zeros((count, others + 1), np.int64)
    for step in range(others, 0, -1):
        tours_BN[:, step] = place_B + 1
        previous_B = before_SBM[left_B, rows_B, place_B].astype(np.int64)
        left_B, place_B = left_B ^ (1 << place_B), previous_B
    return tours_BN


def order_tours_from_leftmost(points_BN2: FloatArray, tours_BN: IntArray) -> IntArray:
    """Return the tours counter-clockwise from the leftmost point."""
    found_BN = np.empty_like(tours_BN)
    for row, (points_N2, tour_N) in enumerate(zip(points_BN2, tours_BN, strict=True)):
        forward_N = tour_N if compute_signed_area(points_N2[tour_N]) >= 0 else tour_N[::-1]
        first = int(np.flatnonzero(forward_N == find_leftmost_point(points_N2))[0])
        found_BN[row] = np.roll(forward_N, -first)
    return found_BN


def compute_signed_area(corners_T2: FloatArray) -> float:
    """Return the area of a polygon, negative if its corners run clockwise."""
    x_T, y_T = corners_T2.T
    return float((x_T * np.roll(y_T, -1) - y_T * np.roll(x_T, -1)).sum() / 2)


def measure_tour_length(points_N2: FloatArray, tour: Sequence[int]) -> float:
    """Return the length of a closed tour."""
    places_T2 = points_N2[list(tour)]
    return float(np.linalg.norm(places_T2 - np.roll(places_T2, -1, 0), axis=1).sum())


def order_around_mean(points_BN2: FloatArray) -> IntArray:
    """Return the indices of the points, counter-clockwise by angle around their mean: [B, N].

    The leftmost point comes first. The order of the input does not matter.
    """
    centred_BN2 = points_BN2 - points_BN2.mean(1, keepdims=True)
    angle_BN = np.arctan2(centred_BN2[..., 1], centred_BN2[..., 0])
    first_B = np.array([find_leftmost_point(points_N2) for points_N2 in points_BN2])
    start_B1 = np.take_along_axis(angle_BN, first_B[:, None], 1)
    turned_BN = (angle_BN - start_B1) % (2 * np.pi)
    # The leftmost point must be first even if another point has the same angle.
    np.put_along_axis(turned_BN, first_B[:, None], -1.0, 1)
    order_BN: IntArray = turned_BN.argsort(axis=1, kind="stable")
    return order_BN


def normalise_points(points_BN2: FloatArray) -> FloatArray:
    """Move and scale points so that their mean is 0 and the farthest is at distance 1: [B, N, 2].

    The answers do not change.
    """
    centred_BN2 = points_BN2 - points_BN2.mean(1, keepdims=True)
    farthest_B11 = np.linalg.norm(centred_BN2, axis=2).max(1)[:, None, None]
    scaled_BN2: FloatArray = centred_BN2 / np.maximum(farthest_B11, 1e-9)
    return scaled_BN2


# The examples: stories, sets of points, and sentences with trees.
#
# Stories and points are generated with a fixed seed. The sentences and their trees were written for
# the app, in the style of the Penn Treebank.


STORY_COUNT, SET_COUNT = 40, 40
SET_SIZES = (5, 10)
"""Minimum and maximum number of points in a set."""
FEWEST_APART = 30
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
    examples = [_make_story(str(number), rng) for number in range(1, STORY_COUNT + 1)]
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
    while len(examples) < SET_COUNT:
        count = SET_SIZES[0] + len(examples) % (SET_SIZES[1] - SET_SIZES[0] + 1)
        points_N2 = rng.integers(EXTENT // 20, EXTENT - EXTENT // 20, (count, 2))
        apart_NN = np.linalg.norm(points_N2[:, None] - points_N2[None], axis=2)
        if apart_NN[np.triu_indices(count, 1)].min() >= FEWEST_APART:
            examples.append(Example(str(len(examples) + 1), format_points(points_N2)))
    return Dataset("Points", tuple(examples), {})


# Sample stories, points and sentences, written for the app.


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
        ("The bathroom is north of the garden.", "The kitchen is south of the garden."),
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
