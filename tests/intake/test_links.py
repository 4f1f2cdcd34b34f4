"""Links that count from 0 or from 1, invalid links, and the file that an error names."""

from __future__ import annotations

import pytest

from areaviz.sets.dataset import BuiltDataset, read_set
from areaviz.trace.errors import InputError

TEXTS = {"a.en": b"A dog runs .\nA cat .\n", "a.de": b"Ein Hund rennt .\nEine Katze .\n"}


def linked(links: str, role: str = "links") -> BuiltDataset:
    return read_set({**TEXTS, "g.align": links.encode()}, {"g.align": role})


def test_links_with_zero_count_from_0() -> None:
    found = linked("0-0 3p3\n1-1\n")
    assert found.dataset.examples[0].possible == {(0, 0), (3, 3)} and not found.notes
    assert found.dataset.examples[0].sure == {(0, 0)}


def test_links_beyond_the_last_word_count_from_1() -> None:
    found = linked("1-1 2-2 4-4\n3p3\n")
    assert found.dataset.examples[0].sure == {(0, 0), (1, 1), (3, 3)}
    assert found.dataset.examples[1].possible == {(2, 2)}
    assert 'The links in "g.align" count words from 1' in found.notes[0]


def test_ambiguous_links_require_a_choice() -> None:
    with pytest.raises(InputError, match='Choose "links-from-0" or "links-from-1" as the role'):
        linked("1-1 2-2\n1-2\n")
    assert linked("1-1 2-2\n1-2\n", "links-from-0").dataset.examples[0].sure == {(1, 1), (2, 2)}
    assert linked("1-1 2-2\n1-2\n", "links-from-1").dataset.examples[0].sure == {(0, 0), (1, 1)}


@pytest.mark.parametrize(
    ("links", "role", "said"),
    [
        ("0-0\n0-3\n", "links", 'Line 2 of "g.align" links word 0 to word 3, but the source has 3'),
        ("1-1\n1-5\n", "links", 'Line 2 of "g.align" links word 1 to word 5, but the source has 3'),
        ("1-1\n3-3\n", "links-from-0", 'Line 2 of "g.align" links word 3 to word 3'),
        (
            "0-0\n\n",
            "links-from-1",
            'Line 1 of "g.align" has the link "0-0", but the links of this',
        ),
        ("0-0\n1-x\n", "links", 'Line 2 of "g.align" has the link "1-x"'),
        ("0-0\n", "links", '"g.align" has 1 lines or rows, but "a.en" has 2'),
    ],
)
def test_wrong_links_are_refused_with_their_file(links: str, role: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        linked(links, role)
    assert said in str(refused.value)


def test_links_in_a_table_are_checked_by_row() -> None:
    with pytest.raises(InputError, match='Line 3 of "x.csv" links word 0 to word 2'):
        read_set({"x.csv": b"source,reference,links\na b,c d,0-0\ne f,g,0-2\n"})
