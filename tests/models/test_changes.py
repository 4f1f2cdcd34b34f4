"""Translators under interventions.

Decoding is compared with a whole pass. Traces and error messages are checked.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from areaviz.attention.interventions import NetworkInterventions
from areaviz.cards.card import read_card
from areaviz.cards.tasks import TASKS, WRITES
from areaviz.models.base import check_abilities
from areaviz.models.generation import GenerationModel
from areaviz.models.network import compute_token_log_probabilities
from areaviz.models.translation import TRANSFORMER_SITES
from areaviz.trace.areas import Area
from areaviz.trace.changes import Change, Gate, Hide, Weigh
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from tests.tiny import FORMS, checkpoint, network
from tests.trace.sentence import assert_one_sentence

CPU = torch.device("cpu")
ASKED = Request("tiny-area", "A small dog")
SOURCE = torch.tensor([[5, 9, 4, 11, 7, 6, 3]])
TARGET = torch.tensor([[2, 8, 5, 5, 10, 4, 12, 9]])
CHANGES: list[tuple[Change, ...]] = [
    (Weigh("encoder-decoder", (2, 3)),),
    (Weigh("encoder-decoder", areas=(Area(0, 1, 1, 3),), factor=4.0, head=1),),
    (Weigh("encoder self", (0,), layer=1), Weigh("decoder self", (1,), factor=0.3)),
    (Gate("encoder-decoder", 0, 1), Gate("decoder self", 1), Gate("encoder self", factor=2.0)),
    (Hide("source", (0, 1, 2, 3, 4, 5, 6)),),
    (Weigh("decoder self", (0, 1), head=0), Hide("source", (4,))),
]


@pytest.fixture(params=["character", "token"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> GenerationModel:
    folder = checkpoint(tmp_path, level=request.param)
    return GenerationModel.load(folder, read_card(folder / "card.json"), CPU)


@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_steps_equal_the_whole_pass_under_a_change(
    changes: tuple[Change, ...], form: dict[str, Any]
) -> None:
    made = network(20, **form, area_layers=1)
    changed = NetworkInterventions.from_changes(changes, TRANSFORMER_SITES, 2)
    run = made.attend(SOURCE, TARGET, changed=changed)
    whole_TV = compute_token_log_probabilities(run.logits)[0]
    stepper = made.write(SOURCE, changed)
    for t, token in enumerate(TARGET[0]):
        torch.testing.assert_close(stepper.step(token[None])[0], whole_TV[t], atol=1e-5, rtol=1e-4)
    plain = compute_token_log_probabilities(made(SOURCE, TARGET))[0]
    assert not torch.allclose(plain, whole_TV, atol=1e-3)


def test_numbers_without_a_change_are_bit_identical() -> None:
    made = network(20)
    none = NetworkInterventions.from_changes((), TRANSFORMER_SITES, 2)
    one, two = made.attend(SOURCE, TARGET), made.attend(SOURCE, TARGET, changed=none)
    torch.testing.assert_close(one.logits, two.logits, rtol=0, atol=0)
    for site, layers in one.weights.items():
        for plain, same in zip(layers, two.weights[site], strict=True):
            torch.testing.assert_close(plain, same, rtol=0, atol=0)
    steppers = made.write(SOURCE), made.write(SOURCE, none)
    found = [stepper.step(TARGET[0, :1]) for stepper in steppers]
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=0)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_hidden_items_act_as_padding(form: dict[str, Any]) -> None:
    made = network(20, **form)
    hidden = made.attend(
        SOURCE,
        TARGET,
        changed=NetworkInterventions.from_changes((Hide("source", (5, 6)),), TRANSFORMER_SITES, 2),
    )
    padded = SOURCE.clone()
    padded[0, 5:] = 0
    torch.testing.assert_close(hidden.logits, made(padded, TARGET), atol=1e-5, rtol=1e-4)


def test_trace_shows_the_weights_of_changed_pass(model: GenerationModel) -> None:
    (before,) = model.trace([ASKED])
    ban = Weigh("encoder-decoder", (0,), layer=0, head=1)
    (after,) = model.trace([replace(ASKED, target=before.fields["target"].raw, changes=(ban,))])
    validate(after)
    grid = after.maps["encoder-decoder"].grid
    banned = np.array([grid.area(index).left == 0 for index in range(grid.count)])
    weights, same = after.maps["encoder-decoder"].weights, before.maps["encoder-decoder"].weights
    assert not weights[0, 1][:, banned].any()
    rest = same[0, 1][: len(weights[0, 1])][:, ~banned]
    np.testing.assert_allclose(
        weights[0, 1][:1, ~banned], rest[:1] / rest[:1].sum(), atol=1e-6, rtol=1e-4
    )
    np.testing.assert_allclose(weights[0, 0][0], same[0, 0][0], atol=1e-6)


def test_given_output_keeps_its_decoding_probabilities(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path)
    model = GenerationModel.load(folder, read_card(folder / "card.json"), CPU)
    (trace,) = model.trace([replace(ASKED, target="Ein Hund")])
    validate(trace)
    assert trace.fields["target"].raw == "Ein Hund"
    (found,) = model.trace([ASKED])
    (again,) = model.trace([replace(ASKED, target=found.fields["target"].raw)])
    shared = min(len(found.output.probabilities), len(again.output.probabilities))
    same = sum(
        a == b
        for a, b in zip(found.fields["target"].labels, again.fields["target"].labels, strict=False)
    )
    assert same >= shared - 1
    np.testing.assert_allclose(
        found.output.probabilities[:same], again.output.probabilities[:same], atol=1e-5
    )


def test_run_probability_equals_that_of_its_pass(model: GenerationModel) -> None:
    changed = replace(ASKED, changes=(Gate("encoder-decoder", 0), Hide("source", (1,))))
    (trace,) = model.trace([changed])
    (hypothesis,) = model.generate([changed], model.read_inputs([changed]))
    assert np.log(trace.output.probabilities).sum() == pytest.approx(
        hypothesis.log_probability, abs=1e-3
    )
    assert float(trace.details["log-probability"]) == pytest.approx(
        hypothesis.log_probability, abs=2e-3
    )


def test_batch_neighbours_do_not_affect_changed_runs(model: GenerationModel) -> None:
    asked = [
        replace(ASKED, text=text, changes=(Hide("source", (1,)),))
        for text in ("A dog", "Two old friends", "xyz")
    ]
    together = [trace.fields["target"].raw for trace in model.trace(asked)]
    assert together == [model.trace([one])[0].fields["target"].raw for one in asked]


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ((Gate("encoder self", layer=2),), "2 layers"),
        ((Hide("source", (400,)),), "item 401"),
        ((Hide("picture", (0,)),), "Choose items of: source"),
        ((Weigh("encoder-decoder", (0,), query=0),), "requires a given output"),
        ((Weigh("encoder-decoder", areas=(Area(0, 0, 1, 9),)),), "1x9"),
    ],
)
def test_missing_part_is_named(
    model: GenerationModel, changes: tuple[Change, ...], part: str
) -> None:
    with pytest.raises(InputError, match=part) as refusal:
        model.trace([replace(ASKED, changes=changes)])
    assert_one_sentence(refusal.value)


def test_unsupported_change_is_refused_in_one_sentence() -> None:
    check_abilities(replace(ASKED, changes=(Hide("source", (0,)),), target="x"), WRITES, "T")
    asked = [
        replace(ASKED, changes=(Gate("encoder self"), Hide("source", (0,)))),
        replace(ASKED, target="7"),
    ]
    for request, part in zip(
        asked, ("switch heads off and hide items", "does not accept a given output"), strict=True
    ):
        with pytest.raises(InputError, match=part) as refusal:
            check_abilities(request, TASKS["digits"].can, "“Digits”")
        assert_one_sentence(refusal.value)
    with pytest.raises(
        InputError, match="cannot hide items of its input. It can only reweight areas"
    ):
        check_abilities(asked[0], frozenset({"weigh", "gate"}), "“T”")
