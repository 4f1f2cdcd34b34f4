"""Models of pictures: ViT, VisionEncoderDecoder and timm's vision transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from PIL import Image

import areaviz
from areaviz.trace import file
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from tests import fakes
from tests.adapters import small
from tests.adapters.library import eager


def cells(weights: Any) -> Any:
    """Return attention among the cells as shares. The first item is the class token."""
    inner = weights[..., 1:, 1:]
    return inner / inner.sum(-1, keepdims=True)


def test_vit_shows_cells_and_class_token() -> None:
    model, values = small.vit(), torch.rand(1, 3, 24, 32)
    trace = areaviz.attend(model, values)
    validate(trace)
    weights = torch.stack(eager(model, pixel_values=values).attentions)[:, 0].numpy()
    np.testing.assert_allclose(trace.maps["encoder self"].weights, cells(weights), atol=1e-5)
    first = weights[:, :, :1, 1:]
    np.testing.assert_allclose(
        trace.maps["class token"].weights, first / first.sum(-1, keepdims=True), atol=1e-5
    )
    assert f"{weights[..., 0].mean():.0%} of the attention" in trace.details["warning"]
    grid = trace.maps["encoder self as areas"].grid
    assert (grid.height, grid.width, grid.max_height, grid.max_width) == (3, 4, 3, 3)


def test_vit_target_is_its_class() -> None:
    model, values = (
        small.vit(id2label={0: "cat", 1: "dog"}, label2id={"cat": 0, "dog": 1}),
        torch.rand(1, 3, 24, 32),
    )
    trace, likely = (
        areaviz.attend(model, values),
        eager(model, pixel_values=values).logits[0].softmax(-1),
    )
    assert trace.fields["target"].labels == (("cat", "dog")[int(likely.argmax())],)
    np.testing.assert_allclose(trace.output.probabilities, [float(likely.max())], rtol=1e-4)


def test_attend_accepts_every_form_of_picture() -> None:
    seen = fakes.picture()
    traces = [
        areaviz.attend(small.vit(), given)
        for given in (seen, seen.pixels, Image.fromarray(seen.pixels))
    ]
    for trace in traces:
        np.testing.assert_array_equal(
            trace.maps["encoder self"].weights, traces[0].maps["encoder self"].weights
        )
        assert trace.request.picture and trace.request.picture.rgb == seen.rgb
        assert trace.fields["picture"].anchors[-1].tolist() == [72, 43, 96, 64]


def test_processor_determines_model_input() -> None:
    def half(images: Image.Image, return_tensors: str) -> dict[str, torch.Tensor]:
        assert (images.size, return_tensors) == ((96, 64), "pt")
        return {"pixel_values": torch.linspace(0, 1, 3 * 24 * 32).reshape(1, 3, 24, 32)}

    trace = areaviz.attend(small.vit(), fakes.picture(), processor=half)
    assert trace.request.picture and (
        trace.request.picture.height,
        trace.request.picture.width,
    ) == (24, 32)


def test_captioner_shows_three_sites() -> None:
    model, values = small.captioner(), torch.rand(1, 3, 24, 32)
    trace = areaviz.attend(model, values, target=[5, 6, 7, 3])
    validate(trace)
    expected = eager(model, pixel_values=values, decoder_input_ids=torch.tensor([[2, 5, 6, 7]]))
    across = torch.stack(expected.cross_attentions)[:, 0, :, :, 1:].numpy()
    shares = across / across.sum(-1, keepdims=True)
    np.testing.assert_allclose(trace.maps["encoder-decoder"].weights, shares, atol=1e-5)
    inner = torch.stack(expected.encoder_attentions)[:, 0].numpy()
    np.testing.assert_allclose(trace.maps["encoder self"].weights, cells(inner), atol=1e-5)
    assert trace.maps["decoder self"].memory == "history"
    again = file.trace_from_bytes(file.trace_to_bytes(trace))
    assert [one.derived for one in again.maps.values()] == [
        one.derived for one in trace.maps.values()
    ]


def test_captioner_writes_without_target() -> None:
    assert len(areaviz.attend(small.captioner(), fakes.picture(), steps=3).fields["target"]) == 3


@pytest.fixture(scope="module")
def timm_vit() -> Any:
    import timm

    torch.manual_seed(0)
    model = timm.create_model(
        "vit_tiny_patch16_224", img_size=48, patch_size=16, depth=2, num_classes=5
    )
    return small.sharp(model)


def plain_weights(model: Any, values: torch.Tensor) -> torch.Tensor:
    """Compute every layer's attention from its projection by hand: [L, H, N, N]."""
    found = []
    for block in model.blocks:
        block.attn.qkv.register_forward_hook(lambda _, given, made: found.append(made[0]))
    with torch.no_grad():
        model.eval()(values)
    for block in model.blocks:
        block.attn.qkv._forward_hooks.clear()
    query, key, _ = torch.stack(found).unflatten(-1, (3, 3, 64)).permute(2, 0, 3, 1, 4).unbind(0)
    weights: torch.Tensor = (query @ key.transpose(-1, -2) * 64**-0.5).softmax(-1)
    return weights


@pytest.mark.parametrize("fused", [True, False])
def test_timm_weights_match_projections_and_model_stays_unchanged(
    timm_vit: Any, fused: bool
) -> None:
    values = torch.rand(1, 3, 48, 48)
    for block in timm_vit.blocks:
        block.attn.fused_attn = fused
    timm_vit.train()
    trace = areaviz.attend(timm_vit, values)
    validate(trace)
    assert timm_vit.training and all(block.attn.fused_attn is fused for block in timm_vit.blocks)
    assert not any(
        module._forward_hooks or module._forward_pre_hooks for module in timm_vit.modules()
    )
    expected = cells(plain_weights(timm_vit, values).numpy())
    np.testing.assert_allclose(trace.maps["encoder self"].weights, expected, atol=1e-5)
    assert "encoder self as areas" in trace.maps and "class token as areas" in trace.maps


def test_timm_siglip_has_pooling_latents_and_no_class_token() -> None:
    import timm

    torch.manual_seed(0)
    sizes = {"img_size": 64, "depth": 2, "embed_dim": 32, "num_heads": 4, "num_classes": 0}
    model = timm.create_model("vit_base_patch16_siglip_224", **sizes).eval()
    values = torch.rand(1, 3, 64, 64)
    trace = areaviz.attend(model, values, area_size=1)
    assert set(trace.maps) == {"encoder self", "pooling"}
    assert trace.fields["pooling"].labels == ("⟨latent 1⟩",)
    pool = model.attn_pool
    with torch.no_grad():
        cells = model.forward_features(values)
        query = pool.q(pool.latent).view(1, 1, 4, -1).transpose(1, 2)
        key = pool.kv(cells).view(1, 16, 2, 4, -1)[:, :, 0].transpose(1, 2)
        own = (query @ key.transpose(-1, -2) * pool.scale).softmax(-1)
    np.testing.assert_allclose(trace.maps["pooling"].weights[0], own[0], atol=1e-5)


def test_timm_without_class_token_shows_only_cells() -> None:
    import timm

    model = timm.create_model(
        "vit_tiny_patch16_224",
        img_size=48,
        depth=1,
        class_token=False,
        global_pool="avg",
        num_classes=0,
    )
    trace: Trace = areaviz.attend(model, fakes.picture())
    assert list(trace.maps) == ["encoder self", "encoder self as areas", "encoder self sums"]
    assert "warning" not in trace.details and not len(trace.output.probabilities)


@pytest.mark.parametrize(
    "given", [b"text", torch.rand(2, 5, 24, 32), np.zeros((4, 4), np.uint8), torch.rand(5)]
)
def test_invalid_picture_is_refused_in_one_sentence(given: object) -> None:
    with pytest.raises(InputError, match="one picture|must be a picture"):
        areaviz.attend(small.vit(), given)


@pytest.mark.parametrize("given", ["a small dog", "/no/such/dog.png", Path("dog.png")])
def test_text_for_a_model_of_pictures_is_refused(given: object) -> None:
    with pytest.raises(InputError, match="reads a picture but was given a text. Open the picture"):
        areaviz.attend(small.vit(), given)


def test_windows_and_merged_cells_are_refused() -> None:
    import timm
    import transformers

    sizes: dict[str, Any] = {
        "embed_dim": 8,
        "depths": [1, 1],
        "num_heads": [2, 2],
        "window_size": 4,
    }
    config = transformers.SwinConfig(image_size=64, patch_size=4, **sizes)
    with pytest.raises(InputError, match="within windows"):
        areaviz.attend(transformers.SwinModel(config), torch.rand(1, 3, 64, 64))
    with pytest.raises(InputError, match="Give a probe"):
        areaviz.attend(timm.create_model("resnet10t", num_classes=2), fakes.picture())


SMALL: dict[str, Any] = {"img_size": 64, "embed_dim": 32, "num_heads": 4, "num_classes": 3}


@pytest.mark.parametrize(
    ("name", "more", "sites"),
    [
        ("beit_base_patch16_224", {}, {"class token": 2, "encoder self": 2}),
        ("eva02_tiny_patch14_224", {"img_size": 56}, {"class token": 2, "encoder self": 2}),
        ("convit_tiny", {"local_up_to_layer": 2}, {"encoder self": 2}),
        ("cait_xxs24_224", {}, {"class token": 2}),
        (
            "samvit_base_patch16",
            {"global_attn_indexes": (1,), "window_size": 2},
            {"encoder self": 1},
        ),
    ],
)
def test_timm_families_show_their_sites(
    name: str, more: dict[str, Any], sites: dict[str, int]
) -> None:
    import timm

    torch.manual_seed(0)
    sizes = {**SMALL, "depth": 2, **more}
    model, values = timm.create_model(name, **sizes), torch.rand(1, 3, 64, 64)
    values = values[..., : sizes["img_size"], : sizes["img_size"]]
    trace = areaviz.attend(small.sharp(model), values, area_size=2)
    validate(trace)
    shown = {one.site: one.weights.shape[0] for one in trace.maps.values() if not one.derived}
    assert shown == sites
    assert "not shown" in str(trace.details) or name[:4] not in ("cait", "samv")


def test_timm_layers_of_different_cells_are_not_mixed() -> None:
    import timm

    swin: dict[str, Any] = {"depths": (1, 1), "num_heads": (2, 2), "embed_dim": 32}
    model = timm.create_model("swin_tiny_patch4_window7_224", img_size=112, **swin)
    with pytest.raises(InputError, match="within windows"):
        areaviz.attend(model, torch.rand(1, 3, 112, 112))
    sizes = {**SMALL, "depth": 2, "local_up_to_layer": 1}
    model, values = timm.create_model("convit_tiny", **sizes), torch.rand(1, 3, 64, 64)
    with pytest.raises(InputError, match="16 and 17 items for 4 x 4 patches.*layers="):
        areaviz.attend(model, values)
    assert areaviz.attend(model, values, layers=[0]).maps["encoder self"].layers == 1


def decoder(kind: str, **more: Any) -> Any:
    sizes = {"d_model": 16, "decoder_layers": 2, "decoder_attention_heads": 4}
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=13, decoder_ffn_dim=24, max_position_embeddings=32, is_decoder=True,
        add_cross_attention=True, bos_token_id=2, eos_token_id=3, pad_token_id=0, **sizes, **more,
    )  # fmt: skip
    return getattr(transformers, f"{kind}ForCausalLM")(config)


def describer(encoder: Any, writer: Any) -> Any:
    model = transformers.VisionEncoderDecoderModel(encoder=encoder, decoder=writer)
    model.config.decoder_start_token_id = model.generation_config.decoder_start_token_id = 2
    return model


def test_trocr_is_recorded_in_two_ways() -> None:
    """TrOCR's encoder looks up an attention function, and its decoder computes its own softmax."""
    torch.manual_seed(0)
    writer = decoder("TrOCR", cross_attention_hidden_size=16)
    model, values = describer(small.vit("ViTModel"), writer), torch.rand(1, 3, 24, 32)
    trace = areaviz.attend(model, values, target=[5, 6, 7])
    expected = eager(model, pixel_values=values, decoder_input_ids=torch.tensor([[2, 5, 6]]))
    across = torch.stack(expected.cross_attentions)[:, 0, :, :, 1:]
    shares = (across / across.sum(-1, keepdim=True)).numpy()
    np.testing.assert_allclose(trace.maps["encoder-decoder"].weights, shares, atol=1e-5)
    inner = torch.stack(expected.encoder_attentions)[:, 0].numpy()
    np.testing.assert_allclose(trace.maps["encoder self"].weights, cells(inner), atol=1e-5)
    assert "decoder self" in trace.maps and "and the weights" in trace.details["attention"]


def test_donut_shows_attention_to_the_merged_cells() -> None:
    torch.manual_seed(0)
    config = transformers.DonutSwinConfig(
        image_size=(64, 64), patch_size=4, embed_dim=8, depths=[1, 1], num_heads=[2, 2],
        window_size=4,
    )  # fmt: skip
    writer = decoder("MBart")
    model = describer(transformers.DonutSwinModel(config), writer)
    values = torch.rand(1, 3, 64, 64)
    trace = areaviz.attend(model, values, target=[5, 6, 7])
    grid = trace.maps["encoder-decoder"].grid
    assert (grid.height, grid.width) == (8, 8)
    expected = eager(model, pixel_values=values, decoder_input_ids=torch.tensor([[2, 5, 6]]))
    across = torch.stack(expected.cross_attentions)[:, 0].numpy()
    np.testing.assert_allclose(trace.maps["encoder-decoder"].weights, across, atol=1e-5)
    assert "encoder self" not in trace.maps and "not shown" in str(trace.details)
