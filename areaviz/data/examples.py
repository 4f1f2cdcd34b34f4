"""A data set of the reader's own: its examples, their pictures and its digest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from areaviz.data.grounding import Box
from areaviz.trace.errors import InputError
from areaviz.trace.limits import shown
from areaviz.trace.picture import Picture

Files = Mapping[str, bytes | Path]
"""Names without folders, and what the files hold or where they lie."""
Links = frozenset[tuple[int, int]]

SHOW_SCENES, SHOW_PHOTOS = "scenes", "photos"
"""What pictures can show, as `Card.pictures` says it."""
REMEMBERED = 20_000
"""Files on the disk whose content is known; as many as a set may have examples."""


@dataclass(frozen=True, slots=True)
class Example:
    """One example: a text, a picture or both, and what is known of the right answer."""

    # The set's own name for it, else its number from 1.
    name: str
    text: str
    references: tuple[str, ...] = ()
    # The name of its file, "" for none.
    picture: str = ""
    # Gold links between words, (source, target) from 0; the possible ones include the sure ones.
    sure: Links = frozenset()
    possible: Links = frozenset()
    # Words in lower case, and where in the picture they can be seen; a word may have several boxes.
    boxes: tuple[tuple[str, Box], ...] = ()


@dataclass(frozen=True, slots=True)
class Dataset:
    """Examples in order, and the pictures they name.

    Raises:
        InputError: a picture's file cannot be read.
    """

    name: str
    examples: tuple[Example, ...]
    pictures: Files
    # What its pictures show, `SHOW_SCENES` or `SHOW_PHOTOS`; "" where it has none. Of a model that
    # has seen others alone readers are told that it guesses.
    kind: str = ""
    # Identifies this set: the SHA-256 of its examples and of every picture's content.
    digest: str = field(init=False)
    # The digest of a set with pictures before their content counted, else "".
    earlier_digest: str = field(init=False)

    def __post_init__(self) -> None:
        """Once: everything that is stored for a set is found by its digest."""
        found = hash_of(self.examples)
        object.__setattr__(self, "earlier_digest", found.hexdigest() if self.pictures else "")
        for name in sorted(self.pictures):
            content = content_digest(name, self.pictures[name])
            found.update(f"\n{name!r} {content}".encode("utf-8", "surrogatepass"))
        object.__setattr__(self, "digest", found.hexdigest())

    def picture(self, example: Example) -> Picture | None:
        """The picture of an example, decoded; None where it has none.

        Raises:
            InputError: the file cannot be used.
        """
        if not example.picture:
            return None
        found = self.pictures[example.picture]
        content = found.read_bytes() if isinstance(found, Path) else found
        # Files may have any name, but a picture's name must fit a link.
        # Here, because a machine that only trains and measures has no Pillow.
        from areaviz.data.pictures import decode

        return decode(content, "example").picture


def hash_of(examples: Sequence[Example]) -> hashlib._Hash:
    """SHA-256 of what `repr` of all examples would be, without the memory that would take."""
    found = hashlib.sha256(b"(")
    for number, one in enumerate(examples):
        if number:
            found.update(b", ")
        found.update(repr(one).encode("utf-8", "surrogatepass"))
    found.update(b",)" if len(examples) == 1 else b")")
    return found


def content_digest(name: str, content: bytes | Path) -> str:
    """The SHA-256 of a file's content, 64 hexadecimal digits; name: for people.

    Raises:
        InputError: the file cannot be read.
    """
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    try:
        about = content.stat()
        # No program can set the time of a file's change, so what was written to is read anew.
        times = (about.st_mtime_ns, about.st_ctime_ns)
        return _of_file(str(content.absolute()), about.st_ino, about.st_size, *times)
    except OSError as error:
        reason = error.strerror or os.strerror(error.errno or 0)
        raise InputError(
            f'"{shown(name)}" cannot be read ({reason}); mend that or leave it out.'
        ) from error


@lru_cache(maxsize=REMEMBERED)
def _of_file(path: str, *_: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
