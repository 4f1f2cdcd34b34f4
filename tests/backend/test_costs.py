"""Costs of questions are predicted, refused above the limit, and learned from finished runs."""

from __future__ import annotations

import pytest

from areaviz.backend.costs import Cost, Costs, read_costs
from areaviz.cards.card import read_card
from areaviz.samples.paths import CHECKPOINTS, OPENINGS
from areaviz.trace import file
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from tests.pages.folder import card

TABLE = {"m": Cost(start=0.1, step=0.01, item=1e-5, written=1.0, fixed=5.0)}


def costs(table: dict[str, Cost] = TABLE) -> Costs:
    return Costs({"m": card("m", "area")}, table)


def shipped() -> Costs:
    cards = [read_card(path) for path in CHECKPOINTS.glob("*/card.json")]
    return Costs({one.name: one for one in cards})


def test_predict_follows_the_formula() -> None:
    """Check a model that reads characters and writes five more than it reads."""
    assert card("m", "area").level == "character"
    request, read = Request("m", "x" * 30), 30.0
    steps = read + 5
    expected = 0.1 + steps * (0.01 + 1e-5 * (read + steps / 2))
    assert costs().predict(request) == pytest.approx(expected)


@pytest.mark.parametrize(
    "larger",
    [
        Request("m", "x" * 300),
        Request("m", "x" * 30, method="beam", beam=16),
        Request("m", "x" * 30, attribution=True),
    ],
)
def test_predict_grows_with_length_beam_and_attribution(larger: Request) -> None:
    assert costs().predict(larger) > costs().predict(Request("m", "x" * 30))


def test_check_refuses_a_question_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    request = Request("m", "x" * 100, method="beam", beam=16)
    costs().check(request)
    monkeypatch.setenv("AREAVIZ_LIMIT_QUESTION_SECONDS", "0.5")
    with pytest.raises(InputError) as caught:
        costs().check(request)
    for part in ("would take about", "may take 0.5 seconds", "horten the text", "smaller beam"):
        assert part in str(caught.value)


def test_check_accepts_models_without_measured_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AREAVIZ_LIMIT_QUESTION_SECONDS", "0.001")
    costs({}).check(Request("m", "x" * 300))


def test_learn_corrects_the_speed_within_bounds() -> None:
    request, found = Request("m", "x" * 30), costs()
    first = found.predict(request)
    for _ in range(40):
        found.learn(request, 1.5 * first)
    assert found.predict(request) == pytest.approx(1.5 * first, rel=0.01)
    for _ in range(40):
        found.learn(request, 1000 * first)
    assert found.predict(request) == pytest.approx(2 * first, rel=0.01)


def test_every_shipped_model_has_a_measured_cost() -> None:
    names = {path.parent.name for path in CHECKPOINTS.glob("*/card.json")}
    assert set(read_costs()) == names


def test_opening_requests_of_pages_are_within_limit() -> None:
    found = shipped()
    for path in OPENINGS.glob("*.npz"):
        found.check(file.load(path).request)


def test_question_of_known_attack_is_refused() -> None:
    """Check a wide beam over 990 characters, which took 13 seconds in an attack."""
    text = "A small brown dog runs over the green grass. " * 22
    with pytest.raises(InputError, match="would take about [0-9.]+ seconds"):
        shipped().check(Request("token-boundary", text, method="beam", beam=16))
