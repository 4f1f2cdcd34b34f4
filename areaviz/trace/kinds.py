"""The kinds of inputs: texts, trees, facts, points, pictures, sounds and clips.

The file starts with the formats of trees, facts and points. Read `Kind` and the registry
`KINDS` first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from areaviz.trace.areas import IntArray
from areaviz.trace.errors import InputError, shorten
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Request

# Linear trees: a constituency tree as a sequence of tokens, complete or partly written.
#
# "(S (NP XX )NP (VP XX )VP )S" is a sentence of two words. A bracket opens and closes with the
# label of its node, and every word is written as `XX` (Vinyals et al. 2015, "Grammar as a foreign
# language").


WORD = "XX"
"""The token that represents any word."""


@dataclass(frozen=True, slots=True)
class Node:
    """A constituent, complete or still being written."""

    label: str
    # Index of its first word, and index behind its last word. An open node extends to the last word
    # so far.
    first: int
    behind: int
    # Number of nodes that contain this node.
    depth: int
    # Positions of the tokens that open and close it. `closing` is None while it is open.
    opening: int
    closing: int | None = None


@dataclass(frozen=True, slots=True)
class Tree:
    """A parsed sequence of tokens.

    Args:
        nodes: The nodes, in the order in which they open.
        words: Number of words.
        problem: Why the tokens are not a tree, in a sentence. "" for a tree, including one whose
            last brackets are not closed yet.
    """

    nodes: tuple[Node, ...]
    words: int
    problem: str = ""

    @property
    def is_closed(self) -> bool:
        """True if there is at least one node and all brackets are closed."""
        return bool(self.nodes) and all(node.closing is not None for node in self.nodes)

    def is_of(self, words: int) -> bool:
        """Return whether this is a complete tree of a sentence with `words` words."""
        return not self.problem and self.is_closed and self.words == words

    def list_brackets(self) -> list[tuple[str, int, int]]:
        """Return label, first word and end (exclusive) of every closed node that contains words."""
        found = []
        for node in self.nodes:
            if node.closing is not None and node.behind > node.first:
                found.append((node.label, node.first, node.behind))
        return found


def is_opening(token: str) -> bool:
    """Return whether a token opens a bracket."""
    return len(token) > 1 and token.startswith("(")


def is_closing(token: str) -> bool:
    """Return whether a token closes a bracket."""
    return len(token) > 1 and token.startswith(")")


def is_linear(tokens: Sequence[str]) -> bool:
    """Return whether there are tokens and all of them are brackets or words."""
    known = [token == WORD or is_opening(token) or is_closing(token) for token in tokens]
    return bool(known) and all(known)


def read_tree(tokens: Sequence[str]) -> Tree:
    """Parse tokens into a tree, as far as possible.

    Parsing stops at a closing bracket that does not match the label of the open node. The result
    Parsing stops at a closing bracket that does not match the label of the open node. The result
    contains everything parsed up to that bracket, and the reason.
    """
    nodes: list[Node] = []
    opened: list[int] = []
    words = 0
    for number, token in enumerate(tokens):
        if is_opening(token):
            opened.append(len(nodes))
            nodes.append(Node(token[1:], words, words, len(opened) - 1, number))
        elif is_closing(token):
            label = token[1:]
            if not opened:
                return _read_tree(nodes, opened, words, f"{token} closes nothing.")
            node = nodes[opened[-1]]
            if node.label != label:
                return _read_tree(
                    nodes, opened, words, f"{token} stands where ){node.label} has to."
                )
            nodes[opened.pop()] = replace(node, behind=words, closing=number)
        elif token == WORD:
            words += 1
        elif token:
            return _read_tree(nodes, opened, words, f'"{token}" is neither a bracket nor {WORD}.')
    return _read_tree(nodes, opened, words)


def _read_tree(nodes: list[Node], opened: Sequence[int], words: int, problem: str = "") -> Tree:
    for index in opened:
        nodes[index] = replace(nodes[index], behind=words)
    return Tree(tuple(nodes), words, problem)


# A description of one kind of input.


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of field, with its names and its check."""

    # The value of `Field.kind`.
    name: str
    # Noun for its items.
    items: str
    # Number of integers per anchor.
    anchor: int
    # Function that returns the problem of a request's field, as in "has anchors outside its 9
    # characters", or "" if there is none.
    problem: Callable[[Field, Request], str]
    # Example text of a request with such an input. "" for pictures, sounds and clips.
    example: str = ""
    # True if anchors are the start and end of each item in `Field.raw`, in characters.
    in_text: bool = False
    # Template that names an item in a sentence, with {} for its label. "" if items are not named
    # one by one.
    named: str = ""
    # Note for users who hide items one by one. "" if items of this kind are hidden in another way.
    hidden: str = ""
    # Names of sites that attend to such a field, if they differ from the names for pictures.
    sites: Mapping[str, str] = field(default_factory=dict)


# Facts as an input: the text of a request is a sequence of facts followed by a question.
#
# Shapes: N facts.


Span = tuple[int, int]
"""Start and end (exclusive) of a sentence in the text, in characters."""
GOLD = "gold facts"
"""Key in `Trace.details` for the numbers, from 1, of the facts that answer the question."""
EXPECTED = "expected answer"
"""Key in `Trace.details` for the answer that is known to be right."""
EXAMPLE = "Mary went to the kitchen. Where is Mary?"
_SENTENCE = re.compile(r"[^\s.?!][^.?!]*[.?!]*")


def locate_sentences(text: str) -> list[Span]:
    """Locate the sentences of a text. A sentence ends with ".", "?", "!" or the end of the text."""
    found = []
    for match in _SENTENCE.finditer(text):
        end = match.start() + len(match[0].rstrip())
        found.append((match.start(), end))
    return found


def split_story(text: str) -> tuple[list[Span], Span]:
    """Split a text into its facts and its question.

    Raises:
        InputError: The last sentence is not a question, or there is no fact before it.
    """
    *facts, question = locate_sentences(text) or [(0, 0)]
    if not text[question[0] : question[1]].endswith("?"):
        raise InputError(
            "The story has no question at its end. Add one that ends with “?”, for example:"
            f" {EXAMPLE}"
        )
    if not facts:
        raise InputError(
            "The question has no facts. Write at least one sentence before it, for example:"
            f" {EXAMPLE}"
        )
    return facts, question


def make_facts_field(text: str) -> Field:
    """Return the field of a request's facts, oldest first."""
    facts = split_story(text)[0]
    labels = tuple(text[start:end] for start, end in facts)
    return Field("facts", "facts", text, labels, np.array(facts, np.int64))


def make_question_field(text: str) -> Field:
    """Return the field of a request's question, which has the whole question as its only item."""
    start, end = split_story(text)[1]
    question = text[start:end]
    return Field("question", "text", question, (question,), np.array([[0, len(question)]]))


def list_gold_facts(trace: Trace) -> tuple[int, ...]:
    """Return the 0-based indices of the facts known to answer the question."""
    numbers = trace.details.get(GOLD, "").split()
    count = len(trace.fields["facts"])
    return tuple(int(one) - 1 for one in numbers if one.isdecimal() and 0 < int(one) <= count)


def find_facts_problem(field: Field, request: Request) -> str:
    """Check that anchors are start and end (exclusive) of the request's facts, in characters."""
    try:
        facts = split_story(request.text)[0]
    except InputError:
        return "is of facts but the request's text is not a story"
    is_same = np.array_equal(np.array(facts), field.anchors) and field.raw == request.text
    return "" if is_same else "has other facts than the request"


FACTS = Kind(
    "facts",
    "facts",
    2,
    find_facts_problem,
    EXAMPLE,
    in_text=True,
    named="“{}”",
    hidden="Its place in the story stays, so facts before it are as old as they were.",
)


# Points as an input. The text of a request has them as "120,300 400,80": x and y as whole numbers.
#
# Shapes: N points.


EXTENT = 1000
"""The largest value of x and y. Both start at 0, and y points upwards."""
_POINT = re.compile(r"(\d{1,4}),(\d{1,4})")


def parse_points(text: str) -> IntArray:
    """Parse the points of a text, int64 [N, 2].

    Raises:
        InputError: A part of the text is not a point, or a point is out of range.
    """
    points = []
    for part in text.split():
        found = _POINT.fullmatch(part)
        if found is None or max(int(found[1]), int(found[2])) > EXTENT:
            raise InputError(
                f'"{shorten(part)}" is not a point. Write each as x,y with whole numbers from'
                f" 0 to {EXTENT:,} and a space between two points, for example: 120,300"
                " 400,80."
            )
        points.append((int(found[1]), int(found[2])))
    return np.array(points, np.int64).reshape(-1, 2)


def format_points(points_N2: IntArray) -> str:
    """Return points as the text of a request."""
    return " ".join(f"{x},{y}" for x, y in points_N2.tolist())


def make_points_field(text: str) -> Field:
    """Return the field of a request's points, labelled by their numbers from 1."""
    points_N2 = parse_points(text)
    labels = tuple(str(number) for number in range(1, len(points_N2) + 1))
    return Field("points", "points", text, labels, points_N2)


def find_points_problem(field: Field, request: Request) -> str:
    """Check that anchors are x and y of the request's points, in their order."""
    try:
        points_N2 = parse_points(request.text)
    except InputError:
        return "is of points but the request's text is not"
    return "" if np.array_equal(points_N2, field.anchors) else "has other points than the request"


POINTS = Kind(
    "points",
    "points",
    2,
    find_points_problem,
    "120,300 400,80",
    named="point {}",
    hidden="The model has read it all the same; a tour comes to it when no other is left.",
)


# The kinds of fields: everything that the program knows about each kind of input.
#
# The input itself is in the request: its text, picture, sound or clip. A new kind whose input can
# be written as text needs a `Kind` such as that of points, and its name in `KINDS`. Files, links,
# messages, sentences about its items and the forms of What if then support it.
#
# Shapes: N items.


def find_text_problem(field: Field, request: Request) -> str:
    """Check that anchors are start and end (exclusive) in `raw`, in characters."""
    start_N, end_N = field.anchors.T
    inside_N = (start_N >= 0) & (start_N <= end_N) & (end_N <= len(field.raw))
    return "" if np.all(inside_N) else f"has anchors outside its {len(field.raw)} characters"


def find_picture_problem(field: Field, request: Request) -> str:
    """Check that anchors are left, top, right and bottom in the request's picture, in pixels."""
    picture = request.picture
    if picture is None:
        return "is a picture's but the request has none"
    left_N, top_N, right_N, bottom_N = field.anchors.T
    inside_N = (left_N >= 0) & (left_N <= right_N) & (right_N <= picture.width)
    inside_N &= (top_N >= 0) & (top_N <= bottom_N) & (bottom_N <= picture.height)
    if np.all(inside_N):
        return ""
    return f"has anchors outside its {picture.width} x {picture.height} pixels"


def find_sound_problem(field: Field, request: Request) -> str:
    """Check that anchors are start and end (exclusive) in the request's sound, in samples."""
    sound = request.sound
    if sound is None:
        return "is a sound's but the request has none"
    start_N, end_N = field.anchors.T
    count = len(sound.samples)
    inside_N = (start_N >= 0) & (start_N <= end_N) & (end_N <= count)
    return "" if np.all(inside_N) else f"has anchors outside its {count:,} samples"


def clip_problem(field: Field, request: Request) -> str:
    """Check that anchors are start and end (exclusive) in the request's clip, in frames."""
    clip = request.clip
    if clip is None:
        return "is a clip's but the request has none"
    start_N, end_N = field.anchors.T
    inside_N = (start_N >= 0) & (start_N <= end_N) & (end_N <= clip.frames)
    return "" if np.all(inside_N) else f"has anchors outside its {clip.frames} frames"


TEXT = Kind("text", "words", 2, find_text_problem, "A small dog runs.", in_text=True)
PICTURE = Kind("picture", "cells", 4, find_picture_problem)
SOUND = Kind(
    "sound", "moments", 2, find_sound_problem, sites={"encoder-decoder": "Output to sound"}
)
CLIP = Kind(
    "clip",
    "frames",
    2,
    clip_problem,
    named="{}",
    hidden="The model sees the previous frame in its place, so the motion is hidden too.",
    sites={"encoder-decoder": "Words to frames"},
)
KINDS: Mapping[str, Kind] = {
    kind.name: kind for kind in (TEXT, PICTURE, SOUND, CLIP, POINTS, FACTS)
}
"""Every kind, by `Field.kind`."""


def find_kind_of_field(field: Field) -> Kind:
    """Return the kind of a field.

    Raises:
        InputError: The kind is unknown.
    """
    if field.kind not in KINDS:
        raise InputError(
            f'The field "{shorten(field.name)}" is of the unknown kind "{shorten(field.kind)}"; use'
            f" one of: {', '.join(KINDS)}."
        )
    return KINDS[field.kind]


def has_text_positions(field: Field) -> bool:
    """Return whether the anchors of a field's items are positions in its raw text."""
    return find_kind_of_field(field).in_text
