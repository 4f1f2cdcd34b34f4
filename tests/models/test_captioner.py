"""Captioners: attention to rectangles of any picture, from one pass, with any decoding."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from areaviz.models import recording
from areaviz.models.base import TOKENIZER, save_weights
from areaviz.models.captions import CaptionerConfig, CaptionTransformer
from areaviz.models.decoding import beam_search
from areaviz.models.generation import GenerationModel
from areaviz.models.network import PictureNetwork
from areaviz.models.tokenizer import START, Tokenizer
from areaviz.trace.areas import Area
from areaviz.trace.changes import Gate, Hide, Weigh
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.request import Picture, Request
from tests import fakes
from tests.pages import folder

MOST = PictureNetwork.most_items

CPU = torch.device("cpu")
LINES = [
    "a small red circle above a large blue square",
    "a large green ring left of a small white star",
]
ENCODER = {"side": 32, "channels": 2}


def config(words: int, **options: object) -> CaptionerConfig:
    values = {
        "grid": 4,
        "layers": 2,
        "width": 16,
        "filter": 16,
        "heads": 2,
        "dropout": 0.0,
        "area_size": 2,
        **options,
    }
    return CaptionerConfig(words, encoder=ENCODER, **values)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> GenerationModel:
    path = tmp_path_factory.mktemp("captioner")
    tokenizer = Tokenizer.train(LINES * 3, "word", 40)
    tokenizer.save(path / TOKENIZER)
    torch.manual_seed(0)
    options = config(len(tokenizer))
    save_weights(CaptionTransformer(options), path)
    card = replace(
        folder.card("captioner", "area"), family="captioner", task="caption", config=asdict(options)
    )
    return GenerationModel.load(path, card, CPU)


def features_of(model: GenerationModel, *pictures: Picture) -> torch.Tensor:
    requests = [Request("captioner", "", picture=picture) for picture in pictures]
    return torch.stack([parts["picture"] for parts in model.read_inputs(requests)])


def test_words_are_separate_tokens() -> None:
    tokenizer = Tokenizer.train(LINES * 3, "word", 40)
    tokens = tokenizer.tokens("a large red ring")
    assert [token.text for token in tokens] == ["a", "large", "red", "ring"]
    assert [(token.start, token.end) for token in tokens] == [(0, 1), (2, 7), (8, 11), (12, 16)]


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_picture_gives_a_valid_trace(model: GenerationModel, method: str) -> None:
    trace = model.trace([Request("captioner", "", method, 2, picture=fakes.picture())])[0]
    validate(trace)
    grids = {
        site: (one.grid.height, one.grid.width, one.grid.max_height)
        for site, one in trace.maps.items()
    }
    words = len(trace.fields["target"])
    assert grids == {
        "encoder self": (4, 4, 2),
        "encoder-decoder": (4, 4, 2),
        "decoder self": (1, words, 1),
    }
    assert trace.fields["picture"].anchors[-1].tolist() == [72, 48, 96, 64]


def test_recorded_pass_equals_decoding_pass(model: GenerationModel) -> None:
    """Step by step and in one pass, words have equal probabilities."""
    trace = model.trace([Request("captioner", "", picture=fakes.picture())])[0]
    told = float(trace.details["log-probability"])
    assert float(np.log(trace.output.probabilities).sum()) == pytest.approx(told, abs=2e-3)


def test_batch_equals_single_pictures(model: GenerationModel) -> None:
    pictures = [fakes.picture("one"), fakes.picture("two", 40, 80)]
    both = model.trace([Request("captioner", "", picture=picture) for picture in pictures])
    for trace, picture in zip(both, pictures, strict=True):
        alone = model.trace([Request("captioner", "", picture=picture)])[0]
        assert trace.fields["target"].raw == alone.fields["target"].raw
        np.testing.assert_allclose(
            trace.maps["encoder-decoder"].weights, alone.maps["encoder-decoder"].weights, atol=1e-5
        )


def test_captions_of_one_picture_share_its_memory(model: GenerationModel) -> None:
    """In training, several captions attend to one picture as if each had its own copy."""
    features = features_of(model, fakes.picture("one"), fakes.picture("two", 40, 80))
    captions = torch.tensor([[START, 5, 6], [START, 7, 8], [START, 5, 9], [START, 4, 4]])
    together = model.network(features, captions)
    copies = model.network(features.repeat_interleave(2, 0), captions)
    torch.testing.assert_close(together, copies)


def test_areas_resize_only_to_learned_sizes(model: GenerationModel, tmp_path: Path) -> None:
    model.tokenizer.save(tmp_path / TOKENIZER)
    save_weights(model.network, tmp_path)
    single = GenerationModel.load(tmp_path, model.card, CPU, area_size=1)
    assert (
        single.trace([Request("captioner", "", picture=fakes.picture())])[0]
        .maps["encoder self"]
        .grid.count
        == 16
    )
    features = replace(model.card, config={**model.card.config, "key_mode": "features"})
    with pytest.raises(InputError, match="Choose a size from 1 to 2"):
        GenerationModel.load(tmp_path, features, CPU, area_size=3)


@pytest.mark.parametrize("shape", [(1, 1), (1, 640), (640, 3)])
def test_pictures_of_any_shape_are_described(
    model: GenerationModel, shape: tuple[int, int]
) -> None:
    picture = Picture.of("odd", np.zeros((*shape, 3), np.uint8))
    validate(model.trace([Request("captioner", "", picture=picture)])[0])


def test_text_is_refused(model: GenerationModel) -> None:
    with pytest.raises(InputError, match="needs a picture"):
        model.trace([Request("captioner", "a dog")])


def test_grid_areas_decode_as_they_were_trained(model: GenerationModel) -> None:
    """Beams share the picture's pooled areas. A beam search of width 1 equals greedy decoding."""
    asked = Request("captioner", "", picture=fakes.picture())
    features = features_of(model, fakes.picture())
    greedy = model.generate([asked], model.read_inputs([asked]))[0]
    found = beam_search(model.network.write(features), START, 3, [30], 1, 0.0)[0][0]
    assert found.ids == greedy.ids


def test_given_sentences_are_traced(model: GenerationModel) -> None:
    asked = Request("captioner", "", picture=fakes.picture(), target="a small red circle")
    weights = model.attend([asked]).weights["encoder-decoder"]
    assert [layer.shape for layer in weights] == [(1, 2, 5, 49)] * 2
    np.testing.assert_allclose(weights[0].sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize("mode", [("max", "sum"), ("features", "sum"), ("mean", "mean")])
def test_other_keys_and_values_can_be_trained(mode: tuple[str, str]) -> None:
    torch.manual_seed(0)
    network = CaptionTransformer(config(20, key_mode=mode[0], value_mode=mode[1]))
    pixels = torch.randint(0, 255, (2, 32, 32, 3), dtype=torch.uint8)
    network(network.encode_pictures(pixels), torch.randint(4, 20, (4, 5))).sum().backward()
    assert all(value.grad is not None for value in network.parameters())


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_changed_run_is_decoded_as_it_is_recorded(model: GenerationModel, method: str) -> None:
    changes = (
        Weigh("encoder-decoder", (5, 6), factor=0.1, layer=1),
        Hide("picture", (0, 1)),
        Gate("encoder self", 0, 1),
    )
    trace = model.trace(
        [Request("captioner", "", method, 2, picture=fakes.picture(), changes=changes)]
    )[0]
    validate(trace)
    told = float(trace.details["log-probability"])
    assert float(np.log(trace.output.probabilities).sum()) == pytest.approx(told, abs=2e-3)
    assert not trace.maps["encoder-decoder"].weights[..., :2].any()


def test_banned_area_is_removed_and_weights_renormalised(model: GenerationModel) -> None:
    asked = Request("captioner", "", picture=fakes.picture(), target="a small red circle")
    plain = model.trace([asked])[0].maps["encoder-decoder"]
    ban = Weigh("encoder-decoder", areas=(Area(1, 2, 2, 2),), layer=0, head=1)
    changed = model.trace([replace(asked, changes=(ban,))])[0].maps["encoder-decoder"]
    index, expected = plain.grid.index(Area(1, 2, 2, 2)), plain.weights[0, 1].copy()
    expected[:, index] = 0
    np.testing.assert_allclose(
        changed.weights[0, 1], expected / expected.sum(-1, keepdims=True), atol=1e-6
    )
    np.testing.assert_allclose(changed.weights[0, 0], plain.weights[0, 0], atol=1e-6)


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        (Request("captioner", "", changes=(Hide("source", (0,)),)), "Choose items of: picture"),
        (
            Request(
                "captioner", "", changes=(Weigh("encoder-decoder", areas=(Area(0, 0, 3, 1),)),)
            ),
            "3x1",
        ),
        (
            Request("captioner", "", target="star " * (MOST + 1)),
            f"the limit is {MOST}",
        ),
    ],
)
def test_impossible_change_is_refused(model: GenerationModel, asked: Request, part: str) -> None:
    with pytest.raises(InputError, match=part):
        model.trace([replace(asked, picture=fakes.picture())])


def test_too_large_maps_are_refused_before_running(
    model: GenerationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Request("captioner", "", picture=fakes.picture())
    run = model.trace([replace(asked, target=LINES[0])])[0]
    taken = sum(one.weights.nbytes for one in run.maps.values())
    monkeypatch.setattr(recording, "MAX_TRACE_BYTES", taken)
    assert model.trace([replace(asked, target=LINES[0])])
    monkeypatch.setattr(recording, "MAX_TRACE_BYTES", taken - 1)
    monkeypatch.setattr(CaptionTransformer, "encode_pictures", lambda *_: pytest.fail("it ran"))
    for request in (asked, replace(asked, target=LINES[0])):
        with pytest.raises(InputError, match="the limit is .* MiB. Choose a smaller largest area"):
            model.trace([request])
