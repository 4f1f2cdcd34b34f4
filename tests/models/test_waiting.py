"""No layer makes the host wait for the GPU, by reading a number or by a blocking copy.

The networks run on torch's device "meta". It has no numbers to read and is not the CPU, so these
tests need no GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from areaviz.attention.area import AreaOptions
from areaviz.attention.interventions import LayerInterventions, NetworkInterventions
from areaviz.attention.multihead import MultiHeadAttention
from areaviz.trace.areas import Area
from areaviz.trace.changes import Change, Gate, Hide, Weigh
from tests.tiny import FORMS, network

ASKS = ("_local_scalar_dense", "nonzero", "masked_select", "unique_consecutive")


class WaitingError(Exception):
    """The error for an operation that makes the host wait."""


class NoWaiting(TorchDispatchMode):
    """A mode that rejects reading numbers from the GPU, and blocking copies from or to the host."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func.overloadpacket.__name__
        if name in ASKS:
            raise WaitingError(name)
        result = func(*args, **(kwargs or {}))
        if name in ("_to_copy", "copy_") and not (kwargs or {}).get("non_blocking"):
            devices = {one.device.type for one in (*args, result) if isinstance(one, Tensor)}
            if len(devices) > 1:
                raise WaitingError(name)
        return result


class Lists(TorchFunctionMode):
    """A mode that creates tensors of lists on the host, and rejects them on other devices.

    On another device the list would need a blocking copy. This is a mode and not a replacement of
    `torch.tensor`, because torch caches a set of the functions that make tensors. If the set were
    built during the replacement, it would permanently lack the original function.
    """

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        options = dict(kwargs or {})
        if function in (torch.tensor, torch.as_tensor):
            device = options.get("device")
            if device is not None and torch.device(device).type != "cpu":
                raise WaitingError("a list")
            options["device"] = "cpu"
        return function(*args, **options)


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Create all new tensors on the device without numbers, and none of them from a list."""
    # The device has no types to which autocast could convert.
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())
    with torch.device("meta"), Lists():
        yield


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_batch_and_gradients_never_wait_for_gpu(form: dict[str, Any]) -> None:
    model = network(20, **form)
    source, target = (torch.ones(2, n, dtype=torch.long) for n in (6, 4))
    with NoWaiting():  # type: ignore[no-untyped-call]
        model(source, target).sum().backward()
        run = model.attend(source, target)
    assert run.logits.shape == (2, 4, 20) and run.logits.is_meta


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_decoder_step_never_waits(form: dict[str, Any]) -> None:
    options = {key: value for key, value in form.items() if key != "size_bias"}
    layer = MultiHeadAttention(16, 2, AreaOptions(3, **options))
    items = torch.zeros(2, 1, 16)
    padding = torch.zeros(2, 6, dtype=torch.bool)
    with NoWaiting(), torch.no_grad():  # type: ignore[no-untyped-call]
        memory = layer.build_memory(torch.zeros(2, 6, 16), padding)
        history = layer.append_item(layer.append_item(None, items), items)
        read = layer.attend_to_memory(items, memory), layer.attend_to_memory(items, history)
    assert all(one.shape == (2, 1, 16) for one in read)


CHANGES: list[Change] = [
    Weigh("encoder self", items=(1,), factor=0.5),
    Weigh("decoder self", areas=(Area(0, 0, 1, 2),), factor=2.0, layer=1),
    Weigh("encoder-decoder", items=(0, 1), query=2),
    Gate("encoder-decoder", head=0),
    Hide("source", (3,)),
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_changed_pass_never_waits(form: dict[str, Any]) -> None:
    model = network(20, **form)
    source, target = (torch.ones(1, n, dtype=torch.long) for n in (6, 4))
    changed = NetworkInterventions.from_changes(CHANGES, model.sites, 2)
    with NoWaiting(), torch.no_grad():  # type: ignore[no-untyped-call]
        run = model.attend(source, target, changed=changed)
    assert run.logits.shape == (1, 4, 20) and run.logits.is_meta


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_changed_decoder_step_never_waits(form: dict[str, Any]) -> None:
    options = {key: value for key, value in form.items() if key != "size_bias"}
    layer = MultiHeadAttention(16, 2, AreaOptions(3, **options))
    items = torch.zeros(2, 1, 16)
    done = LayerInterventions(2, (Weigh("", items=(1,)),), (Gate("", head=1),), (2,))
    with NoWaiting(), torch.no_grad():  # type: ignore[no-untyped-call]
        memory = layer.build_memory(torch.zeros(2, 6, 16), None, done)
        history = layer.append_item(layer.append_item(None, items, done), items)
        read = layer.attend_to_memory(items, memory), layer.attend_to_memory(items, history)
    assert all(one.shape == (2, 1, 16) for one in read)


@pytest.mark.parametrize("impl", ["pooled", "streamed"])
@pytest.mark.parametrize("shape", [None, (2, 3)], ids=["sequence", "grid"])
def test_masked_attention_never_waits(impl: str, shape: tuple[int, int] | None) -> None:
    size = 3 if shape is None else (2, 2)
    layer = MultiHeadAttention(16, 2, AreaOptions(size, shape=shape), impl)
    x = torch.zeros(2, 6, 16)
    padding = torch.zeros(2, 6, dtype=torch.bool)
    with NoWaiting():  # type: ignore[no-untyped-call]
        read, weights = layer(x, x, padding, need_weights=True)
        layer(x, x, padding, is_causal=True)[0].sum().backward()
    assert read.shape == (2, 6, 16) and weights is not None


@pytest.mark.parametrize(
    "asks",
    [
        lambda x: bool(x.any()),
        lambda x: x.nonzero(),
        lambda x: x.tolist(),
        lambda x: torch.tensor([1.0, 2.0], device=x.device),
        lambda x: torch.ones(2, device="cpu").to(x.device),
    ],
    ids=["a truth value", "places", "a list of it", "from a list", "a copy"],
)
def test_waiting_is_detected(asks: Any) -> None:
    with pytest.raises((WaitingError, NotImplementedError, RuntimeError)), NoWaiting():  # type: ignore[no-untyped-call]
        asks(torch.zeros(3))
