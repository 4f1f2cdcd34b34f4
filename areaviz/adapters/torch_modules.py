"""Any `nn.Module`: its attention layers, by class or by the reader's probes, read by hooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

from torch import nn

from areaviz.adapters.heads import check_layers
from areaviz.adapters.model_run import ModelRun, Options, Site, frozen, to_trace
from areaviz.adapters.probes import Probe, across, multihead
from areaviz.adapters.transformers_record import CROSS, DECODER, ENCODER, Found, looks_back
from areaviz.trace.arrays import text_of
from areaviz.trace.errors import InputError
from areaviz.trace.record import Field, Trace


def fits(model: nn.Module) -> bool:
    """Every module is one."""
    return isinstance(model, nn.Module)


def attend(model: nn.Module, inputs: object, options: Options) -> Trace:
    """See `areaviz.attend`.

    A layer attends across where its queries are others than its memory, else it attends within: as
    a decoder where no query sees a later item. Fields are "source" and, of queries that attend
    across, "target".
    """
    probed = _probed(model, options.probes)
    with frozen(model), record(probed) as found:
        if isinstance(inputs, Mapping):
            model(**inputs)
        else:
            model(*(inputs if isinstance(inputs, tuple) else (inputs,)))
    sites = []
    for site, layers in found.items():
        check_layers(site, layers)
        shape = (1, layers[0].weights.shape[-1])
        sites.append(Site(site, *_sides(site, found), shape, layers))
    return to_trace(ModelRun(_fields(found, options), sites), model, options)


@contextmanager
def record(probed: Mapping[nn.Module, Probe]) -> Iterator[Found]:
    """Record, by site, what layers do while hooks are on them."""
    found: Found = {}

    def note(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any], output: Any) -> None:
        heads = probed[module](module, given, named, output).plain()
        _, queries, items = heads.weights.shape
        if queries != items or across(module, given, named):
            site = CROSS
        else:
            site = DECODER if looks_back(heads) else ENCODER
        found.setdefault(site, []).append(heads)

    hooks = [module.register_forward_hook(note, with_kwargs=True) for module in probed]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def _probed(model: nn.Module, probes: Mapping[str, Probe] | None) -> dict[nn.Module, Probe]:
    """The layers that are read, and how: those that are named, or `nn.MultiheadAttention`."""
    if probes is None:
        layers = [one for one in model.modules() if isinstance(one, nn.MultiheadAttention)]
        return dict.fromkeys(layers, multihead)
    found: dict[nn.Module, Probe] = {}
    for pattern, probe in probes.items():
        named = [module for name, module in model.named_modules() if _matches(name, pattern)]
        if not named:
            raise InputError(
                f'No part of the model is called "{pattern}"; model.named_modules() lists the'
                " names."
            )
        found |= dict.fromkeys(named, probe)
    return found


def _matches(name: str, pattern: str) -> bool:
    """Whether a layer is meant; a star stands for one part of the name, "" for the model itself."""
    parts, wanted = name.split("."), pattern.split(".")
    same = bool(name) == bool(pattern) and len(parts) == len(wanted)
    return same and all(map(fnmatchcase, parts, wanted))


def _sides(site: str, found: Found) -> tuple[str, str]:
    """Names of the fields that attend and are attended to."""
    if site == CROSS:
        return "target", "source"
    within = "target" if site == DECODER and CROSS in found else "source"
    return within, within


def _fields(found: Found, options: Options) -> list[Field]:
    """A field for each side, with the labels that were given.

    Raises:
        InputError: two sites disagree about how many items a side has, or labels do not fit.
    """
    sizes: dict[str, int] = {}
    for site, layers in found.items():
        for name, size in zip(_sides(site, found), layers[0].weights.shape[1:], strict=True):
            if sizes.setdefault(name, size) != size:
                raise InputError(
                    f"Layers of this model see {sizes[name]:,} and {size:,} items of its {name} and"
                    " cannot be shown together; give probes for those that you mean."
                )
    labels = {"source": options.labels, "target": options.target}
    return [_field(name, size, labels[name]) for name, size in sizes.items()]


def _field(name: str, size: int, labels: object) -> Field:
    if labels is None:
        return text_of(name, [str(item) for item in range(1, size + 1)])
    if not isinstance(labels, Sequence) or isinstance(labels, str) or len(labels) != size:
        raise InputError(f"The {name} has {size:,} items; give a sequence with one label for each.")
    return text_of(name, [str(label) for label in labels])
