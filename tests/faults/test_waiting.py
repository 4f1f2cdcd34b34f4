"""A reader is answered soon beside expensive questions, whatever cookies these come with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from areaviz.backend.costs import Costs
from areaviz.cards.card import read_card
from areaviz.data.places import CHECKPOINTS
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from benchmarks.waiting import BEAM, COOKIES, EXPENSIVE, expensive_text, wait_beside
from tests.faults.served import Served, served


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    log = tmp_path_factory.mktemp("app") / "log"
    with served(log, {"AREAVIZ_DEVICE": "cpu", "OMP_NUM_THREADS": "1"}) as found:
        yield found


def test_expensive_text_is_the_longest_that_is_allowed() -> None:
    costs = Costs({EXPENSIVE: read_card(CHECKPOINTS / EXPENSIVE / "card.json")})
    text = expensive_text(part=1.0)
    costs.check(Request(EXPENSIVE, text, method="beam", beam=BEAM))
    with pytest.raises(InputError, match="seconds of computation"):
        costs.check(Request(EXPENSIVE, text + text[:20], method="beam", beam=BEAM))


@pytest.mark.slow
@pytest.mark.parametrize("cookies", COOKIES)
def test_reader_is_answered_beside_three_expensive_questions(app: Served, cookies: str) -> None:
    """Before, the reader waited for all three. The bound allows for a busy machine."""
    found = wait_beside(app, cookies)
    assert len(found.waits) == 5
    assert sorted(found.waits)[2] < 5 + 5 * found.alone, str(found)
