"""Captions of Multi30k whose words were linked by hand for this project; the corpus itself lies in
the data folder.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from areaviz.data.examples import Dataset, read_lines
from areaviz.data.multi30k import read_split

LINKS = Path(__file__).with_name("multi30k_links.toml")


def read_linked(data: Path, split: str) -> Dataset:
    """The captions of "val" or "test_2016_flickr" that have links, English first, with sure and
    possible ones.

    Raises:
        FileNotFoundError: the corpus is not in `data`.
    """
    links: dict[str, str] = tomllib.loads(LINKS.read_text(encoding="utf-8"))[split]
    pairs = read_split(data, split)
    chosen = [pairs[int(line)] for line in links]
    files = {
        "source": "\n".join(source for source, _ in chosen),
        "target": "\n".join(target for _, target in chosen),
        "links": "\n".join(links.values()),
    }
    encoded = {name: text.encode() for name, text in files.items()}
    return read_lines("source", encoded, ("target",), "links")
