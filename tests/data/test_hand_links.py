"""The links made by hand: as many captions as the cards say, every link readable, and no text of
the corpus.
"""

from __future__ import annotations

import gzip
import re
import tomllib
from pathlib import Path

import pytest

from areaviz.data.hand_links import LINKS, read_linked

ENTRIES = tomllib.loads(LINKS.read_text(encoding="utf-8"))


def test_twenty_captions_choose_and_forty_are_reported() -> None:
    assert {split: len(lines) for split, lines in ENTRIES.items()} == {
        "val": 20,
        "test_2016_flickr": 40,
    }
    assert [int(line) for line in ENTRIES["val"]] == list(range(7, 1000, 50))
    assert [int(line) for line in ENTRIES["test_2016_flickr"]] == list(range(7, 1000, 25))


def test_there_are_links_and_nothing_else() -> None:
    for lines in ENTRIES.values():
        assert all(re.fullmatch(r"\d+[-p]\d+( \d+[-p]\d+)*", links) for links in lines.values())


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A made-up corpus with as many lines as the links ask for, each of 30 words."""
    folder = tmp_path / "multi30k" / "text"
    folder.mkdir(parents=True)
    for split in ENTRIES:
        for language in ("en", "de"):
            lines = [
                " ".join(f"{language}{line}.{word}" for word in range(30)) for line in range(1000)
            ]
            with gzip.open(folder / f"{split}.{language}.gz", "wt", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
    return tmp_path


def test_links_stand_beside_the_captions_of_their_lines(data: Path) -> None:
    linked = read_linked(data, "val")
    assert len(linked.examples) == 20
    second = linked.examples[1]
    assert second.text.startswith("en57.0 ") and second.references[0].startswith("de57.0 ")
    assert (4, 3) in second.sure and (3, 3) not in second.sure and (3, 3) in second.possible
