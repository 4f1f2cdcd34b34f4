"""Show, attend and tell: what each kind of attention reads, compared with an obvious loop."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from areaviz.attention.interventions import NetworkInterventions
from areaviz.models.base import TOKENIZER, save_weights
from areaviz.models.captions import SITE, ShowAttendTell, TellerConfig
from areaviz.models.generation import GenerationModel
from areaviz.models.tokenizer import START, Tokenizer
from areaviz.trace.changes import Change, Gate, Hide, Weigh
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from tests import fakes
from tests.pages import folder

KINDS = ("soft", "hard", "none")
LINES = [
    "a small red circle above a large blue square",
    "a large green ring left of a small white star",
]


def network(kind: str, words: int = 20) -> ShowAttendTell:
    torch.manual_seed(0)
    config = TellerConfig(
        words, kind, {"side": 32, "channels": 2}, grid=4, width=8, scoring=6, dropout=0.0
    )
    return ShowAttendTell(config).eval().requires_grad_(False)


def model(kind: str, path: Path) -> GenerationModel:
    tokenizer = Tokenizer.train(LINES * 3, "word", 40)
    tokenizer.save(path / TOKENIZER)
    made = network(kind, len(tokenizer))
    save_weights(made, path)
    card = replace(
        folder.card("teller", "area"), family="teller", task="caption", config=asdict(made.config)
    )
    return GenerationModel.load(path, card, torch.device("cpu"))


def read(made: ShowAttendTell, cell_MC: Tensor, hidden_W: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the context of one step and its weights, one cell after the other."""
    key = [made.key(cell) for cell in cell_MC]
    score = torch.stack([made.score(torch.tanh(one + made.query(hidden_W)))[0] for one in key])
    weights = score.exp() / score.exp().sum()
    seen = torch.zeros(cell_MC.shape[1])
    for index, cell in enumerate(cell_MC):
        share = (
            float(weights[index])
            if made.config.attention == "soft"
            else float(index == int(weights.argmax()))
        )
        seen = seen + share * cell
    return seen * torch.sigmoid(made.gate(hidden_W)), weights


def test_unknown_attention_is_refused() -> None:
    with pytest.raises(InputError, match='"attention" is "sotf"'):
        TellerConfig(20, "sotf")


@pytest.mark.parametrize("kind", ["soft", "hard"])
def test_each_look_reads_weighted_cells_or_one(kind: str) -> None:
    made, features, words = network(kind), torch.randn(1, 16, 16), torch.tensor([[START, 5, 9, 7]])
    run = made.run(features, words)
    cells, state = made.build_memory(features)
    hidden, cell = state.hidden, state.cell
    for step, word in enumerate(words[0]):
        seen, weights = read(made, cells.value[0], hidden[0])
        torch.testing.assert_close(run.weights[0, step], weights)
        embedded = made.embedding.weight[word] * 8**0.5
        hidden, cell = made.core(torch.cat([embedded, seen])[None], (hidden, cell))
        mixed = torch.tanh(embedded + made.from_hidden(hidden[0]) + made.from_context(seen))
        torch.testing.assert_close(run.logits[0, step], made.embedding.weight @ mixed)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_equal_whole_pass_for_all_sentences(kind: str) -> None:
    made, features = network(kind), torch.randn(2, 16, 16)
    words = torch.randint(4, 20, (6, 5))
    words[:, 0] = START
    whole = made(features, words)
    whole[..., [0, 1, 2]] = -torch.inf
    stepper = made.write(features)
    for step in range(5):
        likely = stepper.step(words[:, step])
        writable = torch.isfinite(likely[0])
        torch.testing.assert_close(likely[:, writable], whole[:, step][:, writable].log_softmax(1))
    rows = torch.tensor([2, 0, 1, 5, 4, 3])
    before = made.write(features)
    before.step(words[:, 0])
    before.select(rows)
    torch.testing.assert_close(
        before.step(words[rows][:, 1])[:, writable], _second(made, features, words[rows], writable)
    )


def _second(made: ShowAttendTell, features: Tensor, words: Tensor, writable: Tensor) -> Tensor:
    stepper = made.write(features)
    stepper.step(words[:, 0])
    return stepper.step(words[:, 1])[:, writable]


def test_model_without_attention_sees_only_mean_picture() -> None:
    features, words = torch.randn(1, 16, 16), torch.tensor([[START, 5, 9]])
    mixed_up = features[:, torch.randperm(16)]
    assert torch.allclose(
        network("none")(features, words), network("none")(mixed_up, words), atol=1e-6
    )
    assert not torch.allclose(
        network("soft")(features, words), network("soft")(mixed_up, words), atol=1e-3
    )


def test_model_without_overview_starts_without_the_picture() -> None:
    torch.manual_seed(0)
    config = TellerConfig(20, "soft", {"side": 32, "channels": 2}, 4, 8, 6, 0.0, overview=False)
    made = ShowAttendTell(config).eval()
    _, state = made.build_memory(torch.randn(2, 16, 16))
    assert not state.hidden.any() and not state.cell.any()
    assert not [name for name in made.state_dict() if name.startswith("start")]


def test_looks_are_forgotten_only_in_training() -> None:
    config = TellerConfig(
        20, "soft", {"side": 32, "channels": 2}, 4, 8, 6, 0.0, overview=False, forgetting=1.0
    )
    torch.manual_seed(0)
    made = ShowAttendTell(config).requires_grad_(False)
    words, pictures = torch.tensor([[START, 5, 9]] * 2), torch.randn(2, 16, 16)
    (cells, state), word = made.build_memory(pictures), made.embed_words(words[:, 0])
    look = made.attend_to_cells(cells, state, sample=False)
    after = made.train().update_state(word, look, state).hidden
    torch.testing.assert_close(after[0], after[1])
    assert not torch.allclose(*made.eval().update_state(word, look, state).hidden)
    assert not torch.allclose(*made.train().run(pictures, words).logits)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_picture_gives_a_valid_trace(kind: str, method: str, tmp_path: Path) -> None:
    trace = model(kind, tmp_path).trace(
        [Request("teller", "", method, 2, picture=fakes.picture())]
    )[0]
    validate(trace)
    if kind == "none":
        assert not trace.maps
        return
    attention = trace.maps[SITE]
    assert attention.weights.shape == (1, 1, len(trace.fields["target"]), 16)
    if kind == "hard":
        np.testing.assert_array_equal(attention.chosen, attention.weights.argmax(3))
    else:
        assert attention.chosen is None


def test_trace_records_the_pass_that_wrote_sentence(tmp_path: Path) -> None:
    loaded = model("soft", tmp_path)
    request = Request("teller", "", picture=fakes.picture())
    parts = loaded.read_inputs([request])
    (found,) = loaded.generate([request], parts)
    (trace,) = loaded.record_traces([request], parts, [found])
    assert np.log(trace.output.probabilities).sum() == pytest.approx(
        found.log_probability, abs=1e-3
    )


def test_areas_are_single_cells(tmp_path: Path) -> None:
    loaded = model("soft", tmp_path)
    GenerationModel.load(tmp_path, loaded.card, torch.device("cpu"), area_size=1)
    with pytest.raises(InputError, match="single cells"):
        GenerationModel.load(tmp_path, loaded.card, torch.device("cpu"), area_size=3)


SITES = {SITE: ("target", "picture")}


@pytest.mark.parametrize("kind", ["soft", "hard"])
@pytest.mark.parametrize(
    "changes",
    [
        (Weigh(SITE, (3, 4, 5)),),
        (Weigh(SITE, tuple(range(8)), factor=9.0), Gate(SITE, factor=0.5)),
        (Hide("picture", (0, 7)),),
        (Hide("picture", tuple(range(16))),),
    ],
)
def test_steps_equal_the_whole_pass_under_a_change(kind: str, changes: tuple[Change, ...]) -> None:
    made = network(kind)
    features = torch.randn(2, 16, made.encoder_config.width)
    target = torch.tensor([[START, 5, 6, 7], [START, 9, 4, 4]])
    changed = NetworkInterventions.from_changes(changes, SITES, 1)
    run, stepper = made.attend(features, target, changed), made.write(features, changed)
    for step in range(4):
        likely = stepper.step(target[:, step])
        expected = (
            run.logits[:, step].masked_fill(~torch.isfinite(likely[0]), -torch.inf).log_softmax(1)
        )
        torch.testing.assert_close(likely, expected, rtol=1e-4, atol=1e-4)


def test_banned_cells_are_skipped_and_weights_renormalised() -> None:
    made, target = network("soft"), torch.tensor([[START, 5]])
    features = torch.randn(1, 16, made.encoder_config.width)
    plain, banned = (
        made.attend(features, target, NetworkInterventions.from_changes(changes, SITES, 1)).weights[
            SITE
        ][0][0, 0, 0]
        for changes in ((), (Weigh(SITE, (2, 9)),))
    )
    kept = plain.clone()
    kept[[2, 9]] = 0
    torch.testing.assert_close(banned, kept / kept.sum())


def test_content_of_hidden_cell_changes_nothing() -> None:
    made, target = network("soft"), torch.tensor([[START, 5, 6]])
    features = torch.randn(1, 16, made.encoder_config.width)
    other = features.clone()
    other[:, 3] = torch.randn(made.encoder_config.width)
    changed = NetworkInterventions.from_changes((Hide("picture", (3,)),), SITES, 1)
    one, two = (made.attend(x, target, changed).logits for x in (features, other))
    torch.testing.assert_close(one, two)
    assert not torch.allclose(made(features, target), made(other, target))


def test_model_without_attention_cannot_be_changed(tmp_path: Path) -> None:
    asked = Request("teller", "", picture=fakes.picture(), changes=(Gate(SITE),))
    with pytest.raises(InputError, match="has no attention to change"):
        model("none", tmp_path).trace([asked])


def test_nan_scores_stay_nan_under_a_change() -> None:
    """A damaged network must not look like one that has no attention to change."""
    made, features, words = network("soft"), torch.randn(1, 16, 16), torch.tensor([[START, 5]])
    made.score.bias.fill_(torch.nan)
    changed = NetworkInterventions.from_changes((Weigh(SITE, (1,)),), made.sites, 1)
    assert made.run(features, words, changed=changed).weights.isnan().all()
