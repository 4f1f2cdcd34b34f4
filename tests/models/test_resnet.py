"""ResNet-152: its size, its names, its cells, and loading from a file of random weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from areaviz.lab.pictures import load_encoder
from areaviz.models.pictures import RESNET_FILE, ResNet152, build_picture_encoder
from areaviz.trace.errors import InputError

OPTIONS = {"kind": "resnet152", "side": 224, "channels": 128}
RES5_AND_CLASSIFIER = 14_964_736 + 2_049_000
WHOLE = 60_192_808
"""Parameters of the published network. RES5_AND_CLASSIFIER counts those that are left out."""


def on_meta() -> ResNet152:
    with torch.device("meta"):
        made = build_picture_encoder(OPTIONS, 14)
    assert isinstance(made, ResNet152)
    return made


def test_resnet_has_the_published_parameters_up_to_res4() -> None:
    assert sum(value.numel() for value in on_meta().parameters()) == WHOLE - RES5_AND_CLASSIFIER


def test_weight_names_match_the_published_file() -> None:
    shapes = {name: tuple(value.shape) for name, value in on_meta().state_dict().items()}
    assert shapes["conv1.weight"] == (64, 3, 7, 7)
    assert shapes["layer1.0.downsample.0.weight"] == (256, 64, 1, 1)
    assert shapes["layer2.0.conv2.weight"] == (128, 128, 3, 3)
    assert shapes["layer3.35.conv3.weight"] == (1024, 256, 1, 1)
    assert shapes["layer3.35.bn3.running_var"] == (1024,)
    assert not [name for name in shapes if name.startswith("layer1.1.downsample")]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a complete weight file with random values, including some of the parts left out."""
    folder = tmp_path_factory.mktemp("resnet152")
    torch.manual_seed(0)
    made = build_picture_encoder(OPTIONS, 14).state_dict()
    torch.save(
        {**made, "layer4.0.conv1.weight": torch.zeros(1), "fc.weight": torch.zeros(1)},
        folder / RESNET_FILE,
    )
    return folder


def test_weight_file_makes_the_grids(weights: Path) -> None:
    encoder = build_picture_encoder({**OPTIONS, "grids": [8, 14]}, 14)
    load_encoder(encoder, weights)
    stored = torch.load(weights / RESNET_FILE, weights_only=True)
    torch.testing.assert_close(
        encoder.state_dict()["layer3.35.conv3.weight"], stored["layer3.35.conv3.weight"]
    )
    pixels = torch.randint(0, 256, (1, 224, 224, 3), dtype=torch.uint8)
    with torch.no_grad():
        found = encoder.eval()(pixels)
    assert {grid: tuple(x.shape) for grid, x in found.items()} == {
        8: (1, 64, 1024),
        14: (1, 196, 1024),
    }
    assert all(torch.isfinite(x).all() and x.std() > 0 for x in found.values())
    assert encoder.config.width == 1024


def test_missing_or_foreign_file_is_reported(tmp_path: Path) -> None:
    encoder = build_picture_encoder(OPTIONS, 14)
    with pytest.raises(InputError, match="is missing. Fetch"):
        load_encoder(encoder, tmp_path)
    torch.save({"conv1.weight": torch.zeros(1)}, tmp_path / RESNET_FILE)
    with pytest.raises(InputError, match="does not contain the weights"):
        load_encoder(encoder, tmp_path)
