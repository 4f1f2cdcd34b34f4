"""Attention above the memory budget is read by layer, or rejected before the model runs."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor, nn

import areaviz
from areaviz.adapters import run
from areaviz.adapters.heads import Heads, map_to_file
from areaviz.draw.select import list_sites
from areaviz.trace import errors
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Trace, count_held_bytes
from areaviz.views.views import VIEWS
from tests.adapters import architectures, small
from tests.adapters.architectures import ARCHITECTURES
from tests.adapters.test_architectures import REFUSED
from tests.trace.test_weights_file import descriptors

IDS = [5, 6, 7, 8, 9, 10, 11, 12, 5, 6]
LAYER = 4 * 4 * len(IDS) * len(IDS)
DEEP = 8


def deep(kind: str) -> Any:
    """Return a small model of eight layers."""
    config: Any = {
        "BertModel": transformers.BertConfig(
            vocab_size=13, num_hidden_layers=DEEP, max_position_embeddings=64, hidden_size=16,
            num_attention_heads=4, intermediate_size=24,
        ),
        "GPT2LMHeadModel": transformers.GPT2Config(
            vocab_size=13, n_layer=DEEP, n_positions=64, n_embd=16, n_head=4
        ),
        "T5ForConditionalGeneration": transformers.T5Config(
            vocab_size=13, num_layers=DEEP, num_decoder_layers=DEEP, d_model=16, d_kv=4, d_ff=24,
            num_heads=4,
        ),
    }[kind]  # fmt: skip
    torch.manual_seed(0)
    model = small.sharp(getattr(transformers, kind)(config))
    if kind.startswith("T5"):
        model.generation_config.update(decoder_start_token_id=0)
    return model


KINDS = ("BertModel", "GPT2LMHeadModel", "T5ForConditionalGeneration")


class Unseen(nn.Module):
    """Three layers of attention whose queries and keys cannot be recorded."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.keys = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x_BNC: Tensor) -> Tensor:
        for keys in self.keys:
            x_BNC = (keys(x_BNC) @ x_BNC.mT).softmax(-1) @ x_BNC
        return x_BNC


def read(_: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any], output: Any) -> Heads:
    return Heads((output @ given[0].mT).softmax(-1))


def same(one: Trace, other: Trace) -> None:
    """Check that two traces are equal within the precision of half-precision logarithms."""
    assert list(one.maps) == list(other.maps)
    for site, attention in one.maps.items():
        found = other.maps[site].weights
        for layer in range(attention.layers):
            np.testing.assert_allclose(found[layer], attention.weights[layer], atol=2e-4)
            np.testing.assert_allclose(found[layer, 0], attention.weights[layer, 0], atol=2e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_trace_above_budget_is_read_by_layer(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = deep(kind)
    target: Any = {"target": [5, 6, 7]} if model.config.is_encoder_decoder else {}
    whole = areaviz.attend(model, IDS, area_size=2, **target)
    monkeypatch.setattr(errors, "MAX_ATTENDED_BYTES", 2 * LAYER)
    found = areaviz.attend(model, IDS, area_size=2, **target)
    same(whole, found)
    assert (
        errors.MAX_ATTENDED_BYTES
        >= count_held_bytes(found.maps.values())
        < count_held_bytes(whole.maps.values()) / 4
    )
    for site in list_sites(found):
        for view in VIEWS.values():
            focus = areaviz.Focus(site, 1)
            if view.fits(found, focus):
                view.table(found, focus)


@pytest.mark.long
def test_trace_above_budget_is_saved_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errors, "MAX_ATTENDED_BYTES", 2 * LAYER)
    found = areaviz.attend(deep(KINDS[0]), IDS, area_size=2, attribution=True)
    areaviz.save(found, tmp_path / "trace.npz")
    same(found, areaviz.load(tmp_path / "trace.npz"))
    assert areaviz.export(found, tmp_path / "page.html").stat().st_size > 10_000
    assert areaviz.show(found).html


def test_unexplained_weights_are_kept_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    x_BNC = torch.randn(1, 10, 8, generator=torch.Generator().manual_seed(1))
    probes = {"keys.*": read}
    whole = areaviz.attend(Unseen(), x_BNC, probes=probes, area_size=2)
    mapped_before = on_disk()
    monkeypatch.setattr(errors, "MAX_ATTENDED_BYTES", 4 * 10 * 19)
    found = areaviz.attend(Unseen(), x_BNC, probes=probes, area_size=2)
    assert on_disk() - mapped_before == 2 and descriptors(tmp_path) > 0
    same(whole, found)
    del found
    gc.collect()
    assert on_disk() == mapped_before and descriptors(tmp_path) == 0


def on_disk() -> int:
    """Return how many unnamed temporary files this process has mapped."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return sum(tempfile.gettempdir() in line and line.endswith("(deleted)") for line in lines)


def test_mapped_tensor_is_equal_and_file_has_no_name() -> None:
    tensor, before = torch.randn(3, 4, 5).transpose(0, 1), on_disk()
    found = map_to_file(tensor)
    assert torch.equal(found, tensor) and on_disk() == before + 1


def test_full_disk_gives_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    with pytest.raises(
        BackendError, match=r"The disk has no room for 0 MiB .* Free some space, or"
    ):
        map_to_file(torch.ones(3))


def never_run(model: Any) -> Any:
    """Return the model with hooks that fail the test if any part of it runs."""
    for part in model.modules():
        part.register_forward_pre_hook(lambda *given: pytest.fail("it runs"))
    return model


@pytest.mark.parametrize("make", [small.bert, small.gpt2, small.t5])
def test_size_is_checked_before_text_model_runs(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "MAX_BY_LAYER_BYTES", LAYER)
    with pytest.raises(InputError, match=r"of 2 layers \(4 heads, 10 .* Keep fewer layers"):
        areaviz.attend(never_run(make()), IDS)
    areaviz.attend(make(), IDS, layers=[1], sites=["encoder self", "decoder self"], steps=5)
    monkeypatch.setattr(errors, "MAX_ATTENDED_BYTES", LAYER - 1)
    with pytest.raises(InputError, match=r"A layer of .* \(4 heads, 10 .*Give a shorter text"):
        areaviz.attend(never_run(make()), IDS, layers=[1])


def test_long_target_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "MAX_ATTENDED_BYTES", LAYER)
    with pytest.raises(InputError, match="4 heads, 40 queries, 40 areas"):
        areaviz.attend(never_run(small.t5()), IDS, target=[5] * 40, area_size=1)


def timm_vit() -> Any:
    import timm

    return timm.create_model("vit_tiny_patch16_224", img_size=48, depth=2, num_classes=3)


class Around(nn.Module):
    """A module around a `transformers` model."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = small.bert()

    def forward(self, **given: Tensor) -> Tensor:
        found: Tensor = self.inner(**given).last_hidden_state
        return found.mean(1)


WORDS = {"tokenizer": small.tokenizer()}
BEFORE: dict[str, tuple[Callable[[], Any], Any, dict[str, Any], str]] = {
    "a picture": (small.vit, (24, 32), {}, "4 heads, 12 queries, 35 areas"),
    "a picture to be described": (small.captioner, (24, 32), {}, "4 heads, 12 queries, 35 areas"),
    "a picture for timm": (timm_vit, (48, 48), {}, "3 heads, 9 queries, 25 areas"),
    "a text for a module": (Around, "a small dog", WORDS, "4 heads, 5 queries, 9 areas"),
}


@pytest.mark.parametrize("case", BEFORE)
def test_size_is_checked_for_every_kind_of_input(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, given, options, said = BEFORE[case]
    if isinstance(given, tuple):
        given = np.zeros((*given, 3), np.uint8)
    monkeypatch.setattr(errors, "MAX_ATTENDED_BYTES", 1)
    with pytest.raises(InputError, match=said):
        areaviz.attend(never_run(make()), given, area_size=2, **options)


@pytest.mark.parametrize("kind", ["picture", "both", "sound", "speech"])
def test_predicted_size_equals_recorded_size(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[int, ...]] = []
    monkeypatch.setattr(run, "check_attended", lambda *counts: said.append(counts))
    for architecture in ARCHITECTURES:
        if architecture.reads != kind or architecture.family in REFUSED:
            continue
        said.clear()
        given, options = architectures.inputs(architecture)
        trace = areaviz.attend(architecture.model(), given, area_size=2, **options)
        found = {attention.weights.shape[1:] for attention in trace.maps.values()}
        for _, heads, queries, _, areas in said:
            assert (heads, queries, areas) in found, architecture.family
        assert said or architecture.family in UNKNOWN


# These models have more than one convolution before their cells, so the size is unknown.
UNKNOWN = {"DetrModel"}


def test_custom_module_is_refused_at_first_layer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = nn.TransformerEncoder(layer, 3)
    for later in model.layers[1:]:
        never_run(later)
    monkeypatch.setattr(errors, "MAX_ATTENDED_BYTES", 1)
    with pytest.raises(InputError, match=r"2 heads, 10 queries, 10 areas"):
        areaviz.attend(model, torch.randn(1, 10, 8))
