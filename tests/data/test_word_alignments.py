"""Hand-linked pairs and the links of systems are read as they stand, and scored as by hand."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from areaviz.data.word_alignments import FOLDER, read_gold, read_system
from areaviz.trace.errors import InputError
from benchmarks import alignment

PAIRS = '1\tthe "red" cat\tle chat rouge\t0-0 1-2 2-1\n2\ta dog .\tun chien .\t0-0 1p1 2-2\n'


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "hansards_en_fr.tsv.gz").write_bytes(gzip.compress(PAIRS.encode()))
    for name in alignment.PUBLISHED:
        (tmp_path / FOLDER / f"{name}.talp.gz").write_bytes(
            gzip.compress(b"0-0 1-2 2-2\n0-0 1-1\n")
        )
    return tmp_path


def test_pairs_have_their_words_and_links(data: Path) -> None:
    first, second = read_gold(data, "hansards_en_fr").examples
    assert (first.name, first.text, first.references) == ("1", 'the "red" cat', ("le chat rouge",))
    assert first.sure == {(0, 0), (1, 2), (2, 1)} == first.possible
    assert second.sure == {(0, 0), (2, 2)} and second.possible == second.sure | {(1, 1)}


def test_the_error_rate_of_a_system_is_that_of_all_its_links(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert read_system(data, "hansards_giza") == [{(0, 0), (1, 2), (2, 2)}, {(0, 0), (1, 1)}]
    # Made 5, sure 5, made and sure 3, made and possible 4.
    assert alignment.error_rates(data)["hansards_giza"] == pytest.approx(100 * (1 - 7 / 10))
    assert alignment.main(data) == 1 and "30.0 % (published 8.0 %)" in capsys.readouterr().out


def test_what_is_no_link_and_what_is_not_there_is_told(data: Path) -> None:
    (data / FOLDER / "bad.tsv.gz").write_bytes(gzip.compress(b"1\ta\tb\t0+0\n"))
    with pytest.raises(InputError, match="links are pairs"):
        read_gold(data, "bad")
    with pytest.raises(FileNotFoundError):
        read_gold(data, "other")
