"""Sentences whose words people linked by hand, and the links that other systems made of them.

Captions of Multi30k were linked for this project; the corpus itself lies in the data folder. The
other sets are published, one gzip file each: pair id, English words, words of the other language
and links, separated by tabs; a link "3-4" is sure, "3p4" possible, English first, from 0. One file
a system: a line a pair, links "3-4".
"""

from __future__ import annotations

import gzip
import tomllib
from collections.abc import Iterator
from pathlib import Path

from areaviz.data.examples import Dataset, Example, Links
from areaviz.data.marks import read_links
from areaviz.data.multi30k import read_split

LINKS = Path(__file__).with_name("multi30k_links.toml")
FOLDER = "word_align"


def read_linked(data: Path, split: str) -> Dataset:
    """The captions of "val" or "test_2016_flickr" that have sure and possible links, English first.

    Raises:
        FileNotFoundError: the corpus is not in `data`.
    """
    links: dict[str, str] = tomllib.loads(LINKS.read_text(encoding="utf-8"))[split]
    pairs = read_split(data, split)
    examples = []
    for number, (line, marks) in enumerate(links.items(), 1):
        text, target = pairs[int(line)]
        found = read_links(f"The links of line {line}", marks)
        examples.append(_example(str(number), text, target, found))
    return Dataset("source", tuple(examples), {})


def read_gold(data: Path, name: str) -> Dataset:
    """The pairs of a published set, for example "hansards_en_fr", with their gold links.

    Raises:
        FileNotFoundError: the set is not in `data`.
        InputError: a line has something else than links, or the file is no UTF-8 text.
    """
    examples = []
    for number, line in enumerate(_lines(data / FOLDER / f"{name}.tsv.gz"), 1):
        title, text, target, marks = line.split("\t")
        found = read_links(f"Line {number:,} of {name}", marks)
        examples.append(_example(title, text, target, found))
    return Dataset(f"{name}.tsv", tuple(examples), {})


def _example(name: str, text: str, target: str, links: tuple[Links, Links]) -> Example:
    references = (target,) if target.strip() else ()
    return Example(name, text, references, "", *links)


def read_system(data: Path, name: str) -> list[Links]:
    """The links one system made, a set of (English, other) a pair.

    Raises:
        FileNotFoundError: they are not in `data`.
    """
    found = []
    for line in _lines(data / FOLDER / f"{name}.talp.gz"):
        pairs = [link.split("-") for link in line.split()]
        found.append(frozenset((int(one), int(other)) for one, other in pairs))
    return found


def _lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n")
