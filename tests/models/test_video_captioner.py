"""The video captioner: steps equal one pass, hidden frames are unseen, motion is separate."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from areaviz.attention.interventions import UNCHANGED, NetworkInterventions
from areaviz.lab.sentences import run_tokenizer
from areaviz.models.clips import ENCODERS, VideoCaptioner, WatcherConfig
from areaviz.models.generation import AttributedRun, GenerationModel, compute_attribution
from areaviz.models.network import compute_token_log_probabilities
from areaviz.models.recording import make_clip_field
from areaviz.models.recurrent import RECURRENT_SITE
from areaviz.models.tokenizer import START
from areaviz.trace.areas import Area
from areaviz.trace.changes import Change, Gate, Hide, Weigh
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.request import Clip, Request
from tests import fakes
from tests.pages import folder

VOCABULARY, FRAMES, SIDE = 9, 5, 16
FORMS: dict[str, dict[str, Any]] = {
    "frames": {"encoder": "frames"},
    "motion": {"encoder": "motion"},
    "both": {"encoder": "both"},
    "two heads": {"heads": 2},
    "mean keys": {"area_size": 3},
    "boundary keys": {"area_size": 3, "key_mode": "boundary"},
    "everything": {"area_size": 2, "key_mode": "boundary", "convolution": 3, "size_bias": True},
    "none, frames": {"encoder": "frames", "attends": False},
    "none, motion": {"encoder": "motion", "attends": False},
    "none": {"attends": False},
}
ATTENDING = [name for name in FORMS if not name.startswith("none")]
ALL = tuple(range(FRAMES))
CHANGES: list[tuple[Change, ...]] = [
    (),
    (Hide("clip", (1,)),),
    (Hide("clip", (0, 3)), Hide("clip", (4,))),
    (Hide("clip", ALL),),
    (Weigh(RECURRENT_SITE, (2, 1)),),
    (Weigh(RECURRENT_SITE, areas=(Area(0, 1, 1, 1),), factor=5.0),),
    (Gate(RECURRENT_SITE, 0, 0),),
]
TARGET = torch.tensor([[START, 5, 6, 7], [START, 8, 4, 4]])


def watcher(form: str = "both", **options: Any) -> VideoCaptioner:
    """Return a network with random weights.

    Convolutions and size biases normally start at zero. Here they are random.
    """
    torch.manual_seed(5)
    sizes = {"frames": FRAMES, "side": SIDE, "width": 16, **FORMS[form], **options}
    network = VideoCaptioner(WatcherConfig(VOCABULARY, **sizes)).eval().requires_grad_(False)
    for name, value in network.named_parameters():
        if name.endswith(("convolution.weight", "size_bias")):
            torch.nn.init.normal_(value, std=0.3)
    return network


def clips(count: int = 2, frames: int = FRAMES, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    shape = (count, frames, SIDE, SIDE)
    return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)


def change(network: VideoCaptioner, changes: tuple[Change, ...]) -> NetworkInterventions:
    return NetworkInterventions.from_changes(changes, network.sites, network.config.heads)


def holds(network: VideoCaptioner, frame: int) -> Tensor:
    """Return which areas contain a frame, bool [A]."""
    _, left, _, width = torch.from_numpy(network.areas("clip").make_grid(FRAMES).table()).T
    held: Tensor = (left <= frame) & (frame < left + width)
    return held


@pytest.mark.parametrize("form", ["frames", "both", "boundary keys"])
def test_frame_gradients_match_brightness_differences(form: str) -> None:
    network, ids, step = watcher(form), [5, 6, 7], 1e-2
    products = compute_attribution(
        AttributedRun(network, {"clip": clips(1)}, TARGET[:1, :3], ids, UNCHANGED)
    )
    assert list(products) == ["clip", "history"]
    for frame in range(FRAMES):
        likely = []
        for factor in (1 + step, 1 - step):
            scaled = clips(1).float()
            scaled[:, frame] *= factor
            run = compute_token_log_probabilities(network.attend(scaled, TARGET[:1, :3]).logits[0])
            likely.append(run[torch.arange(3), torch.tensor(ids)].double())
        slopes = ((likely[0] - likely[1]) / (2 * step)).numpy()
        np.testing.assert_allclose(products["clip"][:, frame], slopes, rtol=0.02, atol=2e-3)


@pytest.mark.parametrize("changes", CHANGES, ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_steps_equal_the_whole_pass(form: str, changes: tuple[Change, ...]) -> None:
    network = watcher(form)
    changed = change(network, changes)
    logits = network.attend(clips(), TARGET, changed=changed).logits
    assert logits.isfinite().all()
    wanted = compute_token_log_probabilities(logits)
    stepper = network.write(clips(), changed=changed)
    # Each sentence has two beams. The tokens of the second beam must not affect the first.
    for time in range(4):
        tokens = torch.stack([TARGET[:, time], torch.tensor([START, START])], 1).flatten()
        found = stepper.step(tokens)
        torch.testing.assert_close(found[::2], wanted[:, time], atol=1e-5, rtol=1e-5)
        if time == 1:
            stepper.select(torch.tensor([0, 0, 2, 2]))


@pytest.mark.parametrize("form", FORMS)
def test_clip_does_not_depend_on_its_neighbours(form: str) -> None:
    network = watcher(form)
    together = network.attend(clips(), TARGET).logits
    for row in range(2):
        alone = network.attend(clips()[row : row + 1], TARGET[row : row + 1]).logits
        torch.testing.assert_close(together[row], alone[0], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("hidden", [(1,), (0,), (0, 1), (4,), (1, 2, 4)], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_hidden_frames_are_not_seen(form: str, hidden: tuple[int, ...]) -> None:
    network = watcher(form)
    changed = change(network, (Hide("clip", hidden),))
    other = clips()
    other[:, list(hidden)] = clips(seed=2)[:, list(hidden)]
    one, two = (network.attend(clip, TARGET, changed=changed) for clip in (clips(), other))
    assert torch.equal(one.logits, two.logits)
    steps = [network.write(clip, changed=changed).step(TARGET[:, 0]) for clip in (clips(), other)]
    assert torch.equal(*steps)
    # The frames that were hidden matter if they are not hidden.
    plain = [network.attend(clip, TARGET).logits for clip in (clips(), other)]
    assert (plain[0] - plain[1]).abs().max() > 1e-5


@pytest.mark.parametrize("hidden", [(1,), (0, 4), (0, 1, 2, 3)], ids=str)
@pytest.mark.parametrize("form", ATTENDING)
def test_no_area_with_a_hidden_frame_has_weight(form: str, hidden: tuple[int, ...]) -> None:
    network = watcher(form)
    changed = change(network, (Hide("clip", hidden),))
    weights = network.attend(clips(), TARGET, changed=changed).weights[RECURRENT_SITE][0]
    for frame in hidden:
        assert (weights[..., holds(network, frame)] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:3]))


@pytest.mark.parametrize("form", ATTENDING)
def test_weights_sum_to_one_and_depend_on_frames(form: str) -> None:
    network = watcher(form)
    one, other = (
        network.attend(clip, TARGET).weights[RECURRENT_SITE] for clip in (clips(), clips(seed=9))
    )
    assert len(one) == 1
    areas = network.areas("clip").make_grid(FRAMES).count
    assert one[0].shape == (2, network.config.heads, 4, areas)
    assert one[0].min() >= 0
    torch.testing.assert_close(one[0].sum(-1), torch.ones(one[0].shape[:3]))
    assert (one[0] - other[0]).abs().max() > 1e-4
    assert network.attend(clips(), TARGET, need_weights=False).weights == {}


@pytest.mark.parametrize("form", ATTENDING)
def test_fully_hidden_clip_is_not_read(form: str) -> None:
    network = watcher(form)
    run = network.attend(clips(), TARGET, changed=change(network, (Hide("clip", ALL),)))
    assert (run.weights[RECURRENT_SITE][0] == 0).all() and run.logits.isfinite().all()
    other = network.attend(clips(seed=3), TARGET, changed=change(network, (Hide("clip", ALL),)))
    assert torch.equal(run.logits, other.logits)


def test_bans_and_gates_change_the_reading() -> None:
    network = watcher("boundary keys")
    plain = network.attend(clips(), TARGET)
    banned = network.attend(
        clips(), TARGET, changed=change(network, (Weigh(RECURRENT_SITE, (2,)),))
    )
    weights = banned.weights[RECURRENT_SITE][0]
    assert (weights[..., holds(network, 2)] == 0).all()
    kept = plain.weights[RECURRENT_SITE][0].clone()
    kept[..., holds(network, 2)] = 0
    torch.testing.assert_close(weights, kept / kept.sum(-1, keepdim=True))
    closed = network.attend(clips(), TARGET, changed=change(network, (Gate(RECURRENT_SITE, 0, 0),)))
    assert torch.equal(closed.weights[RECURRENT_SITE][0], plain.weights[RECURRENT_SITE][0])
    assert (closed.logits - plain.logits).abs().max() > 1e-4


@pytest.mark.parametrize("hidden", [(), (1,), (0, 3), ALL], ids=str)
@pytest.mark.parametrize("form", ["none", "none, frames", "none, motion"])
def test_model_without_attention_reads_the_mean_frame(form: str, hidden: tuple[int, ...]) -> None:
    """The reference goes frame by frame and word by word.

    For motion, the previous visible frame replaces a hidden frame.
    """
    network = watcher(form)
    found = network.attend(clips(), TARGET, changed=change(network, (Hide("clip", hidden),)))
    assert found.weights == {} and network.sites == {}
    for row in range(2):
        shown = clips()[row].float() / 255
        for frame in range(FRAMES):
            if frame in hidden:
                visible = [other for other in range(FRAMES) if other not in hidden]
                before = [other for other in visible if other < frame] or visible[:1] or [0]
                shown[frame] = clips()[row, before[-1]].float() / 255
        mean, seen = torch.zeros(16), 0
        for frame in range(FRAMES):
            item = network.time[frame].clone()
            if network.seeing is not None:
                item += network.seeing(shown[None, frame : frame + 1, None])[0, 0]
            if network.moving is not None:
                item += network.moving(shown[None, :, None])[0, frame]
            if frame not in hidden:
                mean, seen = mean + item, seen + 1
        mean = mean / max(1, seen)
        hidden_state, cell = torch.zeros(1, 1, 16), torch.zeros(1, 1, 16)
        for time in range(4):
            word = network.embedding.weight[TARGET[row, time]] * 16**0.5
            top, (hidden_state, cell) = network.decoder(word[None, None], (hidden_state, cell))
            mixed = torch.tanh(network.hidden_out(top[0, 0]) + mean)
            logits = mixed @ network.embedding.weight.T
            torch.testing.assert_close(found.logits[row, time], logits, atol=1e-5, rtol=1e-4)


def test_frames_are_encoded_one_by_one() -> None:
    seeing = watcher("frames").seeing
    assert seeing is not None
    pixels = clips(1).float()[:, :, None] / 255
    other = pixels.clone()
    other[:, 2] = 1 - other[:, 2]
    differs = (seeing(pixels) - seeing(other)).abs().amax(2)[0] > 1e-6
    assert differs.tolist() == [False, False, True, False, False]


def test_motion_encodes_changes_not_content() -> None:
    moving = watcher("motion").moving
    assert moving is not None
    still = moving(torch.zeros(1, FRAMES, 1, SIDE, SIDE))
    for seed in (1, 2):
        picture = clips(1, 1, seed).float().expand(-1, FRAMES, -1, -1)[:, :, None] / 255
        torch.testing.assert_close(moving(picture), still)
    # A constant brightness added to every frame is no motion.
    pixels = clips(1).float()[:, :, None] / 510
    torch.testing.assert_close(moving(pixels + 0.5), moving(pixels), atol=1e-5, rtol=1e-4)
    assert (moving(pixels) - still).abs().max() > 1e-4


def test_motion_reaches_two_frames_and_their_predecessor() -> None:
    moving = watcher("motion").moving
    assert moving is not None
    pixels = clips(1, 12).float()[:, :, None] / 255
    other = pixels.clone()
    other[:, 6] = 1 - other[:, 6]
    differs = (moving(pixels) - moving(other)).abs().amax(2)[0] > 1e-6
    assert differs.nonzero()[:, 0].tolist() == [4, 5, 6, 7, 8, 9]


def test_equal_frames_differ_by_time() -> None:
    network = watcher("frames")
    pixels = clips(1, 1).expand(-1, FRAMES, -1, -1)
    encoded = network.encode(pixels)
    items = encoded.items
    assert (
        encoded.padding is not None and not encoded.padding.any() and items.shape == (1, FRAMES, 16)
    )
    assert (items[0, 0] - items[0, 1]).abs().max() > 1e-3


def test_areas_shrink_but_do_not_grow_after_training() -> None:
    network = watcher("boundary keys")
    config = network.config
    assert config.with_area_size(None) is config and config.with_area_size(3) is config
    for size in (1, 2):
        smaller = config.with_area_size(size)
        assert (smaller.area_size, smaller.known_size) == (size, 3)
        other = VideoCaptioner(smaller).eval()
        other.load_state_dict(network.state_dict())
        weights = other.attend(clips(), TARGET).weights[RECURRENT_SITE][0]
        grid = other.areas("clip").make_grid(FRAMES)
        assert weights.shape[-1] == grid.count < network.areas("clip").make_grid(FRAMES).count
        assert smaller.with_area_size(3).area_size == 3
    with pytest.raises(InputError, match="largest area cannot be 4. Choose a size from 1 to 3"):
        config.with_area_size(4)
    assert watcher("mean keys").config.with_area_size(4).area_size == 4


def test_options_describe_themselves() -> None:
    assert watcher("none").config.layers == 0 and watcher("both").config.layers == 1
    assert watcher("none").config.about == "frames and motion, no attention"
    assert watcher("frames").config.about == "frames, regular attention"
    assert (
        "motion, areas up to 2 with boundary keys"
        in replace(watcher("everything").config, encoder="motion").about
    )
    with pytest.raises(InputError, match='"encoder" is "guess"'):
        WatcherConfig(VOCABULARY, "guess")
    for encoder in ENCODERS:
        network = watcher(encoder)
        assert (network.seeing is None, network.moving is None) == (
            encoder == "motion",
            encoder == "frames",
        )


def model(path: Path, **options: Any) -> GenerationModel:
    tokenizer = run_tokenizer(path / "tokens.model", ["the three grows"] * 4, 20)
    torch.manual_seed(1)
    sizes = {"frames": FRAMES, "side": SIDE, "width": 16, "area_size": 2, **options}
    config = WatcherConfig(len(tokenizer), **sizes)
    card = replace(folder.card("watcher", "area"), task="video", family="watcher")
    card = replace(card, level="word", config=asdict(config))
    return GenerationModel(card, tokenizer, VideoCaptioner(config).eval())


@pytest.mark.parametrize("frames", [2, 5, 12])
def test_trace_has_the_watched_frames(tmp_path: Path, frames: int) -> None:
    request = Request("watcher", "", clip=fakes.clip(frames=frames), target="the three grows")
    trace = model(tmp_path).trace([request])[0]
    validate(trace)
    assert trace.fields["target"].labels == ("the", "three", "grows", "⟨end⟩")
    field, attention = trace.fields["clip"], trace.maps[RECURRENT_SITE]
    chosen = np.linspace(0, frames - 1, FRAMES).round().astype(int)
    assert field.labels == tuple(f"frame {number + 1}" for number in chosen)
    assert np.array_equal(field.anchors, np.stack([chosen, chosen + 1], 1))
    assert attention.weights.shape == (1, 1, 4, 2 * FRAMES - 1)
    assert make_clip_field(fakes.clip(frames=frames), FRAMES).labels == field.labels


def test_clip_is_described_greedily_and_by_beams(tmp_path: Path) -> None:
    run = model(tmp_path)
    for method in ("greedy", "beam"):
        requests = [
            Request("watcher", "", method, 3, clip=fakes.clip(seed=seed)) for seed in (0, 1)
        ]
        traces = run.trace(requests)
        assert run.generate_outputs(requests) == [trace.fields["target"].raw for trace in traces]
        for trace in traces:
            validate(trace)
    mean = model(tmp_path, attends=False)
    assert mean.trace(requests)[0].maps == {}


def test_unsupported_request_gives_one_sentence(tmp_path: Path) -> None:
    run = model(tmp_path)
    with pytest.raises(InputError, match="This model needs a clip. Choose or upload one"):
        run.trace([Request("watcher", "the three grows")])
    hidden = Request("watcher", "", clip=fakes.clip(), changes=(Hide("clip", (FRAMES,)),))
    with pytest.raises(InputError):
        run.trace([hidden])
    blind = model(tmp_path, attends=False)
    with pytest.raises(InputError, match="has no attention to change"):
        blind.trace([replace(hidden, changes=(Hide("clip", (0,)),))])


@pytest.mark.parametrize("encoder", ENCODERS)
def test_only_colour_models_distinguish_red_from_grey(tmp_path: Path, encoder: str) -> None:
    red = np.zeros((FRAMES, 20, 20, 3), np.uint8)
    for frame in range(FRAMES):
        red[frame, 5:15, 5:15, 0] = 20 + 10 * frame
    grey = np.round(red[..., :1] * 0.299).astype(np.uint8).repeat(3, 3)
    for colour in (False, True):
        run = model(tmp_path, encoder=encoder, colour=colour)
        traces = []
        for pixels in (red, grey):
            asked = Request("watcher", "", clip=Clip.of("film", pixels), target="the three grows")
            traces.append(run.trace([replace(asked, attribution=True)])[0])
            validate(traces[-1])
        one, other = (trace.output.probabilities for trace in traces)
        assert (np.abs(one - other).max() > 1e-6) == colour
