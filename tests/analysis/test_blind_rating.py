"""Blind rating: every rater has their own order of systems, and the key restores the names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from areaviz.sets.app.error_marking import build_key_table, name_alias, shuffle_systems

NAMES = some.lists(some.text(max_size=4), min_size=1, max_size=6, unique=True)


@given(some.text(max_size=4), some.text(max_size=4), NAMES)
def test_shuffle_systems_gives_each_place_once(dataset: str, rater: str, names: list[str]) -> None:
    order = shuffle_systems(dataset, rater, names)
    assert sorted(order) == list(range(len(names)))
    backwards = names[::-1]
    again = shuffle_systems(dataset, rater, backwards)
    assert [backwards[place] for place in again] == [names[place] for place in order]


def test_shuffle_systems_differs_between_raters() -> None:
    """Check that each of two systems comes first for about half of the raters and of the sets."""
    for firsts in (
        [shuffle_systems("set", f"rater {number}", ["a", "b"])[0] for number in range(400)],
        [shuffle_systems(f"set {number}", "Ada", ["a", "b"])[0] for number in range(400)],
    ):
        assert 150 < sum(firsts) < 250


def test_key_table_names_systems_again() -> None:
    names = ["a", "b", "c"]
    (row,) = build_key_table("set", ["Ada"], names)
    order = shuffle_systems("set", "Ada", names)
    assert row == ("Ada", *(names[place] for place in order))
    assert name_alias(0) == "System 1"
