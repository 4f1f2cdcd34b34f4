"""The stored openings of pages fit the shipped models, and can be explored at once."""

from __future__ import annotations

from areaviz.backend.backend import find_path
from areaviz.cards.card import read_card
from areaviz.cards.tasks import TASKS
from areaviz.samples.paths import CHECKPOINTS, HOME, OPENINGS
from areaviz.trace import file
from areaviz.views.message import SITE, choose_first_focus


def test_stored_openings_use_shipped_models() -> None:
    """Check the stored openings; if a model has changed, run `areaviz openings`."""
    paths = list(OPENINGS.glob("*.npz"))
    models = set()
    for path in paths:
        request = file.load(path).request
        card = read_card(CHECKPOINTS / request.model / "card.json")
        assert find_path(OPENINGS, request, {card.name: card}) == path, "of an older model"
        models.add(request.model)
    opening = {task.opens for task in TASKS.values() if task.opens}
    assert opening <= models and len(paths) >= 8


def test_opening_model_is_shipped_and_of_its_task() -> None:
    for task in TASKS.values():
        if task.opens:
            assert read_card(CHECKPOINTS / task.opens / "card.json").task == task.key


def test_home_shows_translate_opening_with_highlighted_span() -> None:
    trace = file.load(HOME)
    assert trace.request.model == TASKS["translation"].opens
    focus = choose_first_focus(trace)
    assert focus.site == SITE and len(focus.items) == 1
    assert trace.fields["target"].labels[focus.items[0]].strip().isalpha()
