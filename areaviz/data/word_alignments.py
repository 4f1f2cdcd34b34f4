"""Sentences whose words people linked by hand, and the links that other systems made of them.

One gzip file a set: pair id, English words, words of the other language and links, separated by
tabs; a link "3-4" is sure, "3p4" possible, English first, from 0. One file a system: a line a pair,
links "3-4".
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

from areaviz.data.examples import Dataset, read_table

FOLDER = "word_align"
Links = frozenset[tuple[int, int]]


def read_gold(data: Path, name: str) -> Dataset:
    """The pairs of a set, for example "hansards_en_fr", English first, with their gold links.

    Raises:
        FileNotFoundError: the set is not in `data`.
        InputError: a line has something else than links, or the file is no UTF-8 text.
    """
    rows = ["name\ttext\treference\tlinks", *_lines(data / FOLDER / f"{name}.tsv.gz")]
    return read_table(
        f"{name}.tsv", {f"{name}.tsv": "\n".join(_unquoted(row) for row in rows).encode()}
    )


def read_system(data: Path, name: str) -> list[Links]:
    """The links one system made, a set of (English, other) a pair; FileNotFoundError where it is
    not in `data`.
    """
    return [
        frozenset(
            (int(one), int(other)) for one, other in (link.split("-") for link in line.split())
        )
        for line in _lines(data / FOLDER / f"{name}.talp.gz")
    ]


def _lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n")


def _unquoted(row: str) -> str:
    """A row as a table's reader takes it, which reads quotes as marks around a cell."""
    return "\t".join('"' + cell.replace('"', '""') + '"' for cell in row.split("\t"))
