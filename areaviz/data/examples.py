"""A user's dataset: its examples, their files and its digest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from areaviz.data.grounding import Box
from areaviz.data.text_kinds import DIGITS, are_digits, find_common_kind, find_text_kind
from areaviz.media.formats import PICTURE, read_medium
from areaviz.trace.errors import InputError, shorten
from areaviz.trace.request import Picture, Request

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
