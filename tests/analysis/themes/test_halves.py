"""Examples that belong together are in one half."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.sets.themes.search import group_related_rows, split_halves
from areaviz.trace.errors import InputError
from tests.analysis.themes.made import made_material


def test_split_halves_uses_each_example_once() -> None:
    first, second = split_halves(made_material(101), seed=4)
    assert sorted([*first.tolist(), *second.tolist()]) == list(range(101))
    assert abs(len(first) - len(second)) == 1


def test_split_halves_keeps_documents_and_equal_sources_together() -> None:
    material = made_material(100)
    documents = tuple(f"d{place // 4}" if place < 80 else "" for place in range(100))
    # Line 99 repeats the source of line 0 except for case and spaces, so it joins document d0.
    sources = (*material.sources[:99], f" {material.sources[0].upper()}  ")
    material = replace(material, documents=documents, sources=sources)
    assert [0, 1, 2, 3, 99] in group_related_rows(material)
    for seed in range(5):
        half_of = np.zeros(100, int)
        half_of[split_halves(material, seed)[1]] = 1
        for group in group_related_rows(material):
            assert len(set(half_of[group])) == 1


def test_split_halves_depends_on_the_seed() -> None:
    material = made_material(100)
    assert not np.array_equal(split_halves(material, 1)[0], split_halves(material, 2)[0])


def test_split_halves_refuses_one_document() -> None:
    material = replace(made_material(100), documents=("d",) * 100)
    with pytest.raises(InputError, match="share one document"):
        split_halves(material, 1)
