"""The cause of a theme is found in the head that was made to cause it, and in no other head."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.samples.dataset import Dataset, Example
from areaviz.sets.themes.causes import (
    BAN,
    GATE,
    HIDE,
    NOT_REPAIRED,
    Runner,
    Signature,
    compute_repair_rate,
    find_cause,
    find_signature,
    plan_trials,
)
from areaviz.sets.themes.conditions import Material, Score
from areaviz.sets.themes.themes import Theme, Themes, find_themes
from areaviz.trace.changes import Gate, Hide, Weigh
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from tests import fakes
from tests.analysis.themes.made import lose_colours_of_women, made_material

RNG = np.random.default_rng(3)
# The layer and head that lose colours, and the trace's name of the attention to the input.
BAD, SITE = (1, 2), "encoder-decoder"


def heads(count: int, shift: float) -> list[np.ndarray]:
    """Return measures of examples for 2 layers of 3 heads, with one head's values shifted."""
    made = RNG.normal(size=(count, 4, 2, 3))
    made[:, 2, 1, 0] += shift
    return list(made)


def signature_of(shift: float) -> Signature | None:
    return find_signature(
        SITE, (heads(40, shift), heads(40, 0)), (heads(40, shift), heads(40, 0)), RNG
    )


def test_find_signature_names_the_shifted_head() -> None:
    found = signature_of(-2.5)
    assert found is not None
    assert (found.layer, found.head, found.measure) == (1, 0, "weight of the heaviest area")
    assert found.low < found.difference < found.high < 0
    assert "standard deviations lower in these examples" in found.sentence


def test_find_signature_admits_that_chance_may_have_chosen() -> None:
    certain = [found.is_certain for found in (signature_of(0) for _ in range(20)) if found]
    assert sum(certain) <= 4


def test_find_signature_needs_examples() -> None:
    few = heads(4, 0)
    assert find_signature(SITE, (few, heads(40, 0)), (heads(40, 0), heads(40, 0)), RNG) is None


def test_plan_trials_compares_each_change_with_a_random_one() -> None:
    trace = fakes.trace("the woman has a red hat", "die Frau hat einen roten Hut")
    signature = Signature(SITE, 0, 1, "entropy", 1.0, 0.5, 1.5, 20, 20)
    trials = {one.kind: one for one in plan_trials(trace, signature, ("woman",), RNG)}
    assert trials.keys() == {GATE, BAN, HIDE}
    assert trials[GATE].change == Gate(SITE, 0, 1)
    assert trials[GATE].control != trials[GATE].change
    ban, control = trials[BAN].change, trials[BAN].control
    assert isinstance(ban, Weigh) and isinstance(control, Weigh)
    attention = trace.maps[SITE]
    heaviest = int(attention.weights[0, 1].mean(0).argmax())
    assert ban.areas == (attention.grid.area(heaviest),) != control.areas
    hidden, other = trials[HIDE].change, trials[HIDE].control
    assert isinstance(hidden, Hide) and isinstance(other, Hide)
    field = trace.fields["source"]
    first, last = hidden.items[0], hidden.items[-1]
    assert field.raw[field.anchors[first, 0] : field.anchors[last, 1]].strip() == "woman"
    assert not set(hidden.items) & set(other.items)


def test_plan_trials_hides_nothing_without_words() -> None:
    trace = fakes.trace("the woman has a red hat", "die Frau hat einen roten Hut")
    signature = Signature(SITE, 0, 1, "entropy", 1.0, 0.5, 1.5, 20, 20)
    assert HIDE not in {one.kind for one in plan_trials(trace, signature, (), RNG)}


def test_repair_rate_states_the_difference() -> None:
    found = compute_repair_rate(GATE, [True] * 30 + [False] * 10, [False] * 40, RNG)
    assert (found.rate, found.control, found.examples) == (0.75, 0, 40)
    assert 0.55 < found.low < 0.75 < found.high < 0.95
    assert found.is_repaired
    assert not compute_repair_rate(HIDE, [True, False] * 20, [False, True] * 20, RNG).is_repaired


@pytest.fixture(scope="module")
def failing() -> tuple[Material, Themes, Theme]:
    """Return the made-up set with a theme about colours where the source contains "woman"."""
    material = made_material(400, damage=lose_colours_of_women)
    (themes,) = find_themes(material)
    theme = next(one for one in themes.found if one.symptom.startswith("colours"))
    return material, themes, theme


def runner(material: Material, is_repairable: bool) -> Runner:
    """Run a fake model that loses colours unless its bad head is gated, if gates are possible."""
    examples = []
    pairs = zip(material.sources, material.references, strict=True)
    for number, (source, given) in enumerate(pairs):
        examples.append(Example(str(number), source, given))
    plain = made_material(400)
    texts = dict(zip(material.sources, plain.written[0].outputs, strict=True))

    def run(request: Request) -> Trace:
        gates = [(one.layer, one.head) for one in request.changes if isinstance(one, Gate)]
        output = texts[request.text]
        if not (is_repairable and BAD in gates):
            output = lose_colours_of_women(request.text, output)
        made = fakes.trace(request.text, output or "x")
        if "woman" in request.text:
            attention = made.maps[SITE]
            weights = np.array(attention.weights)
            # The bad head attends to one area only.
            weights[BAD] = 0
            weights[BAD][:, 0] = 1
            made = replace(made, maps={**made.maps, SITE: replace(attention, weights=weights)})
        return replace(made, request=request)

    return Runner(Dataset("made", tuple(examples), {}), Request("m", ""), run, lambda *_: None)


def test_find_cause_finds_the_head_that_loses_colours(
    failing: tuple[Material, Themes, Theme],
) -> None:
    material, themes, theme = failing
    found = find_cause(theme, themes, material, runner(material, is_repairable=True))
    assert found.signature is not None
    assert (found.signature.layer, found.signature.head) == BAD and found.signature.is_certain
    repairs = {one.kind: one for one in found.repairs}
    assert repairs[GATE].is_repaired and repairs[GATE].rate > 0.6 > repairs[GATE].control
    assert not repairs[HIDE].is_repaired
    assert NOT_REPAIRED not in found.sentences


def test_find_cause_reports_that_no_change_helped(failing: tuple[Material, Themes, Theme]) -> None:
    material, themes, theme = failing
    found = find_cause(theme, themes, material, runner(material, is_repairable=False))
    assert found.sentences[-1] == NOT_REPAIRED


def test_find_cause_cannot_score_by_a_file(failing: tuple[Material, Themes, Theme]) -> None:
    material, themes, theme = failing
    written = replace(material.written[0], scores=(Score("COMET", np.ones(400)),))
    theme, material = replace(theme, symptom="COMET"), replace(material, written=(written,))
    found = find_cause(theme, themes, material, runner(material, is_repairable=True))
    assert found.repairs == () and "score is from a file" in found.note


def test_find_cause_refuses_words(failing: tuple[Material, Themes, Theme]) -> None:
    material, themes, theme = failing
    words = replace(theme, conditions=())
    with pytest.raises(InputError, match="of the form"):
        find_cause(words, themes, material, runner(material, is_repairable=True))
