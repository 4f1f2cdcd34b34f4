"""A short run of damaged files, and a check that it would notice an unnamed error."""

from __future__ import annotations

import random

import pytest

from tests.faults.files import Format, formats
from tests.faults.malformed import _survive, damaged, malformed
from tests.sampled import sampled

NAMES = tuple(formats())


@pytest.mark.parametrize("names", sampled([NAMES[::2], NAMES[1::2]], NAMES[::2]))
def test_damaged_files_are_read_or_refused_by_name(names: tuple[str, ...]) -> None:
    found = malformed(names, 60)
    assert [one.format for one in found] == list(names)
    for one in found:
        assert not one.crashed and not one.unnamed, f"{one}\n{one.crashed}\n{one.unnamed}"
        assert one.results + one.refused == 60 and one.refused > 0
        assert one.grown < 300, str(one)


def test_unnamed_error_and_memory_use_are_noticed() -> None:
    def read(data: bytes) -> int:
        spent = bytearray(b"x" * (50 << 20))
        return len(spent) // data.count(b"a")

    found = _survive("letters", Format(b"aaaa", read), 40, 0)
    assert (
        found.unnamed
        and "ZeroDivisionError" in found.unnamed[0]
        and found.results
        and found.grown >= 40
    )


@pytest.mark.parametrize("name", NAMES)
def test_equal_seeds_damage_files_equally(name: str) -> None:
    good = formats()[name].good
    one, other = ([damaged(good, random.Random(seed)) for seed in range(20)] for _ in range(2))
    same = [
        first == second for first, second in zip(one, other, strict=True)
    ]  # files are too long to print
    assert all(same) and sum([content != good for content in one]) > 15
