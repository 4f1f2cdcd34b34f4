"""What the files of a set are, by their names: texts, tables or others; and which text is which.

A name says what its reader means by the file; what is in it is checked when it is read.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath

from areaviz.trace.errors import InputError
from areaviz.trace.limits import shown

TABLES = (".jsonl", ".csv", ".tsv")
FORMATS = (
    "Texts with a sentence a line, such as my.en and my.de; or one table (CSV, TSV, JSON Lines) "
    "with the columns text, reference, file, links, boxes and facts, as far as there are any, and "
    "the files it names; or files alone: pictures, sounds (WAV, FLAC, Ogg, MP3, AIFF) or clips "
    "(GIF, WebP, animated PNG). A text can be a story that ends with a question, with its answer "
    "of one word as the reference; points, such as 120,300 400,80 700,650; or a sentence whose "
    "reference is a linear tree. Beside texts: what systems wrote, a line an example, and scores "
    "of it, such as one.hyp.txt and one.hyp.comet.csv."
)
"""What a set can be made of, for people."""
# Endings of what people have beside such files. A text may have any other ending: ".en", ".1".
_PACKED = (".npz", ".npy", ".zip", ".gz", ".bz2", ".xz", ".tar", ".7z")
_STRUCTURED = (".json", ".xml", ".html", ".htm", ".parquet", ".pt", ".pkl", ".safetensors")
_OFFICE = (".xlsx", ".xls", ".ods", ".pdf", ".doc", ".docx", ".odt", ".rtf", ".pptx")
_OTHERS = frozenset((*_PACKED, *_STRUCTURED, *_OFFICE))
# Parts of a name that say that the file has the sentences to run, or gold links.
_SOURCE = frozenset(("en", "eng", "english", "src", "source"))
_LINKS = ("align", "link")
_SEPARATORS = (",", ";", "\t")


def check_kinds(names: Iterable[str]) -> None:
    """Raise InputError where one of the files is of a kind that no set has."""
    for name in names:
        ending = ending_of(name)
        if ending in _OTHERS:
            raise InputError(
                f'"{shown(name)}" is a {ending} file, of which no examples are read here; choose'
                " texts with a sentence a line, a table (.csv, .tsv, .jsonl), pictures, sounds or"
                " clips."
            )


def ending_of(name: str) -> str:
    """The last ending of a file's name, in lower case with its point; "" for none."""
    return PurePosixPath(name).suffix.lower()


def likely_source(texts: Sequence[str]) -> str:
    """Of several texts the one that is run: the one whose name says so, else the first."""
    for name in texts:
        parts = re.split(r"[._\- ]+", PurePosixPath(name).name.lower())
        if _SOURCE.intersection(parts):
            return name
    return texts[0]


def likely_links(texts: Sequence[str]) -> str | None:
    """Of several texts the one with gold links, if a name says so."""
    for name in texts:
        if any(part in name.lower() for part in _LINKS):
            return name
    return None


def separator_of(header: str, columns: Collection[str], usual: str) -> str:
    """What separates the cells of a table: the one by which most columns of its header are known.

    Spreadsheets write ";" where a comma stands in numbers, and call the file CSV all the same.

    Args:
        header: the first line of the table.
        columns: the names that columns may have, in lower case.
        usual: taken where no other one makes more names known.
    """
    known = {}
    for separator in _SEPARATORS:
        cells = next(csv.reader([header], delimiter=separator), [])
        known[separator] = sum(cell.strip().lower() in columns for cell in cells)
    best = max(_SEPARATORS, key=known.__getitem__)
    return best if known[best] > known[usual] else usual
