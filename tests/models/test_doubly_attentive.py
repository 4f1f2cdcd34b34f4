"""The doubly attentive Transformer with a text, a picture, or both.

Step-by-step decoding is compared with one pass.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from areaviz.attention.interventions import NetworkInterventions
from areaviz.models import recording
from areaviz.models.base import TOKENIZER, save_weights
from areaviz.models.generation import GenerationModel
from areaviz.models.network import PictureNetwork
from areaviz.models.picture_translation import DoublyAttentiveTransformer, TwoMemoriesConfig
from areaviz.models.tokenizer import START, Tokenizer
from areaviz.models.translation import Transformer
from areaviz.trace.changes import Change, Gate, Hide, Weigh
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from tests import fakes
from tests.pages import folder

MOST = PictureNetwork.most_items

TEXT = {"layers": 2, "width": 16, "filter": 16, "heads": 2, "dropout": 0.0}
LINES = [
    "a small red circle above a large blue square",
    "ein roter Kreis über einem blauen Quadrat",
    "a ? star",
]


SITES = DoublyAttentiveTransformer.sites


def network(words: int = 20, **options: object) -> DoublyAttentiveTransformer:
    torch.manual_seed(0)
    config = TwoMemoriesConfig(words, TEXT, {"side": 32, "channels": 2}, grid=4, **options)  # type: ignore[arg-type]
    return DoublyAttentiveTransformer(config).eval().requires_grad_(False)


def examples() -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(2)
    source, target = torch.randint(4, 20, (2, 6)), torch.randint(4, 20, (2, 5))
    source[1, 4:] = 0
    target[:, 0] = START
    return source, torch.randn(2, 16, 16), target


def test_model_without_picture_equals_plain_transformer() -> None:
    made, (source, _, target) = network(), examples()
    plain = Transformer(made.config.transformer).eval()
    missing = plain.load_state_dict(made.state_dict(), strict=False)
    assert not missing.missing_keys
    assert {name.split(".")[0] for name in missing.unexpected_keys} == {
        "pictures",
        "enter",
        "place",
        "decoder",
    }
    torch.testing.assert_close(made(source, None, target), plain(source, target), rtol=0, atol=0)


@pytest.mark.parametrize("given", ["both", "text", "picture"])
@pytest.mark.parametrize("size", [1, 2])
def test_steps_equal_the_whole_pass(given: str, size: int) -> None:
    made, (source, features, target) = network(picture_size=size), examples()
    text, picture = (
        (source if given != "picture" else None),
        (features if given != "text" else None),
    )
    whole = made(text, picture, target)
    stepper = made.write(text, picture)
    for step in range(target.shape[1]):
        likely = stepper.step(target[:, step])
        writable = torch.isfinite(likely[0])
        expected = whole[:, step].masked_fill(~writable, -torch.inf).log_softmax(1)
        torch.testing.assert_close(likely, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "changes",
    [
        (Weigh("encoder-decoder picture", (5, 6)), Gate("encoder-decoder", 0, 1)),
        (Hide("picture", tuple(range(16))), Weigh("decoder self", (0,), factor=0.2)),
        (Hide("source", (1, 2)), Gate("encoder-decoder picture", factor=3.0)),
    ],
)
def test_steps_equal_the_whole_pass_under_a_change(changes: tuple[Change, ...]) -> None:
    made, (source, features, target) = network(picture_size=2), examples()
    changed = NetworkInterventions.from_changes(changes, SITES, 2)
    run, stepper = (
        made.attend(source, features, target, changed=changed),
        made.write(source, features, changed),
    )
    assert not torch.allclose(run.logits, made(source, features, target), atol=1e-3)
    for step in range(target.shape[1]):
        likely = stepper.step(target[:, step])
        expected = (
            run.logits[:, step].masked_fill(~torch.isfinite(likely[0]), -torch.inf).log_softmax(1)
        )
        torch.testing.assert_close(likely, expected, rtol=1e-4, atol=1e-4)


def test_hidden_picture_adds_nothing() -> None:
    made, (source, features, target) = network(), examples()
    hidden = made.attend(
        source,
        features,
        target,
        changed=NetworkInterventions.from_changes((Hide("picture", tuple(range(16))),), SITES, 2),
    )
    torch.testing.assert_close(hidden.logits, made(source, None, target), rtol=1e-5, atol=1e-5)
    assert not any(strength.any() for strength in hidden.strength["encoder-decoder picture"])


def test_given_picture_changes_the_output() -> None:
    made, (source, features, target) = network(), examples()
    assert not torch.allclose(
        made(source, features, target), made(source, features.flip(0), target)
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> GenerationModel:
    path = tmp_path_factory.mktemp("doubly")
    tokenizer = Tokenizer.train(LINES * 3, "word", 40)
    tokenizer.save(path / TOKENIZER)
    made = network(len(tokenizer))
    save_weights(made, path)
    recipe = {"length_limit": {"ratio": 1.5, "extra": 3}}
    card = replace(
        folder.card("doubly", "area"), family="doubly", config=asdict(made.config), recipe=recipe
    )
    return GenerationModel.load(path, card, torch.device("cpu"))


@pytest.mark.parametrize("method", ["greedy", "beam"])
@pytest.mark.parametrize("text", ["a red circle", ""])
@pytest.mark.parametrize("pictured", [True, False])
def test_every_given_input_is_attended_to(
    model: GenerationModel, method: str, text: str, pictured: bool
) -> None:
    request = Request("doubly", text, method, 2, picture=fakes.picture() if pictured else None)
    if not text and not pictured:
        with pytest.raises(InputError, match="neither a sentence nor a picture"):
            model.trace([request])
        return
    trace = model.trace([request])[0]
    validate(trace)
    expected = {"decoder self"} | ({"encoder self", "encoder-decoder"} if text else set())
    expected |= {"encoder-decoder picture"} if pictured else set()
    assert set(trace.maps) == expected
    for site in expected & {"encoder-decoder", "encoder-decoder picture"}:
        assert trace.maps[site].strength is not None
    assert all(
        trace.maps[site].strength is None for site in expected & {"encoder self", "decoder self"}
    )


def test_changes_and_given_outputs_are_checked_and_shown(model: GenerationModel) -> None:
    asked = Request("doubly", "a red circle", picture=fakes.picture(), target="ein roter Kreis")
    trace = model.trace(
        [replace(asked, changes=(Weigh("encoder-decoder picture", (3,), query=1),))]
    )[0]
    validate(trace)
    assert trace.fields["target"].raw == "ein roter Kreis"
    banned = (trace.maps["encoder-decoder picture"].weights[..., 3] == 0).all(axis=(0, 1))
    assert banned.tolist() == [False, True, False, False]
    for wrong, part in (
        (replace(asked, picture=None, changes=(Gate("encoder-decoder picture"),)), "no site"),
        (replace(asked, changes=(Hide("picture", (16,)),)), "16 items"),
        (
            replace(asked, target="star " * (MOST + 1)),
            f"the limit is {MOST}",
        ),
    ):
        with pytest.raises(InputError, match=part):
            model.trace([wrong])


def test_text_beyond_the_limit_is_refused(model: GenerationModel) -> None:
    with pytest.raises(InputError, match=f"the limit is {MOST}"):
        model.trace([Request("doubly", "star " * (MOST + 1))])


def test_areas_resize_only_to_learned_sizes() -> None:
    plain = network(picture_size=1).config
    assert plain.with_area_size(None) == plain
    none = replace(plain, text={**TEXT, "area_layers": 0})
    assert none.with_area_size(3).transformer.area_layers == 2 and none.with_area_size(3).areas(
        1
    ).size == (3, 3)
    learned = replace(plain, text={**TEXT, "area_size": 2, "key_mode": "features"})
    with pytest.raises(InputError, match="Choose a size from 1 to 2"):
        learned.with_area_size(3)
    assert learned.with_area_size(2).picture_size == 2, "the text's areas stay as they were learned"


def test_larger_areas_need_no_training(model: GenerationModel, tmp_path: Path) -> None:
    save_weights(model.network, tmp_path)
    model.tokenizer.save(tmp_path / TOKENIZER)
    wider = GenerationModel.load(tmp_path, model.card, torch.device("cpu"), area_size=2)
    trace = wider.trace([Request("doubly", "a red circle", picture=fakes.picture())])[0]
    validate(trace)
    assert trace.maps["encoder-decoder picture"].grid.max_height == 2
    assert trace.maps["encoder-decoder"].grid.max_width == 2


def test_too_large_maps_are_refused_before_running(
    model: GenerationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Request("doubly", "a red circle", picture=fakes.picture(), target="ein roter Kreis")
    taken = sum(one.weights.nbytes for one in model.trace([asked])[0].maps.values())
    monkeypatch.setattr(recording, "MAX_TRACE_BYTES", taken)
    assert model.trace([asked])
    monkeypatch.setattr(recording, "MAX_TRACE_BYTES", taken - 1)
    monkeypatch.setattr(
        DoublyAttentiveTransformer, "encode_pictures", lambda *_: pytest.fail("it ran")
    )
    for request in (asked, replace(asked, target=None)):
        with pytest.raises(InputError, match="the limit is .* MiB. Choose a smaller largest area"):
            model.trace([request])


def test_requests_with_and_without_picture_run_together(model: GenerationModel) -> None:
    asked = [Request("doubly", "a red circle"), Request("doubly", "", picture=fakes.picture())]
    for trace, request in zip(model.trace(asked), asked, strict=True):
        validate(trace)
        alone = model.trace([request])[0]
        assert (trace.request, set(trace.maps)) == (request, set(alone.maps))
        assert trace.fields["target"].raw == alone.fields["target"].raw
