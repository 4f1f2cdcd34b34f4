"""The registry of tasks: everything that it names in higher layers exists."""

from __future__ import annotations

from dataclasses import fields
from pkgutil import resolve_name

import pytest

from areaviz.cards.tasks import TASKS, Task
from areaviz.lab.loop import TrainConfig
from areaviz.lab.tasks import EVALUATIONS, TRAININGS
from areaviz.models.recording import INPUTS
from areaviz.samples.sample_sets import SAMPLE_SETS


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.key)
def test_everything_a_task_names_exists(task: Task) -> None:
    assert (task.key in EVALUATIONS) == bool(task.measures)
    assert not task.samples or task.samples in SAMPLE_SETS
    if task.samples:
        assert SAMPLE_SETS[task.samples]().texts == task.texts
    assert task.inputs <= set(INPUTS)


@pytest.mark.parametrize("path", TRAININGS.values())
def test_every_training_has_a_recipe(path: str) -> None:
    training = resolve_name(path)
    assert issubclass(training.Recipe, TrainConfig) and callable(training.build)


def test_every_task_is_trained_and_measured_tasks_exist() -> None:
    assert len(TRAININGS) == len(TASKS) and EVALUATIONS.keys() <= TASKS.keys()
    assert all(callable(resolve_name(path)) for path in EVALUATIONS.values())


def test_tasks_that_generate_differ_in_their_examples() -> None:
    """Check that no two tasks with samples have equal inputs and texts."""
    inputs = [(one.inputs, one.texts, one.given) for one in TASKS.values() if one.samples]
    assert len(inputs) == len(set(inputs))
    assert "key" in {one.name for one in fields(Task)}
