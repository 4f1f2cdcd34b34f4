"""The metric in a file of scores, guessed from the file's name."""

from __future__ import annotations

import pytest

from areaviz.sets.dataset import read_set

SET = {"test.en": b"A.\nB.\n", "test.de": b"C.\nD.\n", "beta.de": b"C.\nE.\n"}


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("beta.comet", "comet"),
        ("beta.comet.txt", "comet"),
        ("beta.xcomet22", "xcomet22"),
        ("beta.txt", "Score"),
    ],
)
def test_score_file_is_named_after_its_metric(name: str, metric: str) -> None:
    brought = read_set({**SET, name: b"0.5\n0.25\n"})
    assert brought.scores == {"beta.de": {metric: (0.5, 0.25)}}
