"""Links made by hand are read and scored. The corpus text is not stored with them."""

from __future__ import annotations

import gzip
import re
import tomllib
from pathlib import Path

import pytest

from areaviz.lab.multi30k import FOLDER, LINKS_FILE, read_gold, read_linked, read_system
from areaviz.trace.errors import InputError
from benchmarks import alignment

ENTRIES = tomllib.loads(LINKS_FILE.read_text(encoding="utf-8"))


def test_validation_has_20_captions_and_test_40() -> None:
    assert {split: len(lines) for split, lines in ENTRIES.items()} == {
        "val": 20,
        "test_2016_flickr": 40,
    }
    assert [int(line) for line in ENTRIES["val"]] == list(range(7, 1000, 50))
    assert [int(line) for line in ENTRIES["test_2016_flickr"]] == list(range(7, 1000, 25))


def test_links_contain_no_corpus_text() -> None:
    for lines in ENTRIES.values():
        assert all(re.fullmatch(r"\d+[-p]\d+( \d+[-p]\d+)*", links) for links in lines.values())


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Write a made-up corpus with as many lines as the links refer to, each of 30 words."""
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


def test_links_match_the_captions_of_their_lines(data: Path) -> None:
    linked = read_linked(data, "val")
    assert len(linked.examples) == 20
    second = linked.examples[1]
    assert second.text.startswith("en57.0 ") and second.references[0].startswith("de57.0 ")
    assert (4, 3) in second.sure and (3, 3) not in second.sure and (3, 3) in second.possible


PAIRS = '1\tthe "red" cat\tle chat rouge\t0-0 1-2 2-1\n2\ta dog .\tun chien .\t0-0 1p1 2-2\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "hansards_en_fr.tsv.gz").write_bytes(gzip.compress(PAIRS.encode()))
    for name in alignment.PUBLISHED:
        (tmp_path / FOLDER / f"{name}.talp.gz").write_bytes(
            gzip.compress(b"0-0 1-2 2-2\n0-0 1-1\n")
        )
    return tmp_path


def test_pairs_have_their_words_and_links(folder: Path) -> None:
    first, second = read_gold(folder, "hansards_en_fr").examples
    assert (first.name, first.text, first.references) == ("1", 'the "red" cat', ("le chat rouge",))
    assert first.sure == {(0, 0), (1, 2), (2, 1)} == first.possible
    assert second.sure == {(0, 0), (2, 2)} and second.possible == second.sure | {(1, 1)}


def test_system_error_rate_pools_all_links(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert read_system(folder, "hansards_giza") == [{(0, 0), (1, 2), (2, 2)}, {(0, 0), (1, 1)}]
    # The system has 5 links, and 5 links are sure. Of the system's links, 3 are sure and 4 are
    # possible.
    assert alignment.error_rates(folder)["hansards_giza"] == pytest.approx(100 * (1 - 7 / 10))
    assert alignment.main(folder) == 1 and "30.0 % (published 8.0 %)" in capsys.readouterr().out


def test_invalid_or_missing_links_are_reported(folder: Path) -> None:
    (folder / FOLDER / "bad.tsv.gz").write_bytes(gzip.compress(b"1\ta\tb\t0+0\n"))
    with pytest.raises(InputError, match="Write links as pairs"):
        read_gold(folder, "bad")
    with pytest.raises(FileNotFoundError):
        read_gold(folder, "other")
