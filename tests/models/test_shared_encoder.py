"""An encoder shared by models has its own file, and every model's card has its digest."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from areaviz.models.base import (
    WEIGHTS,
    compute_digests,
    list_shared_files,
    load_weights,
    save_weights,
)
from areaviz.models.captions import CaptionerConfig, CaptionTransformer
from areaviz.trace.errors import BackendError
from tests.models.test_efficientnet import OPTIONS

NAME = "shared/efficientnet-lite0.safetensors"
CONFIG = CaptionerConfig(20, 1, 16, 16, 2, encoder=OPTIONS, grid=2)


def network(seed: int) -> CaptionTransformer:
    """Return a network with random weights whose encoder does not depend on the seed."""
    torch.manual_seed(0)
    encoder = CaptionTransformer(CONFIG).pictures.state_dict()
    torch.manual_seed(seed)
    made = CaptionTransformer(CONFIG).eval()
    made.pictures.load_state_dict(encoder)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return one of two checkpoints that share an encoder."""
    for seed in (1, 2):
        (tmp_path / f"model-{seed}").mkdir()
        save_weights(network(seed), tmp_path / f"model-{seed}")
    return tmp_path / "model-1"


def test_shared_encoder_is_stored_once(folder: Path) -> None:
    assert [path.name for path in (folder.parent / "shared").iterdir()] == [Path(NAME).name]
    assert not [name for name in load_file(folder / WEIGHTS) if name.startswith("pictures.")]
    assert list_shared_files(folder) == [NAME]
    assert compute_digests(folder).keys() == {WEIGHTS, NAME}
    other = folder.parent / "model-2"
    assert compute_digests(folder)[NAME] == compute_digests(other)[NAME]
    assert compute_digests(folder)[WEIGHTS] != compute_digests(other)[WEIGHTS]


def test_model_is_loaded_from_both_files(folder: Path) -> None:
    loaded = network(3)
    load_weights(loaded, folder, compute_digests(folder))
    for name, value in network(1).state_dict().items():
        torch.testing.assert_close(loaded.state_dict()[name], value.half().to(value.dtype))


@pytest.mark.parametrize("spoil", ["changed", "missing"])
def test_encoder_not_on_the_card_is_refused(folder: Path, spoil: str) -> None:
    files, path = compute_digests(folder), folder.parent / NAME
    if spoil == "missing":
        path.unlink()
    else:
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    wanted = "is missing" if spoil == "missing" else "does not have the SHA-256 on its card"
    with pytest.raises(BackendError, match=f"model-1 cannot be loaded: {NAME} {wanted}"):
        load_weights(network(3), folder, files)


def test_model_with_own_encoder_names_no_shared_one(tmp_path: Path) -> None:
    own = CaptionTransformer(replace(CONFIG, encoder={"side": 32, "channels": 2}))
    save_weights(own, tmp_path)
    assert list_shared_files(tmp_path) == [] and not (tmp_path.parent / "shared").exists()
    shutil.rmtree(tmp_path)
    assert list_shared_files(tmp_path) == []
