"""A pointer network is trained on a few sets, resumes, is shipped, measured and run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from areaviz.backend.local import LocalBackend
from areaviz.cards.card import read_card
from areaviz.lab.measure import Options, evaluate_checkpoint
from areaviz.lab.tasks.points import Pointers, PointersConfig, compare_answers, turn_and_mirror
from areaviz.lab.train import train_recipe
from areaviz.models.points import arrange_for_reading
from areaviz.samples import reasoning
from areaviz.samples.reasoning import draw_point_sets, solve_exactly
from areaviz.trace import file
from areaviz.trace.changes import Hide
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request

ASKED = Request("tiny-hull", "100,100 900,120 880,900 110,850 500,480")


def recipe(kind: str = "hull", **options: object) -> PointersConfig:
    values: dict[str, object] = {
        "name": "tiny",
        "task": "points",
        "steps": 4,
        "peak_rate": 1e-3,
        "warmup": 1,
        "validate_every": 2,
        "batch": 4,
        "sizes": (5, 10),
        "sets": 20,
        "model": {"kind": kind, "width": 8},
        **options,
    }
    return PointersConfig(**values)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a hull and a tour model for four steps."""
    runs, models = tmp_path_factory.mktemp("runs"), tmp_path_factory.mktemp("models")
    for kind in ("hull", "tour"):
        made = train_recipe(recipe(kind, name=f"tiny-{kind}"), runs, runs, "cpu")
        made.rename(models / f"tiny-{kind}")
    return models


@pytest.fixture(scope="module")
def backend(models: Path) -> LocalBackend:
    return LocalBackend(models, "cpu")


@pytest.mark.parametrize("kind", ["hull", "tour"])
def test_rotated_and_mirrored_sets_keep_exact_answers(kind: str) -> None:
    rng = np.random.default_rng(0)
    sets = draw_point_sets(kind, 6, 7, rng)
    for _ in range(8):
        sets = turn_and_mirror(sets, rng)
        np.testing.assert_array_equal(sets.answers, solve_exactly(kind, sets.points))


def test_normalised_sets_have_closed_ordered_answers() -> None:
    sets = draw_point_sets("hull", 5, 8, np.random.default_rng(0))
    read, answers = arrange_for_reading(sets)
    for row, answer in enumerate(answers):
        places = [one for one in answer if one >= 0]
        assert places[0] == places[-1] == 0 and places[:-1] == sorted(places[:-1])
        wanted = sets.points[row, [one for one in sets.answers[row] if one >= 0]]
        centred = wanted - sets.points[row].mean(0)
        scale = np.linalg.norm(sets.points[row] - sets.points[row].mean(0), axis=1).max()
        np.testing.assert_allclose(read[row, places[:-1]], centred / scale)


def test_hull_in_the_other_direction_has_the_same_area() -> None:
    sets = draw_point_sets("hull", 6, 4, np.random.default_rng(0))
    wanted = [[int(one) for one in answer if one >= 0] for answer in sets.answers]
    assert compare_answers("hull", sets, wanted) == {"right": 1, "area": 1}
    backwards = compare_answers("hull", sets, [answer[::-1] for answer in wanted])
    assert backwards == {"right": 0, "area": pytest.approx(1)}


def test_steps_after_the_end_are_never_wrong(tmp_path: Path) -> None:
    """Check that a network with the right answers is right in all sequences, whatever follows."""
    task = Pointers.build(recipe(), tmp_path, tmp_path, torch.device("cpu"))

    def right(points_BN2: torch.Tensor, answers_BT: torch.Tensor) -> torch.Tensor:
        return F.one_hot(answers_BT.clamp_min(0), points_BN2.shape[1] + 1).float()

    task.network = right  # type: ignore[assignment]
    assert task.validate(0)["valid_sequences"] == 1


def test_resumed_run_draws_like_an_unbroken_one(tmp_path: Path) -> None:
    task = Pointers.build(recipe(), tmp_path, tmp_path, torch.device("cpu"))
    whole, resumed = task.batches(0), task.batches(3)
    later = [next(whole) for _ in range(5)][3:]
    for one in later:
        other = next(resumed)
        assert torch.equal(one.points_BN2, other.points_BN2)
        assert torch.equal(one.answers_BT, other.answers_BT)


def test_pointer_network_is_measured_with_its_baselines(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reasoning, "TEST_SETS", 12)
    monkeypatch.setattr(reasoning, "VALID_SETS", 12)
    for kind, measure in (("hull", "area"), ("tour", "ratio")):
        folder = models / f"tiny-{kind}"
        card, _ = evaluate_checkpoint(folder, Path(), "test", Options(beam=2), "cpu")
        assert read_card(folder / "card.json") == card
        assert 0 <= card.figures["test"]["right"] <= 1 and card.figures["test"]["sets"] == 12
        assert np.isfinite(card.figures["test"][measure])
        found = card.attention["pointer, test"]
        assert {"hit", "hit_uniform", "hit_position", "hit_untrained"} <= set(found)
        assert all(0 <= value <= 1 for value in found.values())


def test_trace_is_complete_and_survives_a_file(backend: LocalBackend, tmp_path: Path) -> None:
    trace = backend.trace(ASKED)
    validate(trace)
    file.save(trace, tmp_path / "trace.npz")
    again = file.load(tmp_path / "trace.npz")
    assert again.request == trace.request
    assert again.fields["points"].anchors.tolist() == trace.fields["points"].anchors.tolist()
    labels = trace.fields["target"].labels
    assert labels[0] == labels[-1] and trace.details["exact"] == "1 2 3 4"
    assert trace.details["answer"] == " ".join(labels[:-1])
    weights = trace.maps["pointer"].weights[0, 0]
    for row, label in zip(weights, labels, strict=True):
        assert row[int(label) - 1] == pytest.approx(row.max())


def test_point_numbers_do_not_matter(backend: LocalBackend) -> None:
    one = backend.trace(ASKED)
    parts = ASKED.text.split()
    other = backend.trace(Request("tiny-hull", " ".join(parts[::-1])))
    turned_round = [str(6 - int(label)) for label in one.fields["target"].labels]
    assert list(other.fields["target"].labels) == turned_round
    np.testing.assert_allclose(
        other.maps["pointer"].weights[..., ::-1], one.maps["pointer"].weights, atol=1e-5
    )


@pytest.mark.parametrize("name", ["tiny-hull", "tiny-tour"])
def test_given_output_and_hidden_point_are_applied(backend: LocalBackend, name: str) -> None:
    given = backend.trace(Request(name, ASKED.text, target="3 1 2 4 5 3"))
    assert given.fields["target"].raw == "3 1 2 4 5 3"
    hidden = backend.trace(Request(name, ASKED.text, changes=(Hide("points", (0,)),)))
    weights = hidden.maps["pointer"].weights[0, 0, :, 0]
    if name == "tiny-hull":
        assert not weights.any() and "1" not in hidden.fields["target"].labels
    else:
        # A tour visits every point, so the hidden point comes last, when no other point is left.
        assert hidden.fields["target"].labels[-2] == "1"


REFUSED = {
    "1,1 2,2": "are 2 points, but at least 3",
    "1,1": "is 1 point, but",
    " ".join(f"{n},{n * n % 997}" for n in range(200)): "There are 200 points, but the limit is 12",
    "5,5 9,100 700,2 5,5": "Points 1 and 4 are at the same place",
    "1,1 2,2 3,3": "are on one line",
    "1,1 2,1001 3,4": '"2,1001" is not a point',
    "one 2,3 4,5": '"one" is not a point',
}


@pytest.mark.parametrize("text", REFUSED, ids=REFUSED.values())
def test_unreadable_input_gives_one_sentence(backend: LocalBackend, text: str) -> None:
    with pytest.raises(InputError, match=REFUSED[text].replace("(", r"\(")):
        backend.trace(Request("tiny-hull", text))


@pytest.mark.parametrize("target", ["1 2 1", "1 2 3 4", "1 2 2 3 1", "1 2 9 1", "a", "0 1 2 0"])
def test_invalid_given_output_is_refused(backend: LocalBackend, target: str) -> None:
    with pytest.raises(InputError, match="is not a convex hull of these points"):
        backend.trace(Request("tiny-hull", ASKED.text, target=target))
