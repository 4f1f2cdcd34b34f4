"""The way for layers that are read directly: `nn.MultiheadAttention` and probed layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import nn

from areaviz.adapters.call_records import CROSS, Note
from areaviz.adapters.probes import is_cross_attention, read_multihead_heads


@contextmanager
def watch(model: nn.Module, note: Note) -> Iterator[None]:
    """Read layers after they have run: probed layers or, without probes, torch's layers."""
    with ExitStack() as undo:
        for module in model.modules():
            if module in note.probes:
                read = _make_probe_hook
            elif isinstance(module, nn.MultiheadAttention) and not note.probes:
                read = _make_torch_hook
            else:
                continue
            hook = read(note)
            undo.callback(module.register_forward_hook(hook, with_kwargs=True).remove)
        yield


def _make_torch_hook(note: Note) -> Any:
    def hook(layer: Any, given: tuple[Any, ...], named: Mapping[str, Any], output: Any) -> None:
        site = CROSS if is_cross_attention(layer, given, named) else ""
        note(layer, read_multihead_heads(layer, given, named), site)

    return hook


def _make_probe_hook(note: Note) -> Any:
    def hook(
        layer: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any], output: Any
    ) -> None:
        note.heads(layer, note.probes[layer](layer, given, named, output))

    return hook
