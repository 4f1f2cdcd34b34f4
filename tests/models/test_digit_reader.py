"""Digit classifiers: every kind of attention records its own glimpses or weights."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from areaviz.attention.hard import sample_quadrilateral
from areaviz.models.base import save_weights
from areaviz.models.digit_reader import DIGIT_NETWORKS, DigitOptions, DigitReader
from areaviz.models.digits import (
    ClassifierPass,
    Dram,
    DramConfig,
    ItemsConfig,
    Ram,
    RamConfig,
    RnnStn,
    RnnStnConfig,
    StnConfig,
    add_coordinates,
    compute_reading_loss,
    convert_boxes_to_corners,
    make_coarse_view,
)
from areaviz.samples.digits import DIGIT_KINDS, compose_scenes
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Picture, Request
from areaviz.views.looks.transformer import find_sampling
from tests.pages import folder

CPU = torch.device("cpu")
OPTIONS: dict[str, tuple[str, DigitOptions]] = {
    "ram": ("ram", RamConfig("cluttered", 3, 12, 3, 16)),
    "dram": ("dram", DramConfig(glimpses=2, width=16)),
    "dram, no context": ("dram", DramConfig(glimpses=2, width=16, context=False)),
    "stn": ("stn", StnConfig(width=4)),
    "rnn-stn": ("rnn-stn", RnnStnConfig(width=4, hidden=8)),
    "no attention": ("stn", StnConfig(attends=False, width=4)),
    "soft": ("items", ItemsConfig(looks=3, channels=8, width=16)),
    "hard": ("items", ItemsConfig(hard=True, looks=3, channels=8, width=16)),
}


def reader(name: str, path: Path) -> DigitReader:
    family, options = OPTIONS[name]
    torch.manual_seed(1)
    save_weights(DIGIT_NETWORKS[family][1](options), path)
    card = replace(
        folder.card(family, "glimpses"), family=family, task="digits", config=asdict(options)
    )
    return DigitReader.load(path, card, CPU)


def digit(side: int = 60, seed: int = 0, name: str = "digit") -> Picture:
    """Return a grey square with a brighter part."""
    pixels = np.zeros((side, side, 3), np.uint8)
    top, left = np.random.default_rng(seed).integers(0, side // 2, 2)
    pixels[top : top + side // 4, left : left + side // 8] = 230
    return Picture.of(name, pixels)


def read(name: str, path: Path, picture: Picture | None = None, **options: object) -> Trace:
    request = Request("reader", "", picture=picture or digit(), **options)  # type: ignore[arg-type]
    trace = reader(name, path).trace([request])[0]
    validate(trace)
    return trace


@pytest.mark.parametrize("name", OPTIONS)
def test_multiply_adds_agree_with_the_counter_of_torch(name: str, tmp_path: Path) -> None:
    made = reader(name, tmp_path)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        made.network(torch.zeros(1, made.side, made.side), sample=False)
    assert made.multiply_adds == counter.get_total_flops() // 2 > 0


def test_counting_multiply_adds_does_not_import_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Importing the compiler takes 2 s of CPU time, which the first user would have to wait for."""
    monkeypatch.setitem(sys.modules, "torch._dynamo", None)
    assert reader("soft", tmp_path).multiply_adds > 0


@pytest.mark.parametrize("name", OPTIONS)
def test_picture_gives_a_valid_trace_with_costs(name: str, tmp_path: Path) -> None:
    trace = read(name, tmp_path)
    pairs = ("dram", "dram, no context", "rnn-stn")
    assert len(trace.details["answer"]) == (2 if name in pairs else 1)
    assert int(trace.details["multiply-adds"].replace(",", "")) > 1000
    assert trace.details["draws"] == "0"


def test_each_kind_of_attention_has_its_own_looks(tmp_path: Path) -> None:
    found = {name: read(name, tmp_path) for name in OPTIONS}
    gazes = {name: tuple(trace.gazes) for name, trace in found.items()}
    assert gazes["ram"] == gazes["dram, no context"] == ("glimpses",) and gazes["stn"] == (
        "transformer",
        "canvas",
    )
    assert gazes["dram"] == ("glimpses", "context", "without context")
    assert gazes["soft"] == gazes["hard"] == gazes["no attention"] == ()
    assert found["ram"].gazes["glimpses"].corners.shape == (3, 3, 4, 2)
    assert found["stn"].gazes["transformer"].seen.shape == (1, 1, 28, 28)
    assert found["stn"].gazes["canvas"].seen.shape == (1, 1, 60, 60)
    assert gazes["rnn-stn"] == gazes["stn"]
    assert found["rnn-stn"].gazes["transformer"].seen.shape == (2, 1, 28, 28)
    soft, hard = (found[name].maps["encoder-decoder"] for name in ("soft", "hard"))
    assert soft.chosen is None and soft.weights.shape == hard.weights.shape == (1, 1, 3, 225)
    assert hard.chosen is not None
    np.testing.assert_array_equal(hard.chosen, hard.weights.argmax(-1))


@pytest.mark.parametrize(("name", "draws"), [("ram", 3), ("hard", 3), ("soft", 0), ("stn", 0)])
def test_sampling_follows_the_seed(name: str, draws: int, tmp_path: Path) -> None:
    def looks(seed: int) -> list[float]:
        trace = read(name, tmp_path, sample=True, seed=seed)
        assert trace.details["draws"] == str(draws)
        places = [gaze.corners.ravel().tolist() for gaze in trace.gazes.values()]
        cells = [
            one.chosen.ravel().tolist() for one in trace.maps.values() if one.chosen is not None
        ]
        return [value for row in [*places, *cells] for value in row]

    assert looks(1) == looks(1)
    assert (looks(1) != looks(2)) == bool(draws)


def test_pixels_read_include_the_coarse_look(tmp_path: Path) -> None:
    found = {name: read(name, tmp_path).details["pixels read"] for name in OPTIONS}
    glimpses = 2 * 2 * 2 * 14**2  # digits, glimpses per digit, scales, pixels per patch
    assert found["dram, no context"] == f"{glimpses:,}" and found["dram"] == f"{glimpses + 25**2:,}"
    assert found["ram"] == f"{3 * 3 * 12**2:,}" and found["stn"] == found["soft"] == "3,600"


@pytest.mark.parametrize("sample", [False, True])
def test_glimpses_without_context_use_equal_random_draws(sample: bool, tmp_path: Path) -> None:
    """A coarse look without content changes nothing.

    Any difference is therefore due to the look, not to random draws.
    """
    model = reader("dram", tmp_path)
    assert isinstance(model.network, Dram) and model.network.context is not None
    for value in model.network.context[-2].parameters():
        value.zero_()
    gazes = model.trace([Request("reader", "", picture=digit(), sample=sample, seed=3)])[0].gazes
    np.testing.assert_array_equal(gazes["glimpses"].corners, gazes["without context"].corners)
    elsewhere = model.trace([Request("reader", "", picture=digit(), sample=sample, seed=4)])[
        0
    ].gazes
    assert sample != bool(
        (gazes["without context"].corners == elsewhere["without context"].corners).all()
    )


@pytest.mark.parametrize("shape", [(1, 1), (30, 200), (300, 40)])
def test_looks_are_placed_in_pictures_of_any_shape(shape: tuple[int, int], tmp_path: Path) -> None:
    picture = Picture.of(
        "any", np.random.default_rng(0).integers(0, 90, (*shape, 3), dtype=np.uint8)
    )
    for name in ("soft", "stn", "ram"):
        trace = read(name, tmp_path, picture)
        for gaze in trace.gazes.values():
            middle = gaze.corners[0, 0].mean(0)
            assert (np.abs(middle - [shape[1] / 2, shape[0] / 2]) <= max(shape)).all()


def test_first_glimpse_is_in_the_picture_centre(tmp_path: Path) -> None:
    picture = Picture.of("wide", np.zeros((32, 120, 3), np.uint8))
    corners = read("ram", tmp_path, picture).gazes["glimpses"].corners[0, 0]
    np.testing.assert_allclose(corners.mean(0), [60, 16], atol=1e-4)
    np.testing.assert_allclose(np.ptp(corners, axis=0), [24, 24], atol=1e-4)


def test_dark_digits_on_light_are_inverted_with_note(tmp_path: Path) -> None:
    light = digit()
    dark = Picture.of("dark", 255 - light.pixels)
    one, other = read("soft", tmp_path, light), read("soft", tmp_path, dark)
    assert "inverted" in other.details["warning"] and "warning" not in one.details
    np.testing.assert_allclose(one.output.probabilities, other.output.probabilities, atol=1e-6)


def test_digit_on_unevenly_lit_paper_is_inverted(tmp_path: Path) -> None:
    light = digit()
    shade_HW1 = np.linspace(90, 120, light.width)[None, :, None]
    ink = light.pixels.astype(float) / 255
    paper = Picture.of("paper", (shade_HW1 * (1 - 0.8 * ink)).astype(np.uint8))
    one, other = read("soft", tmp_path, light), read("soft", tmp_path, paper)
    assert "inverted" in other.details["warning"]
    np.testing.assert_allclose(one.output.probabilities, other.output.probabilities, atol=0.05)


def test_transformer_looks_are_chosen_one_by_one() -> None:
    """The reference loops over pictures and steps, and cuts out each sample separately."""
    torch.manual_seed(2)
    network = RnnStn(RnnStnConfig(width=4, hidden=8)).eval()
    torch.nn.init.normal_(network.place.weight, std=0.3)
    pictures = torch.rand(3, 100, 100)
    reading = network(pictures)
    assert reading.corners is not None and reading.seen is not None
    assert not torch.equal(reading.corners[:, 0], reading.corners[:, 1])
    for number, picture in enumerate(pictures):
        found_1F = network.localiser(add_coordinates(make_coarse_view(picture[None], 25)))
        hidden_1N = torch.zeros(1, 8)
        for look in range(2):
            hidden_1N = network.core(found_1F, hidden_1N)
            x, y = network.place(hidden_1N)[0].tolist()
            theta_123 = torch.tensor([[[0.32, 0, x], [0, 0.32, y]]])
            seen_11SS = sample_quadrilateral(picture[None, None], theta_123, 28)
            torch.testing.assert_close(reading.seen[number, look], seen_11SS[0], rtol=0, atol=1e-4)
            logits_1C = network.reader(seen_11SS)
            torch.testing.assert_close(
                reading.logits[number, look], logits_1C[0], rtol=0, atol=1e-4
            )


@pytest.mark.parametrize("extent", [1.0, 0.32])
def test_transformer_looks_have_equal_size_around_their_aim(extent: float) -> None:
    torch.manual_seed(0)
    network = RnnStn(RnnStnConfig(extent=extent, width=4, hidden=8))
    reading = network(torch.rand(5, 100, 100))
    assert reading.corners is not None and reading.digits == 2 and reading.aims is not None
    middles = 50 * (reading.aims[:, :, 0] + 1)
    torch.testing.assert_close(reading.corners[:, :, 0].mean(2), middles)
    half = 50 * extent
    around = torch.tensor([[-half, -half], [half, -half], [half, half], [-half, half]])
    torch.testing.assert_close(
        reading.corners[:, :, 0] - middles[:, :, None], around.expand(5, 2, 4, 2)
    )


def test_coarse_look_averages_pixels() -> None:
    """The expected values are means over 4 x 4 pixels."""
    torch.manual_seed(0)
    pictures = torch.rand(2, 100, 100)
    expected = pictures.view(2, 25, 4, 25, 4).mean((2, 4))
    torch.testing.assert_close(make_coarse_view(pictures, 25), expected)


def test_glimpse_aims_equal_places_without_sampling() -> None:
    torch.manual_seed(0)
    pictures = torch.rand(3, 60, 60)
    for network, chosen in (
        (Ram(RamConfig("cluttered", 3, 12, 3, 16)), [[1, 2]]),
        (Dram(DramConfig(glimpses=2, width=16)), [[0], [2]]),
    ):
        reading = network(pictures, sample=False)
        assert reading.corners is not None and reading.aims is not None
        middles = reading.corners[:, chosen, 0].mean(3)
        # Patches start at whole pixels, so middles are off by at most half a pixel.
        torch.testing.assert_close((reading.aims + 1) * 30, middles, rtol=0, atol=0.51)


def test_areas_of_several_cells_are_refused(tmp_path: Path) -> None:
    model = reader("soft", tmp_path)
    assert DigitReader.load(tmp_path, model.card, CPU, area_size=1).side == 60
    with pytest.raises(InputError, match="Keep the default largest area"):
        DigitReader.load(tmp_path, model.card, CPU, area_size=2)


def test_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs a picture"):
        reader("ram", tmp_path).trace([Request("reader", "seven")])


def test_loss_rewards_looks_for_later_digits() -> None:
    """There are two digits with two looks each. The first answer is right, the second is wrong."""
    logits = torch.zeros(1, 4, 3)
    logits[0, :, 0] = 9
    chance = torch.zeros(1, 4, requires_grad=True)
    reading = ClassifierPass(logits, 2, log_probability=chance, baseline=torch.zeros(1, 4))
    compute_reading_loss(reading, torch.tensor([[0, 1]]), early=0.0).backward()
    assert chance.grad is not None
    assert chance.grad.tolist() == [[-1, -1, 0, 0]]


def test_answers_follow_each_digits_last_look() -> None:
    logits = torch.arange(6.0).reshape(1, 6, 1)
    assert ClassifierPass(logits, 2).answers.flatten().tolist() == [2, 5]


def test_corners_run_clockwise_from_the_top_left() -> None:
    assert convert_boxes_to_corners(torch.tensor([1, 2, 5, 9])).tolist() == [
        [1, 2],
        [5, 2],
        [5, 9],
        [1, 9],
    ]


@pytest.mark.parametrize("name", OPTIONS)
def test_figures_are_shares(name: str, tmp_path: Path) -> None:
    model = reader(name, tmp_path)
    kind = str(model.card.config["kind"])
    rng = np.random.default_rng(0)
    patches = np.zeros((8, 28, 28), np.uint8)
    patches[:, 4:24, 10:18] = 200
    scenes = compose_scenes(kind, patches, np.arange(8) % 10, rng)
    assert scenes.pictures.shape[1] == DIGIT_KINDS[kind]
    figures = model.measure(scenes)
    assert figures.pop("loss") > 0 and all(0 <= value <= 1 for value in figures.values())
    expected = {
        "stn": {"overlap"},
        "rnn-stn": {"overlap"},
        "no attention": set(),
        "soft": set(),
        "hard": set(),
    }.get(name, {"coverage"})
    assert expected <= figures.keys() and ("hit" in figures) == (name != "no attention")
    assert model.make_untrained().measure(scenes) == model.make_untrained().measure(scenes)


@pytest.mark.parametrize("size", [(60, 60), (301, 200)])
@pytest.mark.parametrize("name", ["stn", "rnn-stn"])
def test_transformer_output_equals_its_sampling_grid(
    name: str, size: tuple[int, int], tmp_path: Path
) -> None:
    """Every output pixel equals the sample that the view explains, for any picture size."""
    shown = np.random.default_rng(0).integers(0, 256, (*size, 3)).astype(np.uint8) // 3
    trace = read(name, tmp_path, Picture.of("noise", shown))
    seen = trace.gazes["transformer"].seen
    for index in range(0, seen.size, 7 * len(seen)):
        drawn = find_sampling(trace, Focus("transformer", items=(index,)))
        assert drawn.sample.total == pytest.approx(drawn.read, abs=1.6)
