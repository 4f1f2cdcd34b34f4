"""Slices: kept under a name, replaced, removed, and refused where they make no sense."""

from __future__ import annotations

from pathlib import Path

import pytest

from areaviz.notes import slices
from areaviz.notes.annotations import Annotation, Annotations
from areaviz.notes.slices import Slices
from areaviz.notes.store import Store
from areaviz.notes.store_schema import LONGEST_SLICE
from areaviz.trace.errors import BackendError, InputError


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'notes.db'}")


def test_a_slice_is_kept_under_its_name_until_it_is_replaced_or_removed(
    store: Store, tmp_path: Path
) -> None:
    mine = Slices(store)
    mine.save("set", " long ones ", [7, 3, 3])
    mine.save("set", "a", [1])
    mine.save("other", "long ones", [9])
    again = Slices(Store.open(f"sqlite:///{tmp_path / 'notes.db'}"))
    assert [(one.name, one.examples) for one in again.of("set")] == [
        ("a", (1,)),
        ("long ones", (3, 7)),
    ]
    again.save("set", "long ones", [5])
    assert [one.examples for one in mine.of("set")] == [(1,), (5,)] and mine.of("other")[
        0
    ].examples == (9,)
    mine.remove("set", "long ones")
    assert [one.name for one in again.of("set")] == ["a"] and len(mine.of("other")) == 1


@pytest.mark.parametrize(
    ("name", "examples", "said"),
    [
        ("  ", [1], "has 0 characters but 1 to"),
        ("x" * (LONGEST_SLICE + 1), [1], "has 61 characters"),
        ("a", [], "at least one"),
        ("a\ud800", [1], "The name has a broken character"),
        ("a\0", [1], "The name has a broken character"),
    ],
)
def test_what_is_no_slice_is_refused(
    store: Store, name: str, examples: list[int], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        Slices(store).save("set", name, examples)
    assert not Slices(store).of("set")


def test_a_set_has_no_more_slices_than_are_possible(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "MAX_SLICES", 2)
    mine = Slices(store)
    for name in "ab":
        mine.save("set", name, [1])
    with pytest.raises(InputError, match="2 slices"):
        mine.save("set", "c", [1])
    mine.save("set", "b", [2])


def test_notes_and_slices_share_a_store(store: Store) -> None:
    notes, mine = Annotations(store), Slices(store)
    notes.save(Annotation("set", 3, "", "Accuracy"))
    mine.save("set", "a", [3])
    assert notes.counts("set", mine.of("set")[0].examples) == {"Accuracy": 1}


@pytest.mark.parametrize("url", ["", "nonsense", "nosuch://x", "mysql://x/y"])
def test_an_address_that_cannot_be_is_one_sentence(url: str) -> None:
    with pytest.raises(BackendError, match="address of the store of notes"):
        Store.open(url)
