"""A data set of the reader's own, from the files that hold it: line-aligned texts, CSV, JSON Lines,
pictures.

A file is only ever read as text or, by `areaviz/data/pictures.py`, as a picture; no name in it is
opened as a path.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from areaviz.data.content import content_digest
from areaviz.data.grounding import Box
from areaviz.data.pictures import decode
from areaviz.trace.errors import InputError
from areaviz.trace.limits import MAX_UPLOAD_MEGABYTES, shown
from areaviz.trace.picture import Picture

Files = Mapping[str, bytes | Path]
"""Names without folders, and what the files hold or where they lie."""
Links = frozenset[tuple[int, int]]

MAX_EXAMPLES, MAX_MEGABYTES = 20_000, MAX_UPLOAD_MEGABYTES
MAX_MARKS = 500
"""Links of an example, and boxes; a sentence of 40 words seldom has more than 60."""
MAX_LINKS, MAX_BOXES, MAX_TEXT_BYTES = 500_000, 100_000, 96 * 2**20
"""Of all examples together. Texts count as memory: one rare sign makes Python keep four bytes for
every character.
"""
MAX_ROW = 1 << 18
"""Characters of one row of a table: what its parts cost in memory is many times that."""
TABLES = (".jsonl", ".csv", ".tsv")
PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")
COLUMNS = {
    "name": ("name", "id"),
    "text": ("text", "source", "sentence", "input"),
    "reference": ("reference", "references", "target", "caption", "captions", "translation"),
    "picture": ("picture", "image", "file", "filename"),
    "links": ("links", "alignment"),
    "boxes": ("boxes",),
}
"""What a table's columns may be called; upper and lower case are one."""
_LINK = re.compile(r"(\d{1,4})([-p])(\d{1,4})")
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True, slots=True)
class Example:
    """One example: a text, a picture or both, and what is known of the right answer.

    name: the set's own for it, else its number from 1. picture: the name of its file, "" for none.
    sure, possible: gold links between words, (source, target) from 0; possible ones hold the sure
    ones. boxes: words, in lower case, and where in the picture what they name can be seen; a word
    may have several.
    """

    name: str
    text: str
    references: tuple[str, ...] = ()
    picture: str = ""
    sure: Links = frozenset()
    possible: Links = frozenset()
    boxes: tuple[tuple[str, Box], ...] = ()


@dataclass(frozen=True, slots=True)
class Dataset:
    """Examples in order, and the pictures they name.

    digest: what tells this set from others, the SHA-256 of its examples and of every picture's
    content.
    earlier_digest: by which a set with pictures was known before their content counted, else "".

    Raises:
        InputError: a picture's file cannot be read.
    """

    name: str
    examples: tuple[Example, ...]
    pictures: Files
    digest: str = field(init=False)
    earlier_digest: str = field(init=False)

    def __post_init__(self) -> None:
        """Once: everything that is kept of a set is asked for by its digest."""
        found = hash_of(self.examples)
        object.__setattr__(self, "earlier_digest", found.hexdigest() if self.pictures else "")
        for name in sorted(self.pictures):
            content = content_digest(name, self.pictures[name])
            found.update(f"\n{name!r} {content}".encode("utf-8", "surrogatepass"))
        object.__setattr__(self, "digest", found.hexdigest())

    def picture(self, example: Example) -> Picture | None:
        """The picture of an example, decoded; None where it has none; InputError where the file
        cannot be used.
        """
        if not example.picture:
            return None
        found = self.pictures[example.picture]
        content = found.read_bytes() if isinstance(found, Path) else found
        return decode(
            content, "example"
        ).picture  # files are called what they like, but pictures as links can say


def read_lines(
    source: str, files: Files, references: Sequence[str] = (), links: str = ""
) -> Dataset:
    """A set of line-aligned text files: the sources, their references (one file each) and gold
    links.

    A line of links has pairs "3-4" (sure) or "3p4" (possible), source word first, both from 0.

    Raises:
        InputError: a file is no UTF-8 text, is too large, or they differ in their number of lines.
    """
    totals = Totals(source)
    columns = {
        name: _column(name, files, totals)
        for name in (source, *references, *([links] if links else []))
    }
    counts = {name: len(lines) for name, lines in columns.items()}
    for name, count in counts.items():
        if count != counts[source]:
            raise InputError(
                f'"{shown(name)}" has {count:,} lines but "{shown(source)}" has {counts[source]:,};'
                " line-aligned files need the same number of lines."
            )
    rows = (
        {
            "text": text,
            "reference": [columns[name][i] for name in references],
            "links": columns[links][i] if links else "",
        }
        for i, text in enumerate(columns[source])
    )
    return _dataset(source, rows, {})


def read_table(table: str, files: Files) -> Dataset:
    """A set of a JSON Lines, CSV or TSV file; pictures it names are looked for among `files`.

    Raises:
        InputError: the file cannot be read, has neither texts nor pictures, or names a picture that
            is not there.
    """
    kind = PurePosixPath(table).suffix.lower()
    rows = (
        _json_rows(table, files)
        if kind == ".jsonl"
        else _csv_rows(table, files, "\t" if kind == ".tsv" else ",")
    )
    return _dataset(table, rows, files)


def read_pictures(files: Files) -> Dataset:
    """A set of pictures alone, by name."""
    names = sorted(name for name in files if PurePosixPath(name).suffix.lower() in PICTURES)
    return _dataset("pictures", [{"picture": name, "name": name} for name in names], files)


def hash_of(examples: Sequence[Example]) -> hashlib._Hash:
    """SHA-256 of the examples, of what `repr` of all of them would be: but that takes as much
    memory as they do.
    """
    found = hashlib.sha256(b"(")
    for number, one in enumerate(examples):
        found.update((", " * bool(number) + repr(one)).encode("utf-8", "surrogatepass"))
    found.update(b",)" if len(examples) == 1 else b")")
    return found


@dataclass(slots=True)
class Totals:
    """What the examples of a set have come to take together, by which a set is refused while it is
    read.
    """

    name: str
    text_bytes: int = 0
    links: int = 0
    boxes: int = 0

    def add_texts(self, *texts: str) -> None:
        """Count texts; InputError where they are too large together."""
        self.text_bytes += sum(map(sys.getsizeof, texts))
        if self.text_bytes > MAX_TEXT_BYTES:
            raise InputError(
                f'The texts of "{shown(self.name)}" take more than the {MAX_TEXT_BYTES >> 20} MB of'
                " memory that are possible; split it."
            )

    def add_marks(self, example: Example) -> None:
        """Count links and boxes; InputError where they are too many together."""
        self.links, self.boxes = self.links + len(example.possible), self.boxes + len(example.boxes)
        for what, count, most in (
            ("links", self.links, MAX_LINKS),
            ("boxes", self.boxes, MAX_BOXES),
        ):
            if count > most:
                raise InputError(
                    f'"{shown(self.name)}" has more than the {most:,} {what} that are possible;'
                    " split it."
                )


def _dataset(name: str, rows: Iterable[Mapping[str, object]], files: Files) -> Dataset:
    examples: list[Example] = []
    totals = Totals(name)
    for number, row in enumerate(rows, 1):
        if number > MAX_EXAMPLES:
            raise InputError(
                f'"{shown(name)}" has more than the {MAX_EXAMPLES:,} examples that are possible;'
                " split it."
            )
        example = _example(name, number, row, files)
        totals.add_texts(example.name, example.text, *example.references)
        totals.add_marks(example)
        examples.append(example)
    if not any(one.text.strip() or one.picture for one in examples):
        raise InputError(f'"{shown(name)}" has no examples; it needs at least one text or picture.')
    return Dataset(
        name, tuple(examples), {one.picture: files[one.picture] for one in examples if one.picture}
    )


def _example(name: str, number: int, row: Mapping[str, object], files: Files) -> Example:
    where = f'Line {number:,} of "{shown(name)}"'
    given = row.get("reference") or ()
    texts = given if isinstance(given, list | tuple) else [given]
    picture = PurePosixPath(str(row.get("picture") or "")).name
    if picture and picture not in files:
        raise InputError(
            f'{where} names the picture "{shown(picture)}", which is not among the files; add it.'
        )
    sure, possible = _links(where, str(row.get("links") or ""))
    references = tuple(str(one) for one in texts if str(one).strip())
    boxes = _boxes(where, str(row.get("boxes") or ""))
    return Example(
        str(row.get("name") or number),
        str(row.get("text") or ""),
        references,
        picture,
        sure,
        possible,
        boxes,
    )


def _links(where: str, line: str) -> tuple[Links, Links]:
    pairs: dict[str, set[tuple[int, int]]] = {"-": set(), "p": set()}
    for part in _marks(where, "links", line.split(maxsplit=MAX_MARKS)):
        found = _LINK.fullmatch(part)
        if not found:
            raise InputError(
                f'{where} has the link "{shown(part)}"; links are pairs such as 3-4 (sure) or 3p4'
                " (possible)."
            )
        pairs[found[2]].add((int(found[1]), int(found[3])))
    return frozenset(pairs["-"]), frozenset(pairs["-"] | pairs["p"])


def _boxes(where: str, line: str) -> tuple[tuple[str, Box], ...]:
    """Words with boxes, "dog 0.1 0.2 0.5 0.9; ball 0.6 0.7 0.8 0.9": left, top, right, bottom as
    shares.
    """
    found = []
    for part in filter(str.strip, _marks(where, "boxes", line.split(";", MAX_MARKS + 1))):
        word, *numbers = part.split()
        try:
            left, top, right, bottom = map(float, numbers)
        except ValueError:
            left, top, right, bottom = 0.0, 0.0, 0.0, 0.0
        if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
            raise InputError(
                f'{where} has the box "{shown(part.strip())}"; a box is a word and four shares of'
                " the picture, 0 to 1: left, top, right, bottom."
            )
        found.append((word.lower(), (left, top, right, bottom)))
    return tuple(found)


def _marks(where: str, what: str, parts: list[str]) -> list[str]:
    """The links or boxes of an example; InputError where there are too many."""
    if len([part for part in parts if part.strip()]) > MAX_MARKS:
        raise InputError(
            f"{where} has more than the {MAX_MARKS} {what} that are possible; remove some of them."
        )
    return parts


def _json_rows(name: str, files: Files) -> Iterator[Mapping[str, object]]:
    for number, line in enumerate(_lines(name, files), 1):
        if not line.strip():
            continue
        _check_row(name, number, len(line))
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise InputError(
                f'Line {number:,} of "{shown(name)}" is no JSON object; each line must be one, in'
                " braces."
            )
        yield _renamed(name, row)


def _csv_rows(name: str, files: Files, separator: str) -> Iterator[Mapping[str, object]]:
    taken = 0

    def lines() -> Iterator[str]:
        nonlocal taken
        for number, line in enumerate(_raw_lines(name, files), 1):
            taken += len(line)
            _check_row(name, number, taken)
            yield line

    reader = csv.DictReader(lines(), delimiter=separator)
    try:
        for row in reader:
            taken = 0
            yield _renamed(name, {str(key): value for key, value in row.items()})
    except csv.Error as error:
        raise InputError(
            f'Line {reader.line_num:,} of "{shown(name)}" is no CSV: {error}; mend or remove it.'
        ) from error


def _renamed(name: str, row: Mapping[str, object]) -> Mapping[str, object]:
    """A row by the keys of COLUMNS; others are passed over."""
    given = {key.strip().lower(): value for key, value in row.items()}
    found = {
        key: next((given[one] for one in names if one in given), None)
        for key, names in COLUMNS.items()
    }
    if found["text"] is None and found["picture"] is None:
        raise InputError(
            f'"{shown(name)}" has the columns {shown(", ".join(row))}; one must be called "text" or'
            ' "picture".'
        )
    return found


def _check_row(name: str, number: int, characters: int) -> None:
    """Refuse a row before it is taken apart."""
    if characters > MAX_ROW:
        raise InputError(
            f'The row that ends in line {number:,} of "{shown(name)}" has more than the {MAX_ROW:,}'
            " characters that are possible; mend or remove it."
        )


def _column(name: str, files: Files, totals: Totals) -> list[str]:
    """The lines of a text file, each an example's; they are counted."""
    found = []
    for line in _lines(name, files):
        totals.add_texts(line)
        found.append(line)
    return found or [""]


def _lines(name: str, files: Files) -> Iterator[str]:
    """The lines of a text file; a break at its end begins no further one. InputError where there
    are too many.
    """
    for number, line in enumerate(_raw_lines(name, files), 1):
        if number > MAX_EXAMPLES:
            raise InputError(
                f'"{shown(name)}" has more than the {MAX_EXAMPLES:,} lines that are possible;'
                " split it."
            )
        yield line.rstrip("\r\n")


def _raw_lines(name: str, files: Files) -> Iterator[str]:
    """The lines of a text file with their breaks, each read by itself: the whole as one text takes
    up to 200 MB.
    """
    found = files[name]
    size = found.stat().st_size if isinstance(found, Path) else len(found)
    if size > MAX_MEGABYTES << 20:
        raise InputError(
            f'"{shown(name)}" has {size >> 20:,} MB but at most {MAX_MEGABYTES} are possible;'
            " split it."
        )
    data = found.read_bytes() if isinstance(found, Path) else found
    for number, part in enumerate(_LINE.finditer(data), 1):
        _check_row(
            name, number, (part.end() - part.start()) // 4
        )  # a character has four bytes at the most
        try:
            line = part.group().decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f'Line {number:,} of "{shown(name)}" is no UTF-8 text; save the file as UTF-8.'
            ) from error
        yield line.removeprefix("\ufeff") if number == 1 else line
