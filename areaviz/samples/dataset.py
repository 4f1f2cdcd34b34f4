"""A user's dataset: its examples, its kinds of texts, and its gold annotations.

Read `Example` and `Dataset` first. The words with boxes of a picture stand above them.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from areaviz.media.formats import PICTURE, read_medium
from areaviz.trace.errors import InputError, shorten
from areaviz.trace.kinds import is_opening, parse_points, read_tree, split_story
from areaviz.trace.request import Picture, Request

# Sentences whose words are linked to boxes in a picture.


Box = tuple[float, float, float, float]
"""Left, top, right and bottom as shares of the picture's width and height."""
Boxes = tuple[tuple[int, tuple[Box, ...]], ...]
"""The index and the gold boxes of each word that has boxes, for one sentence."""

_FUNCTION_WORDS = """
a an the in on is are and with of to at his her their its it he she they them him that which who
while through down over up by for from into as out near next off behind around across along
another other some there one two three four five something someone has have be being each are's 's
. , " ' - ! ? ; : & this these another against under above during towards toward onto about after
before between both very where what all
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""English words and punctuation that do not name a visible thing."""


@dataclass(frozen=True, slots=True)
class GroundedSentence:
    """A sentence and the gold boxes of its words."""

    # Words separated by single spaces.
    text: str
    boxes: Boxes


# The kinds of texts of examples: sentences, sentences with trees, stories, points.
#
# For pictures without a text, the kind is whether they show digits to be read. A kind is inferred
# from the texts and their right answers, so files need not state it.


SENTENCES, TREES, STORIES, POINTS = "sentences", "trees", "stories", "points"
"""Kinds of texts: plain texts, sentences whose reference is a linear tree, facts with a question,
and coordinates of points.
"""
DIGITS = "digits"
"""Kind of examples without a text: pictures whose references are digits."""


def find_text_kind(text: str, references: Sequence[str]) -> str:
    """Return the kind of one example's text, or "" for no text.

    A story can look like two sentences to translate. It is recognised by its answers, each of which
    is one word or several words joined by commas.
    """
    if not text.strip():
        return ""
    if _is_points(text):
        return POINTS
    if references and all(map(_is_tree, references)):
        return TREES
    if references and all(len(one.split()) == 1 for one in references) and _is_story(text):
        return STORIES
    return SENTENCES


def are_digits(references: Sequence[str]) -> bool:
    """Return whether there are references and all consist of digits, as for pictures of digits."""
    return bool(references) and all(one.isascii() and one.isdigit() for one in references)


def find_common_kind(kinds: Sequence[str]) -> str:
    """Return the kind of a dataset: the kind of all its texts, or sentences if they differ."""
    known = {kind for kind in kinds if kind}
    if len(known) > 1:
        return SENTENCES
    return known.pop() if known else ""


def _is_points(text: str) -> bool:
    # Check the first character, because parsing every text and catching the error would be slow.
    if not text.lstrip()[:1].isdigit():
        return False
    try:
        return bool(len(parse_points(text)))
    except InputError:
        return False


def _is_story(text: str) -> bool:
    try:
        split_story(text)
    except InputError:
        return False
    return True


def _is_tree(text: str) -> bool:
    tokens = text.split()
    if not tokens or not is_opening(tokens[0]):
        return False
    tree = read_tree(tokens)
    return not tree.problem and tree.is_closed


# A user's dataset: its examples, their files and its digest.


Files = Mapping[str, bytes | Path]
"""File names without folders, and the content or the path of each file."""
Links = frozenset[tuple[int, int]]
Metadata = Mapping[str, tuple[str, ...]]

SHOW_SCENES, SHOW_PHOTOS = "scenes", "photos"
"""Kinds of pictures, as in `Card.pictures`: drawn scenes, and photographs."""
REMEMBERED = 20_000
"""Number of files on disk whose digest is cached. It equals the maximum number of examples."""


@dataclass(frozen=True, slots=True)
class Example:
    """One example: a text, a file or both, and annotations such as references."""

    # The name of the example in its dataset, or its number from 1.
    name: str
    text: str
    references: tuple[str, ...] = ()
    # The file name of its picture, sound or clip, or "".
    file: str = ""
    # Gold links between words, (source, target) from 0. The possible links include the sure ones.
    sure: Links = frozenset()
    possible: Links = frozenset()
    # Words in lower case, each with a box in the picture. A word may have several boxes.
    boxes: tuple[tuple[str, Box], ...] = ()
    # Indices of the facts of a story that answer its question, from 0.
    facts: tuple[int, ...] = ()

    @property
    def text_kind(self) -> str:
        """The kind of its text, such as "sentences". See `find_text_kind`."""
        return find_text_kind(self.text, self.references)

    @property
    def mark(self) -> str:
        """The whole example as text, for digests. A new format would make old digests invalid."""
        start = f"Example(name={self.name!r}, text={self.text!r}, references={self.references!r}, "
        links = f"picture={self.file!r}, sure={self.sure!r}, possible={self.possible!r}, "
        facts = f", facts={self.facts!r}" if self.facts else ""
        return f"{start}{links}boxes={self.boxes!r}{facts})"


@dataclass(frozen=True, slots=True)
class Dataset:
    """Examples in order, and the files they name.

    Raises:
        InputError: A file cannot be read.
    """

    name: str
    examples: tuple[Example, ...]
    files: Files
    # The kind of its pictures, such as `SHOW_SCENES` or `SHOW_PHOTOS`, or "" if it has none or the
    # kind is unknown. Users are warned if a model was not trained on such pictures.
    kind: str = ""
    # The kind of its files, a key of `MEDIA`.
    medium: str = PICTURE
    # Metadata by column, such as "domain": one value per example, "" if it is missing. Metadata
    # affect neither inputs nor references, so they are not part of the digest.
    metadata: Metadata = field(default_factory=dict)
    # The kind of its texts (see `find_common_kind`), `DIGITS` for pictures of digits, or "" for
    # other datasets without texts.
    texts: str = field(init=False)
    # Identifies this dataset: the SHA-256 of its examples and of the content of every file.
    digest: str = field(init=False)
    # The SHA-256 of the metadata, or "" without metadata. It distinguishes two imports of a dataset
    # with different metadata.
    metadata_digest: str = field(init=False)
    # The digest that earlier releases gave to a dataset with pictures, without the contents of its
    # files. "" for other datasets.
    earlier_digest: str = field(init=False)

    def __post_init__(self) -> None:
        """Compute the digests, which identify everything that the app stores for the dataset."""
        for column, values in self.metadata.items():
            if len(values) != len(self.examples):
                raise ValueError(
                    f'The metadata column "{column}" has {len(values)} values for'
                    f" {len(self.examples)} examples."
                )
        metadata = repr(sorted(self.metadata.items())).encode("utf-8", "surrogatepass")
        about = hashlib.sha256(metadata).hexdigest() if self.metadata else ""
        object.__setattr__(self, "metadata_digest", about)
        found = hash_of(self.examples)
        kinds = [example.text_kind for example in self.examples]
        texts = find_common_kind(kinds)
        if not texts and self.medium == PICTURE and self._has_digits():
            texts = DIGITS
        object.__setattr__(self, "texts", texts)
        has_pictures = bool(self.files) and self.medium == PICTURE
        object.__setattr__(self, "earlier_digest", found.hexdigest() if has_pictures else "")
        for name in sorted(self.files):
            content = hash_content(name, self.files[name])
            found.update(f"\n{name!r} {content}".encode("utf-8", "surrogatepass"))
        object.__setattr__(self, "digest", found.hexdigest())

    def _has_digits(self) -> bool:
        """Return whether there are references and all of them consist of digits."""
        known = [example.references for example in self.examples if example.references]
        return bool(known) and all(map(are_digits, known))

    def asked(self, request: Request, example: Example) -> Request:
        """Return a request with the text of an example and the content of its file.

        Raises:
            InputError: The file cannot be used.
        """
        request = replace(request, text=example.text)
        if not example.file:
            return request
        decoded: dict[str, Any] = {self.medium: read_medium(self.medium, self.files[example.file])}
        return replace(request, **decoded)

    def picture(self, example: Example) -> Picture | None:
        """Return the decoded picture of an example, or None if it has none.

        Raises:
            InputError: The file cannot be used.
        """
        if self.medium != PICTURE:
            return None
        return self.asked(Request("", ""), example).picture


def hash_of(examples: Sequence[Example]) -> hashlib._Hash:
    """Return the SHA-256 of the texts `Example.mark` of all examples, formatted as a tuple."""
    found = hashlib.sha256(b"(")
    for number, one in enumerate(examples):
        if number:
            found.update(b", ")
        found.update(one.mark.encode("utf-8", "surrogatepass"))
    found.update(b",)" if len(examples) == 1 else b")")
    return found


def hash_content(name: str, content: bytes | Path) -> str:
    """Return the SHA-256 of a file's content as 64 hexadecimal digits.

    Args:
        name: Name of the file in error messages.
        content: The content, or the path of the file.

    Raises:
        InputError: The file cannot be read.
    """
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    try:
        about = content.stat()
        # No program can set the time of a file's change, so the cache never returns an outdated
        # digest.
        times = (about.st_mtime_ns, about.st_ctime_ns)
        return _of_file(str(content.absolute()), about.st_ino, about.st_size, *times)
    except OSError as error:
        reason = error.strerror or os.strerror(error.errno or 0)
        raise InputError(
            f'"{shorten(name)}" cannot be read ({reason}). Make it readable or leave it out.'
        ) from error


@lru_cache(maxsize=REMEMBERED)
def _of_file(path: str, *_: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# Marks, the gold annotations of an example: word links, boxes in a picture, facts of a story.
#
# The marks of one kind are one cell of a table or one line of a file. Errors name that place.


MAX_MARKS = 500
"""Maximum number of links, boxes or facts per example. A sentence of 40 words rarely has more than
60 links.
"""
LINK = re.compile(r"(\d{1,4})([-p])(\d{1,4})")
"""A link in Pharaoh format: "3-4" is sure, "3p4" is possible."""


def read_facts(where: str, line: str) -> tuple[int, ...]:
    """Return the facts of a story, written as "3 6" from 1, as numbers from 0.

    Raises:
        InputError: A part is not a number from 1 to 9,999, or there are too many facts.
    """
    parts = _clean_marks(where, "facts", line.split(maxsplit=MAX_MARKS))
    for part in parts:
        if not re.fullmatch(r"[1-9]\d{0,3}", part):
            raise InputError(
                f'{where} has the fact "{shorten(part)}". Name facts by their numbers from 1, such'
                " as 3 6."
            )
    return tuple(int(part) - 1 for part in parts)


def read_links(where: str, line: str, first: int = 0) -> tuple[Links, Links]:
    """Return the sure links and all possible links, (source word, target word) from 0.

    Args:
        where: Place of the links for error messages, such as "Line 3".
        line: The links, such as "0-0 1p2".
        first: Number of the first word, 0 or 1.

    Raises:
        InputError: A part is not a link, a word number is below `first`, or there are too many
            links.
    """
    sure, possible = set(), set()
    for part in _clean_marks(where, "links", line.split(maxsplit=MAX_MARKS)):
        found = LINK.fullmatch(part)
        if not found:
            raise InputError(
                f'{where} has the link "{shorten(part)}". Write links as pairs such as 3-4 (sure)'
                " or 3p4 (possible)."
            )
        link = (int(found[1]) - first, int(found[3]) - first)
        if min(link) < 0:
            raise InputError(
                f'{where} has the link "{part}", but the links of this file count from {first}.'
                " Count all of them from 0 or all of them from 1."
            )
        possible.add(link)
        if found[2] == "-":
            sure.add(link)
    return frozenset(sure), frozenset(possible)


def read_boxes(where: str, line: str) -> tuple[tuple[str, Box], ...]:
    """Return words with boxes, from "dog 0.1 0.2 0.5 0.9; ball 0.6 0.7 0.8 0.9".

    The numbers are the left, top, right and bottom edge as shares of the picture.

    Raises:
        InputError: A part is not a box, or there are too many boxes.
    """
    found = []
    for part in _clean_marks(where, "boxes", line.split(";", MAX_MARKS + 1)):
        word, *numbers = part.split()
        try:
            left, top, right, bottom = map(float, numbers)
        except ValueError:
            left = top = right = bottom = 0.0
        if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
            raise InputError(
                f'{where} has the box "{shorten(part.strip())}". A box is a word and four shares of'
                " the picture, 0 to 1: left, top, right, bottom."
            )
        found.append((word.lower(), (left, top, right, bottom)))
    return tuple(found)


def _clean_marks(where: str, what: str, parts: list[str]) -> list[str]:
    """Return the marks of an example without blank marks.

    Raises:
        InputError: There are more than `MAX_MARKS` marks.
    """
    marks = [part for part in parts if part.strip()]
    if len(marks) > MAX_MARKS:
        raise InputError(
            f"{where} has more than {MAX_MARKS} {what}, which is the limit. Remove some of them."
        )
    return marks
