"""Slices belong to the reader who saved them, and stale changes to them are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from areaviz.sets.notes.notes import Annotation, Annotations, Slice, Slices
from areaviz.sets.notes.store import LONGEST_SLICE, Store
from areaviz.shares import SLICES_ON_SET
from areaviz.trace.errors import BackendError, InputError

ANNA, BORIS = "a" * 64, "b" * 64
DOGS = Slice("set", "dogs", (3, 7))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'notes.db'}")


@pytest.fixture
def slices(store: Store) -> Slices:
    return Slices(store)


def test_slice_is_kept_until_changed_or_removed(slices: Slices, tmp_path: Path) -> None:
    saved = slices.save(Slice("set", " dogs ", (7, 3, 3)), ANNA)
    assert saved == replace(DOGS, version=1, owner=ANNA)
    other = slices.save(Slice("other", "dogs", (9,)), ANNA)
    again = Slices(Store.open(f"sqlite:///{tmp_path / 'notes.db'}"))
    assert again.list_all("set") == [saved]
    changed = again.save(replace(saved, examples=(5,)), ANNA)
    assert slices.list_all("set") == [replace(saved, examples=(5,), version=2)] == [changed]
    slices.remove(changed, ANNA)
    assert again.list_all("set") == [] and slices.list_all("other") == [other]


@pytest.mark.parametrize("version", [0, 1])
def test_another_readers_slice_is_never_replaced(slices: Slices, version: int) -> None:
    saved = slices.save(DOGS, ANNA)
    with pytest.raises(InputError, match=r'"dogs" that you cannot change. Another reader saved it'):
        slices.save(replace(DOGS, examples=(1,), version=version), BORIS)
    with pytest.raises(InputError, match="you cannot change"):
        slices.remove(saved, BORIS)
    assert slices.list_all("set") == [saved] and slices.remove_own("set", BORIS) == 0
    copy = slices.save(replace(saved, name="dogs too", version=0), BORIS)
    assert slices.list_all("set") == [saved, copy] and copy.owner == BORIS


def test_slice_without_owner_is_the_operators(slices: Slices) -> None:
    saved = slices.save(DOGS)
    for change in (slices.save, slices.remove):
        with pytest.raises(InputError, match="It has no owner. Choose another name"):
            change(saved, ANNA)
    assert slices.save(replace(saved, examples=(1,))).version == 2
    slices.save(replace(DOGS, name="hers"), ANNA)
    assert slices.remove_without_owner() == 1
    assert [one.name for one in slices.list_all("set")] == ["hers"]


def test_stale_change_of_a_slice_is_refused(slices: Slices) -> None:
    first = slices.save(DOGS, ANNA)
    second = slices.save(replace(first, examples=(4,)), ANNA)
    for stale in (first, DOGS):
        with pytest.raises(InputError, match="was saved in another window"):
            slices.save(stale, ANNA)
    with pytest.raises(InputError, match="was saved in another window"):
        slices.remove(first, ANNA)
    assert slices.list_all("set") == [second]
    slices.remove(second, ANNA)
    slices.remove(second, ANNA)
    with pytest.raises(InputError, match="was removed in another window"):
        slices.save(second, ANNA)


def test_share_of_slices_leaves_room_for_others(
    slices: Slices, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert SLICES_ON_SET.value() == 100
    monkeypatch.setenv(SLICES_ON_SET.setting, "2")
    kept = [slices.save(replace(DOGS, name=name), ANNA) for name in "ab"]
    with pytest.raises(InputError, match="A reader may keep 2 slices of one set. Remove one"):
        slices.save(replace(DOGS, name="c"), ANNA)
    slices.save(replace(kept[0], examples=(1,)), ANNA)
    slices.save(replace(DOGS, dataset="other"), ANNA)
    slices.save(replace(DOGS, name="z"), BORIS)
    assert [one.name for one in slices.list_for("set", BORIS, most=2)] == ["z", "a"]
    assert slices.count("set") == 3


@pytest.mark.parametrize(
    ("name", "examples", "said"),
    [
        ("  ", (1,), "needs a name"),
        ("x" * (LONGEST_SLICE + 1), (1,), "has 61 characters"),
        ("a", (), "at least one"),
        ("a\ud800", (1,), "name of the slice has a broken character"),
        ("a\0", (1,), "name of the slice has a broken character"),
    ],
)
def test_slice_with_a_fault_is_refused(
    slices: Slices, name: str, examples: tuple[int, ...], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        slices.save(Slice("set", name, examples), ANNA)
    assert not slices.list_all("set")


def test_notes_and_slices_share_a_store(store: Store, slices: Slices) -> None:
    Annotations(store).save(Annotation("set", 3, "", "Accuracy"))
    slices.save(DOGS)
    assert Annotations(store).count_tags("set", DOGS.examples) == {"Accuracy": 1}


@pytest.mark.parametrize("url", ["", "nonsense", "nosuch://x", "mysql://x/y"])
def test_open_refuses_a_wrong_address(url: str) -> None:
    with pytest.raises(BackendError, match="address of the notes database"):
        Store.open(url)
