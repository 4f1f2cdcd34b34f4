"""Which file is what, told by its name, whatever the order in which files are given."""

from __future__ import annotations

from itertools import permutations

import pytest

from areaviz.data.example_files import read_lines, read_table
from areaviz.data.example_samples import SAMPLE_SETS
from areaviz.data.file_kinds import check_kinds, likely_links, likely_source, separator_of
from areaviz.trace.errors import InputError


@pytest.mark.parametrize(
    ("names", "source"),
    [
        (("my.de.txt", "my.en.txt"), "my.en.txt"),
        (("my.de", "my.en"), "my.en"),
        (("ref.txt", "src.txt", "links.txt"), "src.txt"),
        (("valid_source.txt", "valid_target.txt"), "valid_source.txt"),
        (("Test 2 EN.TXT", "Test 2 DE.TXT"), "Test 2 EN.TXT"),
    ],
)
def test_the_sentences_to_run_are_found_in_any_order(names: tuple[str, ...], source: str) -> None:
    assert {likely_source(order) for order in permutations(names)} == {source}


def test_where_no_name_says_so_the_first_is_run() -> None:
    assert likely_source(["enough.txt", "men.txt"]) == "enough.txt"


def test_gold_links_are_known_by_their_name() -> None:
    assert likely_links(["a.en", "a.de", "a.align"]) == "a.align"
    assert likely_links(["a.en", "a.de"]) is None


@pytest.mark.parametrize("name", ["run.npz", "rows.json", "Table.XLSX", "set.zip"])
def test_what_holds_no_examples_is_refused_in_one_sentence(name: str) -> None:
    with pytest.raises(InputError, match="of which no examples are read here; choose texts with"):
        check_kinds(["a.en", name])
    check_kinds(["a.en", "b.csv", "c.png", "d.txt", "README"])


@pytest.mark.parametrize(
    ("header", "usual", "found"),
    [
        ("text;reference", ",", ";"),
        ("text,reference", ",", ","),
        ('"text";"reference"', ",", ";"),
        ("text\treference", ",", "\t"),
        ("text", ",", ","),
        ("text", "\t", "\t"),
        ("a;b", ",", ","),
    ],
)
def test_cells_are_separated_as_the_header_says(header: str, usual: str, found: str) -> None:
    assert separator_of(header, {"text", "reference"}, usual) == found


def test_a_comma_in_a_cell_of_a_spreadsheet_s_file_stays() -> None:
    content = b"text;reference\r\nA dog, a cat.;Ein Hund; \r\n"
    (example,) = read_table("x.csv", {"x.csv": content}).examples
    assert example.text == "A dog, a cat."


def test_a_set_says_what_its_pictures_show() -> None:
    assert {name: make().kind for name, make in SAMPLE_SETS.items()} == {
        "Sentences": "",
        "Scenes to describe": "scenes",
        "Scenes with a sentence": "scenes",
        "Digits among clutter": "cluttered",
        "Spoken digits": "",
        "Moving digits": "",
        "Sentences with trees": "",
        "Stories": "",
        "Points": "",
        "Sentences to read": "",
    }
    assert read_lines("a.en", {"a.en": b"A dog."}).kind == ""
