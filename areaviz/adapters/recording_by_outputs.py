"""The last way, for `transformers` models that return their attention on request.

The weights come without queries and keys. The outputs of every part that belongs to the library are
read, because the whole model may not pass on what its parts return.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from areaviz.adapters.banded_weights import expand_to_all_items
from areaviz.adapters.call_records import CROSS, DECODER, ENCODER, Call, Note
from areaviz.adapters.recording_by_interface import list_layer_configs, set_attention_functions

# Outputs with attention and their sites. For "", name and mask determine the site.
RETURNED = {
    "encoder_attentions": ENCODER,
    "decoder_attentions": DECODER,
    "attentions": "",
    "cross_attentions": CROSS,
}


@contextmanager
def watch(model: nn.Module, note: Note) -> Iterator[None]:
    """Make the parts of a module return their attention, and file it."""
    asked = list_layer_configs(model, any_way=True)
    before = [(config, config._attn_implementation) for config in asked]
    with ExitStack() as undo:
        for config in asked:
            undo.callback(setattr, config, "_output_attentions", config._output_attentions)
        undo.callback(set_attention_functions, before)
        set_attention_functions((config, "eager") for config in asked)
        for config in asked:
            config._output_attentions = True
        undo.callback(_forget, model, _list_hooks(model))
        noted: list[Tensor] = []
        for part in model.modules():
            if _is_of_library(part):
                hook = part.register_forward_hook(_make_reader_hook(note, noted), with_kwargs=True)
                undo.callback(hook.remove)
        yield


def _make_reader_hook(note: Note, noted: list[Tensor]) -> Callable[..., None]:
    """Return a hook that files a part's attention, unless an inner part has already done so."""

    def hook(part: nn.Module, given: Any, named: Any, outputs: Any) -> None:
        if not isinstance(outputs, Mapping):
            return
        for key, site in RETURNED.items():
            for layer, weights in enumerate(outputs.get(key) or ()):
                if not isinstance(weights, Tensor) or any(weights is one for one in noted):
                    continue
                noted.append(weights)
                whole = expand_to_all_items(part, outputs, key, layer, weights)
                if whole is not None:
                    note(part, Call(whole), site)

    return hook


def _is_of_library(part: nn.Module) -> bool:
    kinds = type(part).__mro__
    return any(kind.__module__ == "transformers.modeling_utils" for kind in kinds)


def _list_hooks(model: nn.Module) -> dict[nn.Module, set[int]]:
    return {module: set(module._forward_hooks) for module in model.modules()}


def _forget(model: nn.Module, before: Mapping[nn.Module, set[int]]) -> None:
    """Remove the hooks that the library leaves on a model whose attention was captured."""
    for module in model.modules():
        for hook in set(module._forward_hooks) - before[module]:
            del module._forward_hooks[hook]
        if hasattr(module, "_output_capturing_hooks_installed"):
            setattr(module, "_output_capturing_hooks_installed", False)  # noqa: B010
