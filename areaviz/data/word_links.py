"""Sentence pairs with gold links between their words, and the links of other alignment systems.

The links of Multi30k's captions were made for this project and are part of it. The captions are in
the data folder. The other datasets are published, with one gzip file each. The columns of a line
are pair id, English words, words of the other language and links, separated by tabs. In a link, the
English word comes first, counted from 0: "3-4" is sure and "3p4" is possible. Each other system has
one file of links, with one line per pair.
"""

from __future__ import annotations

import gzip
import tomllib
from collections.abc import Iterator
from pathlib import Path

from areaviz.data.multi30k import read_split
from areaviz.samples.dataset import Dataset, Example, Links, read_links

LINKS = Path(__file__).with_name("multi30k_links.toml")
FOLDER = "word_align"


def read_linked(data: Path, split: str) -> Dataset:
    """Read the caption pairs of "val" or "test_2016_flickr" that have gold links.

    English is the source, and German the reference.

    Raises:
        FileNotFoundError: The corpus is not in `data`.
    """
    links: dict[str, str] = tomllib.loads(LINKS.read_text(encoding="utf-8"))[split]
    pairs = read_split(data, split)
    examples = []
    for number, (line, marks) in enumerate(links.items(), 1):
        text, target = pairs[int(line)]
        found = read_links(f"The links of line {line}", marks)
        examples.append(_make_example(str(number), text, target, found))
    return Dataset("source", tuple(examples), {})


def read_gold(data: Path, name: str) -> Dataset:
    """Read the pairs of a published dataset, for example "hansards_en_fr", with their gold links.

    Raises:
        FileNotFoundError: The dataset is not in `data`.
        InputError: A line has something other than links, or the file is not UTF-8 text.
    """
    examples = []
    for number, line in enumerate(_iterate_lines(data / FOLDER / f"{name}.tsv.gz"), 1):
        title, text, target, marks = line.split("\t")
        found = read_links(f"Line {number:,} of {name}", marks)
        examples.append(_make_example(title, text, target, found))
    return Dataset(f"{name}.tsv", tuple(examples), {})


def _make_example(name: str, text: str, target: str, links: tuple[Links, Links]) -> Example:
    references = (target,) if target.strip() else ()
    return Example(name, text, references, "", *links)


def read_system(data: Path, name: str) -> list[Links]:
    """Read the links of one system: for each sentence pair, a set of (English word, other word).

    Raises:
        FileNotFoundError: The links are not in `data`.
    """
    found = []
    for line in _iterate_lines(data / FOLDER / f"{name}.talp.gz"):
        pairs = [link.split("-") for link in line.split()]
        found.append(frozenset((int(one), int(other)) for one, other in pairs))
    return found


def _iterate_lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n")
