"""The app's own data sets: right answers for every example, and every kind of model has one."""

from __future__ import annotations

import pytest

from areaviz.data.example_samples import SAMPLE_SETS, SCENES


@pytest.mark.parametrize("name", SAMPLE_SETS)
def test_every_example_has_a_right_answer_and_a_name_of_its_own(name: str) -> None:
    found = SAMPLE_SETS[name]()
    assert all(example.references for example in found.examples)
    assert len({example.name for example in found.examples}) == len(found.examples)
    assert SAMPLE_SETS[name]().digest == found.digest


def test_scenes_have_their_pictures() -> None:
    found = SAMPLE_SETS["Scenes to describe"]()
    assert len(found.examples) == SCENES
    picture = found.picture(found.examples[3])
    assert picture is not None and (picture.width, picture.height) == (128, 128)
