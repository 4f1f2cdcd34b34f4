"""The chosen mutations still fit the package: each text is there once, and its tests exist."""

from __future__ import annotations

from benchmarks.chosen_mutations import chosen_mutations


def test_every_chosen_mutation_changes_a_line_of_its_module() -> None:
    found = [one.mutation for one in chosen_mutations()]
    assert found and all(one.before != one.after for one in found)
