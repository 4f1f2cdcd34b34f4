"""The work in progress of this process, for the app's operator.

Parts of the app that work for users in the background add to it through entry points, see
docs/extensions.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from areaviz.extensions import ExtensibleRegistry
from areaviz.shares.limits import list_limits
from areaviz.ui.app.budget import get_disk_budget, get_memory_budget
from areaviz.ui.app.engine import count_waiting_requests, list_load_by_user


@dataclass(frozen=True, slots=True)
class BackgroundWork:
    """What a part of the app does in the background."""

    # Returns the amount of this work and its users, as JSON values.
    describe: Callable[[], Mapping[str, object]]
    # The operator's commands by name, as in `areaviz/gateway/serving.py`.
    commands: Mapping[str, Callable[[Sequence[str]], object]] = field(default_factory=dict)


def work_problem(thing: object) -> str:
    """Return what is wrong with background work, in words that follow "it"."""
    return "" if isinstance(thing, BackgroundWork) else "is not a BackgroundWork"


WORK: Mapping[str, BackgroundWork] = ExtensibleRegistry("work", {}, work_problem)


def describe_work() -> dict[str, object]:
    """Return the amount of work in progress and its users, as JSON values.

    `count_waiting_requests` is None if no model was opened yet or the models run elsewhere.
    `question_load` contains the predicted seconds of computation for each user.
    """
    found: dict[str, object] = {
        "requests_waiting": count_waiting_requests(),
        "question_load": list_load_by_user(),
    }
    for work in WORK.values():
        found |= work.describe()
    return found | {
        "attention_megabytes": get_memory_budget().list_mebibytes_by_user(),
        "upload_megabytes_on_disk": get_disk_budget().list_mebibytes_by_user(),
        "limits": list_limits(),
    }


def list_work_commands() -> dict[str, Callable[[Sequence[str]], object]]:
    """Return the operator's commands for background work, by name."""
    return {name: run for work in WORK.values() for name, run in work.commands.items()}
