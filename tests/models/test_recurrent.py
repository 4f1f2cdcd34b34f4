"""Recurrent translators as networks and as writing models.

Each is compared with loops over sentences, tokens and items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from areaviz.attention.interventions import NetworkInterventions
from areaviz.backend.backend import ReplayBackend
from areaviz.cards.card import write_card
from areaviz.cards.tasks import LSTMS
from areaviz.lab.sentences import compute_cross_entropy
from areaviz.models.base import TOKENIZER, save_weights
from areaviz.models.decoding import beam_search
from areaviz.models.generation import GenerationModel
from areaviz.models.network import compute_token_log_probabilities
from areaviz.models.recurrent import RECURRENT_SITE, RecurrentWriter, read_items
from areaviz.models.tokenizer import PAD, START, shift_targets
from areaviz.models.translation import LSTM_SIZES, Birnn, BirnnConfig, LstmConfig, LstmTranslator
from areaviz.page.page import export
from areaviz.trace import file
from areaviz.trace.areas import Area
from areaviz.trace.changes import Change, Gate, Hide, Weigh
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.request import Focus, Request, from_params, to_params
from areaviz.views.views import VIEWS
from tests import reference, tiny
from tests.sampled import sampled
from tests.trace.sentence import assert_one_sentence

CPU = torch.device("cpu")
FORMS: dict[str, dict[str, Any]] = {
    "additive": {},
    "none": {"attention": "none"},
    "regular": {"heads": 2},
    "mean": {"heads": 2, "area_size": 2},
    "boundary": {"heads": 1, "area_size": 2, "key_mode": "boundary"},
    "convolution": {"heads": 2, "convolution": 5},
}
ATTENDING = [name for name in FORMS if name != "none"]
SOURCE = torch.tensor([[5, 9, 4, 11, 7, 6, 3], [8, 12, 3, PAD, PAD, PAD, PAD]])
TARGET = torch.tensor([[START, 8, 5, 5, 10], [START, 4, 12, 9, 6]])
CHANGES: list[tuple[Change, ...]] = [
    (Weigh(RECURRENT_SITE, (2, 1)),),
    (Weigh(RECURRENT_SITE, (0,), factor=5.0),),
    (Gate(RECURRENT_SITE, 0, 0),),
    (Hide("source", (1,)),),
    (Hide("source", tuple(range(7))),),
]


def network(form: str, vocabulary: int = 20, dropout: float = 0.0) -> RecurrentWriter:
    """Return a network of 8 units with random weights.

    Convolutions normally start at zero. Here they are random.
    """
    torch.manual_seed(0)
    options = {"width": 8, "dropout": dropout, **FORMS[form]}
    if form in ("additive", "none"):
        made: RecurrentWriter = Birnn(BirnnConfig(vocabulary, scoring=6, **options))
    else:
        made = LstmTranslator(LstmConfig(vocabulary, **options))
    for name, value in made.named_parameters():
        if name.endswith("convolution.weight"):
            nn.init.normal_(value, std=0.3)
    return made.eval().requires_grad_(False)


def model(form: str, path: Path, level: str = "character") -> GenerationModel:
    words = tiny.tokenizer(level)
    made = network(form, len(words))
    words.save(path / TOKENIZER)
    save_weights(made, path)
    card = replace(
        tiny.card("recurrent", level, tiny.network(len(words))),
        family="birnn" if form in ("additive", "none") else "lstm",
        mechanism=made.config.mechanism,
        config=asdict(made.config),
    )
    return GenerationModel.load(path, card, CPU)


def sigmoid(x: np.ndarray) -> np.ndarray:
    found: np.ndarray = 1 / (1 + np.exp(-x))
    return found


def gru_states(core: nn.GRU, items: Sequence[Tensor]) -> list[Tensor]:
    """Compute the states of a GRU after each item, gate by gate (Cho et al. 2014)."""
    parts = (core.weight_ih_l0, core.weight_hh_l0, core.bias_ih_l0, core.bias_hh_l0)
    w, u, b, c = (np.asarray(part) for part in parts)
    width = len(b) // 3
    hidden, states = np.zeros(width, np.float32), []
    for item in items:
        new, old = w @ item.numpy() + b, u @ hidden + c
        reset = sigmoid(new[:width] + old[:width])
        update = sigmoid(new[width : 2 * width] + old[width : 2 * width])
        candidate = np.tanh(new[2 * width :] + reset * old[2 * width :])
        hidden = update * hidden + (1 - update) * candidate
        states.append(torch.from_numpy(hidden.astype(np.float32)))
    return states


@pytest.mark.parametrize("is_backwards", [False, True])
def test_items_are_read_in_order_skipping_padding(is_backwards: bool) -> None:
    torch.manual_seed(0)
    core = nn.GRU(4, 3, batch_first=True).requires_grad_(False)
    words = torch.randn(3, 5, 4)
    seen = torch.tensor([[1, 1, 1, 1, 1], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]]).bool()
    items, last = read_items(core, words, seen, is_backwards)
    for row in range(3):
        places = seen[row].nonzero()[:, 0].tolist()
        if is_backwards:
            places = places[::-1]
        read = [words[row, place] for place in places]
        states = gru_states(core, read or [torch.zeros(4)])
        torch.testing.assert_close(last[row], states[-1])
        for place in range(5):
            expected = states[places.index(place)] if place in places else torch.zeros(3)
            torch.testing.assert_close(items[row, place], expected)


def additive_slowly(made: Birnn, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the logits and weights of one sentence, token by token and item by item."""
    assert made.attention is not None
    words = [made.embedding.weight[token] * 8**0.5 for token in source]
    ahead = gru_states(made.forwards, words)
    back = gru_states(made.backwards, words[::-1])[::-1]
    items = [torch.cat(pair) for pair in zip(ahead, back, strict=True)]
    hidden = torch.tanh(made.start(torch.cat([ahead[-1], back[0]])))
    logits, weights = [], []
    for token in target:
        query = made.attention.query(hidden)
        scores = []
        for item in items:
            scores.append(made.attention.score(torch.tanh(query + made.attention.key(item)))[0])
        shares = torch.stack(scores).softmax(0)
        context = torch.zeros(16)
        for share, item in zip(shares, items, strict=True):
            context = context + share * item
        word = made.embedding.weight[token] * 8**0.5
        new = made.word_gates(word) + made.context_gates(context)
        old = made.hidden_gates(hidden)
        reset, update = torch.sigmoid(new[:8] + old[:8]), torch.sigmoid(new[8:16] + old[8:16])
        candidate = torch.tanh(new[16:] + reset * old[16:])
        hidden = update * hidden + (1 - update) * candidate
        out = torch.tanh(word + made.hidden_out(hidden) + made.context_out(context))
        logits.append(made.embedding.weight @ out)
        weights.append(shares)
    return torch.stack(logits), torch.stack(weights)


def test_bahdanau_network_follows_its_equations() -> None:
    made = network("additive")
    assert isinstance(made, Birnn)
    run = made.attend(SOURCE, TARGET)
    for row, length in enumerate((7, 3)):
        logits, weights = additive_slowly(made, SOURCE[row, :length], TARGET[row])
        torch.testing.assert_close(run.logits[row], logits)
        torch.testing.assert_close(run.weights[RECURRENT_SITE][0][row, 0, :, :length], weights)
        assert not run.weights[RECURRENT_SITE][0][row, 0, :, length:].any()


def test_decoder_without_attention_gets_both_final_states() -> None:
    made = network("none")
    assert isinstance(made, Birnn)
    words = [made.embedding.weight[token] * 8**0.5 for token in SOURCE[0]]
    ends = torch.cat(
        [gru_states(made.forwards, words)[-1], gru_states(made.backwards, words[::-1])[-1]]
    )
    hidden = torch.tanh(made.start(ends))[None]
    run = made.attend(SOURCE[:1], TARGET[:1])
    assert run.weights == {}
    for time, token in enumerate(TARGET[0]):
        word = (made.embedding.weight[token] * 8**0.5)[None]
        hidden = made.update_state(made.word_gates(word), ends[None], hidden)
        torch.testing.assert_close(run.logits[0, time], made.read_out(word, hidden, ends[None])[0])


@pytest.mark.parametrize("form", ["regular", "mean"])
def test_lstm_attends_by_dot_products_from_top_layer(form: str) -> None:
    """Encoder and decoder are torch's LSTM. The reference loops over heads and areas."""
    made = network(form)
    assert isinstance(made, LstmTranslator)
    source, target = SOURCE[1:, :3], TARGET[1:]
    items, last = (
        made.encoder(made.embed_words(source))[0][0],
        made.encoder(made.embed_words(source))[1][0][-1],
    )
    start = torch.tanh(made.start(last)).reshape(2, 2, 1, 8)
    top = made.decoder(made.embed_words(target), (start[0], start[1]))[0][0]
    run = made.attend(source, target)
    memory = reference.areas(1, 3, 1, made.config.area_size)
    contexts = []
    for head in range(2):
        part = slice(4 * head, 4 * head + 4)
        query, key, value = (
            layer(x)[:, part]
            for layer, x in (
                (made.cross.query, top),
                (made.cross.key, items),
                (made.cross.value, items),
            )
        )
        everything = torch.ones(len(query), 3, dtype=torch.bool)
        context, weights, _ = reference.attention(query, key, value, memory, everything, 4**-0.5)
        torch.testing.assert_close(run.weights[RECURRENT_SITE][0][0, head], weights)
        contexts.append(context)
    attended = made.cross.out(torch.cat(contexts, 1))
    torch.testing.assert_close(run.logits[0], made.read_out(top, attended))


@pytest.mark.parametrize("changes", [(), *CHANGES])
@pytest.mark.parametrize("form", FORMS)
def test_steps_equal_the_whole_pass(form: str, changes: tuple[Change, ...]) -> None:
    made = network(form)
    changed = NetworkInterventions.from_changes(changes, made.sites, made.config.heads)
    whole = compute_token_log_probabilities(made.attend(SOURCE, TARGET, changed=changed).logits)
    stepper = made.write(SOURCE, changed)
    for time in range(TARGET.shape[1]):
        likely = stepper.step(TARGET[:, time])
        torch.testing.assert_close(likely, whole[:, time], atol=1e-5, rtol=1e-4)
    if changes and form != "none":
        plain = compute_token_log_probabilities(made(SOURCE, TARGET))
        assert not torch.allclose(plain, whole, atol=1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_reordered_beams_keep_their_states(form: str) -> None:
    made, rows = network(form), torch.tensor([2, 0, 0, 4, 5, 3])
    first = torch.tensor([START] * 6)
    second = torch.tensor([4, 5, 6, 7, 8, 9])
    third = torch.tensor([10, 11, 12, 10, 11, 12])
    stepper = made.write(SOURCE)
    stepper.step(first)
    stepper.step(second)
    stepper.select(rows)
    found = stepper.step(third)
    history = torch.stack([first, second[rows], third], 1)
    whole = compute_token_log_probabilities(made(SOURCE.repeat_interleave(3, 0), history))
    torch.testing.assert_close(found, whole[:, 2], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_beam_probabilities_equal_whole_pass(form: str) -> None:
    """Each hypothesis has the probability that one pass over it gives."""
    made = network(form)
    for row, found in enumerate(beam_search(made.write(SOURCE), START, 3, [6, 6], 3)):
        for one in found:
            target = torch.tensor([[START, *one.ids[:-1]]])
            likely = compute_token_log_probabilities(made(SOURCE[row : row + 1], target))[0]
            total = sum(float(likely[time, token]) for time, token in enumerate(one.ids))
            assert one.log_probability == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_padding_changes_nothing(form: str) -> None:
    made = network(form)
    alone = made(SOURCE[1:, :3], TARGET[1:])
    torch.testing.assert_close(made(SOURCE, TARGET)[1:], alone)


@pytest.mark.parametrize("form", FORMS)
def test_hidden_items_end_the_sentence_earlier(form: str) -> None:
    made = network(form)
    changed = NetworkInterventions.from_changes(
        (Hide("source", (5, 6)),), made.sites, made.config.heads
    )
    hidden = made.attend(SOURCE[:1], TARGET[:1], changed=changed).logits
    torch.testing.assert_close(hidden, made(SOURCE[:1, :5], TARGET[:1]), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("level", ["character", "token"])
@pytest.mark.parametrize("form", FORMS)
def test_traces_are_complete_and_survive_a_file(form: str, level: str, tmp_path: Path) -> None:
    made = model(form, tmp_path, level)
    for method in ("greedy", "beam"):
        (trace,) = made.trace([Request("recurrent", "Two dogs 😀 run", method, 3)])
        validate(trace)
        assert set(trace.maps) == set(made.network.sites)
        again = file.trace_from_bytes(file.trace_to_bytes(trace))
        assert again.fields["target"].raw == trace.fields["target"].raw
        assert set(again.maps) == set(trace.maps)
        for site, found in again.maps.items():
            np.testing.assert_array_equal(found.weights, trace.maps[site].weights)


@pytest.mark.parametrize("form", FORMS)
def test_batch_neighbours_change_nothing(form: str, tmp_path: Path) -> None:
    made = model(form, tmp_path)
    texts = ["A dog", "Two old friends drink tea", "x"]
    requests = [Request("recurrent", text, "beam", 3) for text in texts]
    assert made.generate_outputs(requests) == [
        made.generate_outputs([request])[0] for request in requests
    ]


@pytest.mark.parametrize("form", ATTENDING)
def test_trace_shows_the_effect_of_a_change(form: str, tmp_path: Path) -> None:
    made = model(form, tmp_path)
    asked = Request("recurrent", "A small dog", target="Ein Hund")
    (before,) = made.trace([asked])
    (after,) = made.trace([replace(asked, changes=(Weigh(RECURRENT_SITE, (0,)),))])
    validate(after)
    grid = after.maps[RECURRENT_SITE].grid
    banned = np.array([grid.area(index).left == 0 for index in range(grid.count)])
    weights, plain = (
        after.maps[RECURRENT_SITE].weights[0, 0, 0],
        before.maps[RECURRENT_SITE].weights[0, 0, 0],
    )
    assert not weights[banned].any()
    rest = plain[~banned]
    np.testing.assert_allclose(weights[~banned], rest / rest.sum(), atol=1e-6, rtol=1e-4)
    assert made.trace([replace(asked, changes=(Hide("source", (2, 3)), Gate(RECURRENT_SITE)))])


def test_model_without_attention_cannot_be_changed(tmp_path: Path) -> None:
    made = model("none", tmp_path)
    with pytest.raises(InputError, match="has no attention to change") as refusal:
        made.trace([Request("recurrent", "A dog", changes=(Hide("source", (0,)),))])
    assert_one_sentence(refusal.value)


def test_unknown_attention_and_area_sizes_are_refused() -> None:
    with pytest.raises(InputError, match='"attention" is "dot"'):
        BirnnConfig(20, "dot")
    with pytest.raises(InputError, match="single items"):
        BirnnConfig(20).with_area_size(2)
    assert BirnnConfig(20).with_area_size(1) == BirnnConfig(20)


def test_sizes_match_the_paper() -> None:
    made = LstmConfig.from_size("512 cells, 4 heads", 20, depth=1)
    assert (made.width, made.heads, made.depth) == (512, 4, 1)
    assert set(LSTM_SIZES) == {size for _, size in LSTMS}
    with pytest.raises(InputError, match="Size .* does not exist"):
        LstmConfig.from_size("Tiny", 20)


def test_areas_resize_without_training_unless_keys_learned() -> None:
    assert LstmConfig(20).with_area_size(3).areas(0).size == 3
    assert LstmConfig(20, area_size=2).with_area_size(2) == LstmConfig(20, area_size=2)
    learned = LstmConfig(20, area_size=2, key_mode="boundary")
    assert learned.with_area_size(1).areas(0).known_extent == (1, 2)
    with pytest.raises(InputError, match="Choose a size from 1 to 2"):
        learned.with_area_size(3)


MARK = 12


def marked(chance: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw sentences with a marker, and the two tokens after it as the target."""
    source, rows = torch.randint(4, MARK, (32, 8), generator=chance), torch.arange(32)
    place = torch.randint(0, 6, (32,), generator=chance)
    source[rows, place] = MARK
    return source, torch.stack([source[rows, place + 1], source[rows, place + 2]], 1)


@pytest.mark.parametrize("form", sampled(ATTENDING, ATTENDING[0]))
def test_trained_attention_finds_the_marked_item(form: str) -> None:
    """After a short training, attention follows the marker through the sentence."""
    made = network(form).requires_grad_(True).train()
    chance = torch.Generator().manual_seed(1)
    optimiser = torch.optim.Adam(made.parameters(), 0.02)
    losses = []
    for _ in range(150):
        source, target = marked(chance)
        loss = compute_cross_entropy(made(source, shift_targets(target)), target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    made.eval().requires_grad_(False)
    early, late = ([MARK, 5, 6, 7, 8, 9, 10, 11], [4, 5, 6, 7, 8, MARK, 10, 11])
    seen = []
    for sentence in (early, late):
        run = made.attend(torch.tensor([sentence]), torch.tensor([[START]]))
        seen.append(run.weights[RECURRENT_SITE][0][0, :, 0])
    moved = (seen[0] - seen[1]).abs().sum(-1) / 2
    assert moved.max() > 0.5


def test_named_area_can_be_weighted(tmp_path: Path) -> None:
    made = model("mean", tmp_path)
    changes = (Weigh(RECURRENT_SITE, areas=(Area(0, 1, 1, 2),), rest=True),)
    (trace,) = made.trace([Request("recurrent", "A dog", target="x", changes=changes)])
    place = trace.maps[RECURRENT_SITE].grid.index(Area(0, 1, 1, 2))
    np.testing.assert_allclose(trace.maps[RECURRENT_SITE].weights[..., place], 1.0)


@pytest.mark.parametrize("form", ["additive", "mean", "none"])
def test_trace_can_be_replayed_linked_exported_and_drawn(form: str, tmp_path: Path) -> None:
    """Everything that works for other models works for these, without special cases."""
    made = model(form, tmp_path)
    changes: tuple[Change, ...] = (Hide("source", (0,)),) if form != "none" else ()
    asked = Request("recurrent", "Two dogs", "beam", 2, changes=changes)
    assert from_params(to_params(asked))[0] == asked
    (trace,) = made.trace([asked])
    stored = tmp_path / "stored"
    (stored / "cards").mkdir(parents=True)
    write_card(made.card, stored / "cards" / "recurrent.json")
    file.save(trace, stored / "one.npz")
    replayed = ReplayBackend(stored).trace(asked)
    assert replayed.fields["target"].raw == trace.fields["target"].raw
    html = export(trace, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Two dogs" in html
    for site in trace.maps:
        fitting = [view for view in VIEWS.values() if view.fits(trace, Focus(site))]
        # The overview of heads needs more than one head.
        assert len(fitting) >= (6 if trace.maps[site].heads > 1 else 5)
        for view in fitting:
            assert view.table(trace, Focus(site)).rows


@pytest.mark.parametrize("form", FORMS)
def test_untrained_network_has_equal_form_and_other_weights(form: str, tmp_path: Path) -> None:
    made = model(form, tmp_path)
    other = made.make_untrained()
    (trace,) = other.trace([Request("recurrent", "Two dogs", target="Zwei")])
    assert set(trace.maps) == set(made.network.sites)
    # The weights of the untrained network are random too, but drawn differently.
    own, others = (dict(one.network.named_parameters()) for one in (made, other))
    assert not torch.equal(own["embedding.weight"], others["embedding.weight"])
