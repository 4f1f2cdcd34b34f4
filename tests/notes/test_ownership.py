"""Imported records belong to their importer, can be removed as a whole, and are limited."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from areaviz.sets.notes.notes import Annotation, Annotations, Judgement, Judgements
from areaviz.sets.notes.records import SHORT_ID
from areaviz.sets.notes.store import Store
from areaviz.shares import (
    IMPORTS_KEPT,
    RECORDS_KEPT,
    RECORDS_ON_EXAMPLE,
    RECORDS_ON_SET,
    TAGS_ON_SET,
    Limit,
)
from areaviz.trace.errors import InputError

ANNA, BORIS = "a" * 64, "b" * 64
NOTE = Annotation("d" * 64, 3, "model", "Accuracy", "minor", "a cat", "Ada")


def imported(*places: int, prefix: str = "n", **changes: str) -> list[Annotation]:
    """Return imported notes as a file has them, one for each place."""
    return [
        replace(NOTE, id=f"{prefix}{number}", example=place, version=1, changed="2020", **changes)
        for number, place in enumerate(places)
    ]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'notes.db'}")


@pytest.fixture
def notes(store: Store) -> Annotations:
    return Annotations(store)


def test_import_can_be_undone_as_a_whole(notes: Annotations) -> None:
    written = notes.save(NOTE, ANNA)
    first = [*imported(0, 1, 2), *imported(0, prefix="other", dataset="e" * 64)]
    assert notes.merge(first, ANNA) == (4, 0)
    notes.merge(imported(5, prefix="later"), ANNA)
    notes.save(replace(first[0], note="changed since"), ANNA)
    later, earlier = notes.list_imports(NOTE.dataset, ANNA)
    assert (earlier.records, later.records) == (4, 1) and earlier.time.endswith(" UTC")
    assert [one.id for one in notes.list_imports("e" * 64, ANNA)] == [earlier.id]
    assert notes.undo_import(earlier.id, ANNA) == 4
    assert {note.id for note in notes.list_all(NOTE.dataset)} == {written.id, "later0"}
    assert notes.list_all("e" * 64) == []


def test_import_belongs_to_its_importer(notes: Annotations) -> None:
    (note,) = imported(3)
    notes.merge([note], ANNA)
    (made,) = notes.list_imports(NOTE.dataset, ANNA)
    for change in (notes.save, notes.remove):
        with pytest.raises(InputError, match="Another reader imported this note"):
            change(note, BORIS)
    assert notes.list_imports(NOTE.dataset, BORIS) == []
    assert notes.undo_import(made.id, BORIS) == 0 == notes.remove_own(NOTE.dataset, BORIS)
    assert notes.list_all(NOTE.dataset) == [note]
    assert notes.save(replace(note, note="mine"), ANNA).version == 2
    assert notes.remove_own(NOTE.dataset, ANNA) == 1


def test_record_without_owner_is_the_operators(notes: Annotations) -> None:
    (note,) = imported(3)
    notes.merge([note])
    for change in (notes.save, notes.remove):
        with pytest.raises(InputError, match="no owner, so only the operator can change it"):
            change(note, ANNA)
    copy = notes.save(replace(note, id="", version=0), ANNA)
    changed = notes.save(replace(note, note="by the operator"))
    assert notes.list_all(NOTE.dataset) == [copy, changed]
    assert notes.remove_without_owner() == 1 and notes.list_all(NOTE.dataset) == [copy]


def test_written_notes_stay_shared(notes: Annotations) -> None:
    written = notes.save(NOTE, ANNA)
    changed = notes.save(replace(written, note="by another reader"), BORIS)
    (shown,) = notes.list_on_example(NOTE.dataset, 3, BORIS, 20)
    assert shown.is_changeable and shown.record == changed
    notes.remove(changed, BORIS)


def test_operator_undoes_an_import_by_its_short_id(notes: Annotations) -> None:
    notes.merge(imported(1, 2), ANNA)
    (made,) = notes.list_imports(NOTE.dataset, ANNA)
    assert notes.undo_import("") == notes.undo_import(made.id[: SHORT_ID - 1]) == 0
    assert notes.undo_import(made.id[:SHORT_ID]) == 2


def test_list_on_example_begins_with_own_notes(notes: Annotations) -> None:
    notes.merge(imported(*[3] * 30), ANNA)
    written, own = notes.save(NOTE, ANNA), notes.save(NOTE, BORIS)
    found = notes.list_on_example(NOTE.dataset, 3, BORIS, 20)
    assert len(found) == 20 and [one.record for one in found[:2]] == [own, written]
    assert [one.is_changeable for one in found[:3]] == [True, True, False]
    assert not found[1].import_id and found[2].import_id
    assert notes.count(NOTE.dataset, 3) == 32 and notes.count(NOTE.dataset, 4) == 0


@pytest.mark.parametrize(
    ("limit", "places", "said"),
    [
        (RECORDS_ON_EXAMPLE, (4, 7, 7, 7), "3 notes on example 8.* 2 notes .* on one example"),
        (RECORDS_ON_SET, (1, 2, 3), "3 notes on a set.* on one set"),
        (RECORDS_KEPT, (1, 2, 3), "3 notes in all.*in all"),
    ],
)
def test_import_above_the_quota_adds_nothing(
    notes: Annotations,
    monkeypatch: pytest.MonkeyPatch,
    limit: Limit,
    places: tuple[int, ...],
    said: str,
) -> None:
    monkeypatch.setenv(limit.setting, "2")
    with pytest.raises(InputError, match=f"{said}. Remove some of yours"):
        notes.merge(imported(*places), ANNA)
    assert notes.list_all(NOTE.dataset) == []
    assert notes.merge(imported(*places[-2:]), ANNA) == (2, 0)
    with pytest.raises(InputError, match="nothing was saved"):
        notes.save(replace(NOTE, example=places[-1]), ANNA)
    assert notes.merge(imported(*places, prefix="other")[-2:], BORIS) == (2, 0)
    assert notes.merge(imported(*places, prefix="operator")).new == len(places)


def test_tags_of_a_reader_are_bounded(notes: Annotations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TAGS_ON_SET.setting, "2")
    for tag in ("x", "y", "x"):
        notes.save(replace(NOTE, tag=tag), ANNA)
    with pytest.raises(InputError, match="3 different tags on a set.*may use 2 different tags"):
        notes.save(replace(NOTE, tag="z"), ANNA)
    notes.save(replace(NOTE, tag="z"), BORIS)
    assert notes.list_tags(NOTE.dataset, BORIS, 2) == ["z", "x"]
    notes.save(replace(NOTE, tag="z", example=1), BORIS)
    assert notes.list_tagged(NOTE.dataset, ["z", "none"]) == {"z": (1, 3), "none": ()}


def test_imports_of_a_reader_are_bounded(
    notes: Annotations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(IMPORTS_KEPT.setting, "1")
    notes.merge(imported(1), ANNA)
    with pytest.raises(InputError, match="2 imports of notes in all.*Undo an earlier import"):
        notes.merge(imported(1, prefix="m"), ANNA)
    notes.undo_import(notes.list_imports(NOTE.dataset, ANNA)[0].id, ANNA)
    notes.merge(imported(1, prefix="m"), ANNA)


def test_imported_judgements_follow_the_same_rules(store: Store) -> None:
    judgements = Judgements(store)
    one = Judgement("d" * 64, 0, "m", "Ada", "a dog", "ein Hund", version=1)
    judgements.merge([one], ANNA)
    (there,) = judgements.list_all("d" * 64)
    with pytest.raises(InputError, match="Another reader imported this judgement"):
        judgements.save(there, BORIS)
    before = judgements.revision("d" * 64)
    assert judgements.undo_import(judgements.list_imports("d" * 64, ANNA)[0].id, ANNA) == 1
    judgements.merge([one], ANNA)
    assert judgements.revision("d" * 64) != before
