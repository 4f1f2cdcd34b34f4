"""A reader's short questions are answered soon while other visitors ask expensive questions.

The cookies that the expensive questions come with make no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from urllib.parse import urlencode

import pytest

from areaviz.backend.costs import Costs
from areaviz.cards.card import read_card
from areaviz.data.places import CHECKPOINTS
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from benchmarks.waiting import BEAM, COOKIES, EXPENSIVE, expensive_text, wait_beside
from tests.faults.client import Session, Shown, new_cookie
from tests.faults.served import Served, served


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


def visit_expensive(app: Served, name: str) -> None:
    """Ask an expensive question alone. The name makes it a question that was not asked before."""
    text = expensive_text()
    link = {"model": EXPENSIVE, "text": f"{name} {text}"[: len(text)], "method": "beam"}
    with Session.open(app.url, new_cookie(app.url)) as session:
        shown = session.visit("translate", urlencode(link | {"beam": str(BEAM)}))
        assert not shown.errors, shown.errors


@pytest.fixture
def spent(app: Served, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a list that gets the app's processor seconds during each question of a reader.

    Processor time is measured because it does not depend on the machine's other work.
    """
    found: list[float] = []
    write = Session.write

    def measured(session: Session, label: str, text: str) -> Shown:
        before = app.processor_seconds()
        shown = write(session, label, text)
        found.append(app.processor_seconds() - before)
        return shown

    monkeypatch.setattr(Session, "write", measured)
    return found


@pytest.mark.long
@pytest.mark.parametrize("cookies", COOKIES)
def test_user_is_answered_during_three_expensive_questions(
    app: Served, spent: list[float], cookies: str
) -> None:
    """Check that the reader does not wait for all three questions, as readers once did.

    The app may spend time on a step of a long question, or on drawing its page, during a short one.
    It spends much less than a whole long question takes.
    """
    before = app.processor_seconds()
    visit_expensive(app, cookies)
    expensive = app.processor_seconds() - before
    before = app.processor_seconds()
    found = wait_beside(app, cookies)
    assert app.processor_seconds() - before > expensive / 2, f"nothing was computed: {found}"
    assert len(found.waits) == 5
    beside = spent[1:]
    about = f"{spent} of {found}; an expensive question takes {expensive:.2f}"
    assert median(beside) < expensive / 4, about
    assert max(beside) < expensive / 2, about
