"""Model cards keep their values when saved and loaded; errors in a card are explained."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from areaviz.cards.card import RENAMED, Card, Opening, read_card, write_card
from areaviz.trace.errors import BackendError

CARD = Card(
    name="char-tiny-area",
    family="transformer",
    title="Character model with areas",
    task="translation",
    level="character",
    mechanism="area",
    size="Tiny",
    pair="char-tiny",
    parameters=1_234_567,
    trained_length=200,
    config={"layers": 2, "area_size": 5, "key": "mean"},
    recipe={"steps": 1000, "schedule": [1, 2, 3]},
    data={"name": "made up", "sentences": 3},
    figures={"held out": {"BLEU": 22.5, "signature": "nrefs:1|case:mixed", "n": 10}},
    attention={"encoder self": {"lift": 1.6, "area_size": 2}},
    history=({"step": 100, "valid_loss": 3.25}, {"step": 200, "valid_loss": 2.5}),
    code_version="abc1234",
    trained_on="CPU",
    limits="Short captions only; a “quoted” ü.",
    licence="Apache-2.0",
    notes=("one", "two"),
    opening={
        "encoder-decoder": Opening("densest", layer=1, head=3),
        "encoder self": Opening("heaviest", layer=0, head=None),
    },
)

LATER = ("notes", "gates", "files", "heads", "opening", "lacks")
"""Entries that older cards lack."""


def test_card_survives_round_trip(tmp_path: Path) -> None:
    write_card(CARD, tmp_path / "card.json")
    read = read_card(tmp_path / "card.json")
    assert replace(read, recipe=CARD.recipe) == CARD
    assert read.recipe["schedule"] == [1, 2, 3]
    assert [path.name for path in tmp_path.iterdir()] == ["card.json"]


def written(tmp_path: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """Return the card's file after a change."""
    path = tmp_path / "card.json"
    write_card(CARD, path)
    entries = json.loads(path.read_text(encoding="utf-8"))
    change(entries)
    path.write_text(json.dumps(entries), encoding="utf-8")
    return path


def test_later_entries_are_optional_and_unknown_ones_ignored(tmp_path: Path) -> None:
    path = written(
        tmp_path, lambda entries: [*map(entries.pop, LATER), entries.update(colour="blue")]
    )
    read = read_card(path)
    assert not (read.notes or read.gates or read.files or read.heads or read.opening)


def test_renamed_entries_are_read_from_older_cards(tmp_path: Path) -> None:
    older = {"pointing head": [1, 3], "chosen by": "validation loss", "seed": 1}
    card = read_card(written(tmp_path, lambda entries: entries.update(recipe=older)))
    assert card.pointing_head == (1, 3)
    assert card.recipe == {"chosen_by": "validation loss", "seed": 1}
    # Head 3 of the opening was chosen by other figures, and stays.
    first = replace(CARD.opening["encoder-decoder"], pointing_head=(1, 3))
    assert card.opening["encoder-decoder"] == first
    before = {"pointing_head": [1, 3], "chosen_by": "validation loss", "seed": 1}
    assert card.identity == {**CARD.identity, "recipe": before}


def test_pointing_head_of_a_card_without_openings_gets_one(tmp_path: Path) -> None:
    older = {"recipe": {"pointing_head": [1, 3]}, "opening": {}, "task": "picture translation"}
    card = read_card(written(tmp_path, lambda entries: entries.update(older)))
    assert card.opening == {
        "encoder-decoder picture": Opening("heaviest", 1, None, pointing_head=(1, 3))
    }
    write_card(card, tmp_path / "new.json")
    assert read_card(tmp_path / "new.json") == card


SHIPPED = sorted((Path(__file__).parents[2] / "checkpoints").glob("*/card.json"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
def test_shipped_cards_are_equal_under_old_names(path: Path, tmp_path: Path) -> None:
    card = read_card(path)
    before = {new: old for old, new in RENAMED.items()}
    entries = json.loads(path.read_text(encoding="utf-8"))
    recipe = {before.get(name, name): value for name, value in entries["recipe"].items()}
    (tmp_path / "card.json").write_text(json.dumps({**entries, "recipe": recipe}))
    assert recipe.keys() & RENAMED.keys() and read_card(tmp_path / "card.json") == card


def test_all_heads_are_written_as_all(tmp_path: Path) -> None:
    write_card(CARD, tmp_path / "card.json")
    entries = json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))["opening"]
    assert entries["encoder self"] == {"reading": "heaviest", "layer": 0, "head": "all"}
    assert entries["encoder-decoder"]["head"] == 3


def test_later_measurements_keep_the_identity() -> None:
    for name in ("figures", "attention", "heads", "opening", "files"):
        empty: dict[str, Any] = {name: {}}
        assert replace(CARD, **empty).identity == CARD.identity
    assert replace(CARD, notes=("new",), gates=()).identity == CARD.identity
    for other in (replace(CARD, history=()), replace(CARD, recipe={}), replace(CARD, name="b")):
        assert other.identity != CARD.identity


def refused(path: Path) -> str:
    with pytest.raises(BackendError) as refusal:
        read_card(path)
    sentence = str(refusal.value)
    assert (
        str(path) in sentence
        and "Restore it" in sentence
        and sentence.endswith(".")
        and "\n" not in sentence
    )
    return sentence


@pytest.mark.parametrize("name", [field.name for field in fields(Card) if field.name not in LATER])
def test_every_missing_entry_is_named(tmp_path: Path, name: str) -> None:
    assert f"lacks {name}" in refused(written(tmp_path, lambda entries: entries.pop(name)))


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("name", 3, "name is not a text"),
        ("parameters", 1.5, "parameters is not a whole number"),
        ("parameters", True, "parameters is not a whole number"),
        ("config", [], "config is not an object"),
        ("figures", {"test": 3}, "figures: test is not an object"),
        (
            "attention",
            {"encoder self": {"lift": "high"}},
            "attention: encoder self: lift is not a number",
        ),
        ("history", {}, "history is not a list"),
        ("history", [{"step": None}], "an entry of history: step is not a number"),
        ("notes", ["a", 1], "an entry of notes is not a text"),
        ("limits", None, "limits is not a text"),
        (
            "opening",
            {"self": {"layer": 0, "head": 0}},
            "opening: self is not an object with reading",
        ),
        ("opening", {"self": {"reading": "best", "layer": 0, "head": 0}}, "reading is none of"),
        ("opening", {"self": {"reading": "densest", "layer": 0, "head": -1}}, "not a whole number"),
        (
            "opening",
            {"self": {"reading": "densest", "layer": True, "head": 0}},
            "not a whole number",
        ),
    ],
)
def test_every_wrong_type_is_named(tmp_path: Path, name: str, value: Any, reason: str) -> None:
    assert reason in refused(written(tmp_path, lambda entries: entries.update({name: value})))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff\xfe\x00", b"[" * 100_000])
def test_card_must_be_a_json_object(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "card.json"
    path.write_bytes(content)
    assert "damaged" in refused(path)


def test_missing_card_is_refused(tmp_path: Path) -> None:
    assert "cannot be read" in refused(tmp_path / "card.json")


@pytest.mark.parametrize("value", [float("nan"), {1, 2}])
def test_unserialisable_value_is_not_written(tmp_path: Path, value: Any) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_card(replace(CARD, recipe={"loss": value}), tmp_path / "card.json")
    assert list(tmp_path.iterdir()) == []


def test_digit_reader_accepts_its_kind_and_user_pictures() -> None:
    reader = replace(CARD, config={"kind": "pairs"})
    assert [reader.reads(kind) for kind in ("pairs", "cluttered", "photos", "")] == [
        True,
        False,
        True,
        True,
    ]
    assert CARD.reads("scenes")
