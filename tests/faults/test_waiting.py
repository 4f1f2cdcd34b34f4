"""A reader's short questions are answered soon while other visitors ask expensive questions.

The cookies that the expensive questions come with make no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import pytest

from areaviz.backend.costs import Costs
from areaviz.cards.card import read_card
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from benchmarks.waiting import BEAM, COOKIES, EXPENSIVE, expensive_text, wait_beside
from tests.faults.served import Served, served
from tests.faults.spent import note_processor_seconds

SHARED = 5
"""Largest usual processor time of a short question beside long ones, as a multiple of it alone.

Three long questions take more than ten times as long as a short one.
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve the app on one processor."""
    log = tmp_path_factory.mktemp("app") / "log"
    with served(log, {"AREAVIZ_DEVICE": "cpu", "OMP_NUM_THREADS": "1"}) as found:
        yield found


def test_expensive_text_is_the_longest_that_is_allowed() -> None:
    costs = Costs({EXPENSIVE: read_card(CHECKPOINTS / EXPENSIVE / "card.json")})
    text = expensive_text(part=1.0)
    costs.check(Request(EXPENSIVE, text, method="beam", beam=BEAM))
    with pytest.raises(InputError, match="seconds of computation"):
        costs.check(Request(EXPENSIVE, text + text[:20], method="beam", beam=BEAM))


@pytest.fixture
def spent(app: Served, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a list that gets the app's processor seconds during each question of a reader."""
    return note_processor_seconds(app, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("cookies", COOKIES)
def test_user_is_answered_during_three_expensive_questions(
    app: Served, spent: list[float], cookies: str
) -> None:
    """Check that the reader does not wait for all three questions, as readers once did.

    A single short question may take longer: the app draws the page of a long answer meanwhile. The
    usual one may share its time with a step of a long question, but not with three whole ones.
    """
    before = app.processor_seconds()
    found = wait_beside(app, cookies)
    computed = app.processor_seconds() - before
    alone, beside = spent[0], spent[1:]
    about = f"{spent} of {found}; the app computed for {computed:.2f} s"
    assert len(found.waits) == 5
    assert computed > sum(spent) + 10 * alone, f"no long questions were computed: {about}"
    assert median(beside) < SHARED * alone, about
