"""Records of the calls of attention layers during a run, filed by site and layer.

Shapes: B examples, H heads, Q queries, N memory items, D width of a head.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from areaviz.adapters.heads import Heads
from areaviz.trace.errors import InputError, check_attended, has_room

ENCODER, DECODER, CROSS = "encoder self", "decoder self", "encoder-decoder"
Found = dict[str, list[Heads]]
# Function that is called after a layer with the layer, its arguments, keyword arguments and output.
Probe = Callable[[nn.Module, tuple[Any, ...], Mapping[str, Any], Any], Heads]
# Function that returns the site of a call, or "" to leave it out. Its arguments are the layer's
# name, the layer, its heads, and the site that the recording pass suggests, which may be "".
SiteOf = Callable[[str, nn.Module, Heads, str], str]
_CROSS = re.compile(r"cross|encoder_attn|encdec|multihead_attn$", re.IGNORECASE)
# Maximum number of layers that a message names if some cannot be shown.
_NAMED = 6


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One call of an attention layer, with every example of the batch."""

    # [B, H, Q, N].
    weights: Tensor
    # [B, H, Q, D] and [B, H, N, D], or None if unknown.
    query: Tensor | None = None
    key: Tensor | None = None
    scale: float = 1.0
    # Bias of the scores, -inf where an item is masked. It broadcasts to [B, H, Q, N].
    bias: Tensor | None = None

    def of(self, example: int) -> Heads:
        """Return the heads over one example."""
        bias = self.bias
        if bias is not None and bias.dim() == 4:
            bias = bias[example if len(bias) > 1 else 0]
        query, key = (None if x is None else x[example] for x in (self.query, self.key))
        return Heads(self.weights[example], query, key, self.scale, bias).plain()


class Note(Protocol):
    """The interface through which a recording pass files its calls."""

    @property
    def probes(self) -> Mapping[nn.Module, Probe]:
        """Layers for which the user gave a probe function."""

    def __call__(self, module: nn.Module, call: Call, site: str = "") -> None:
        """File a call, with its site if known."""

    def heads(self, module: nn.Module, heads: Heads) -> None:
        """File heads that are known for only one example."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The parts of a run to keep. None keeps all."""

    layers: Sequence[int] | None = None
    heads: Sequence[int] | None = None
    sites: Sequence[str] | None = None
    # Index of the example in the batch.
    example: int = 0
    # Allowed numbers of examples. The first call must have one of these numbers, and all later
    # calls must have the same number as the first call.
    batches: Sequence[int] = (1,)
    # Function that returns from a layer's name whether the layer reads each of several pictures
    # separately. None if no layer does.
    is_apart: Callable[[str], bool] | None = None


class Recorder:
    """A recorder that files calls by site and layer and drops what was not requested."""

    def __init__(
        self, model: nn.Module, site_of: SiteOf, wanted: Wanted, probes: Mapping[nn.Module, Probe]
    ) -> None:
        self.found: Found = {}
        self.probes = probes
        self._names = {module: name for name, module in model.named_modules()}
        self._site_of, self._wanted = site_of, wanted
        # In the current pass: the heads by site, the number of layers of every site, and the passes
        # that filed calls.
        self._seen: Found = {}
        self._counts: dict[str, int] = {}
        self._passed: dict[str, list[str]] = {}
        self._ways: list[str] = []
        # The names of layers that attend within windows, and the number of layers of each site.
        self._windows: list[str] = []
        self._layers: dict[str, int] = {}
        # The previous call. Some layers repeat a call with equal queries and keys for other values.
        self._before: tuple[nn.Module, Tensor | None] | None = None
        # The layer names of each site, in the order of the calls.
        self._named: dict[str, list[str]] = {}
        # Size in bytes of the kept heads in memory, and the mask of the previous layer.
        self._held = 0
        self._bias: Tensor | None = None
        # Number of examples in the batch, 0 before the first call.
        self._batch = 0
        # Number of pictures that each layer has read in this pass, if layers read pictures one by
        # one.
        self._pictures: dict[nn.Module, int] = {}

    def begin(self, way: str) -> Note:
        """Return the interface through which one recording pass files its calls."""
        return _Notebook(self, way)

    def note(self, way: str, module: nn.Module, call: Call, site: str) -> None:
        """File a call if it covers each whole example."""
        batch, again = len(call.weights), self._before
        self._before = module, call.query
        if again and again[0] is module and again[1] is call.query is not None:
            return
        name, is_apart = self._names.get(module, ""), self._wanted.is_apart
        if is_apart is not None and is_apart(name):
            # Weights that a module returns have no queries, and cover all pictures at once.
            first = 0 if call.query is None else self._pictures.get(module, 0)
            self._pictures[module] = first + batch
            for picture in range(batch):
                self.file(way, module, call.of(picture), site, first + picture)
            return
        if batch not in ((self._batch,) if self._batch else self._wanted.batches):
            self._windows.append(name)
            return
        self._batch = batch
        self.file(way, module, call.of(self._example(batch)), site)

    def file(self, way: str, module: nn.Module, heads: Heads, site: str, picture: int = 0) -> None:
        """File the heads of a layer under its site, and under its picture if there are several."""
        site = self._site_of(self._names.get(module, ""), module, heads, site)
        wanted = self._wanted
        if not site or (wanted.sites is not None and site not in wanted.sites):
            return
        site = name_picture_site(site, picture)
        if way not in self._ways:
            self._ways.append(way)
        layer = self._counts.get(site, 0)
        self._counts[site] = layer + 1
        self._passed.setdefault(site, []).append(self._names.get(module, ""))
        kept = self._seen.setdefault(site, [])
        if wanted.layers is not None and layer not in wanted.layers:
            return
        chosen = heads if wanted.heads is None else select_heads(heads, wanted.heads)
        check_attended(len(kept) + 1, *chosen.shape, areas=chosen.shape[2])
        kept.append(self._within_budget(chosen.lean()))

    def _within_budget(self, heads: Heads) -> Heads:
        """Return the heads, which are moved to disk if this pass has no more room in memory."""
        bias, before = heads.bias, self._bias
        if bias is not None and before is not None and torch.equal(bias, before):
            # The mask usually equals that of the previous layer.
            heads = heads.with_bias(before)
        else:
            self._bias = bias
        if not has_room(self._held + heads.nbytes):
            return heads.on_disk()
        self._held += heads.nbytes
        return heads

    def drop(self) -> None:
        """Drop the calls of the current pass."""
        self._seen, self._counts, self._passed, self._ways = {}, {}, {}, []
        self._pictures = {}
        self._held, self._bias = sum(_count_bytes(layers) for layers in self.found.values()), None

    def keep(self) -> list[str]:
        """Keep the sites that this pass saw first, and return the passes that recorded them.

        Raises:
            InputError: A requested layer does not exist at a site.
        """
        ways = self._ways if self._seen.keys() - self.found.keys() else []
        for site, layers in self._seen.items():
            if site in self.found:
                continue
            self._check(site)
            self.found[site] = layers
            self._layers[site] = self._counts[site]
            self._named[site] = self._passed[site]
        self.drop()
        return ways

    def complete(self, needed: Sequence[str]) -> bool:
        """Return whether at least one site and all needed sites were seen."""
        return bool(self.found) and not self.missing(needed)

    def missing(self, needed: Sequence[str]) -> list[str]:
        """Return the needed and wanted sites that were not seen. "A or B" needs one of them."""
        wanted = self._wanted.sites
        lacking = []
        for sites in needed:
            either = [site for site in sites.split(" or ") if wanted is None or site in wanted]
            if either and not any(site in self.found for site in either):
                lacking.append(sites)
        return lacking

    def details(self) -> dict[str, str]:
        """Return details for the user on the parts of the model that are not shown."""
        found, wanted = {}, self._wanted
        if self._windows:
            names = list(dict.fromkeys(self._windows))
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            found["not shown"] = (
                f"layers that attend within windows or crops: {', '.join(names[:_NAMED])}{more}"
            )
        if wanted.layers is not None:
            counts = [f"{count} of {site}" for site, count in self._layers.items()]
            chosen = ", ".join(str(layer + 1) for layer in wanted.layers)
            found["layers"] = f"layers {chosen} of {' and '.join(counts)}"
        if wanted.heads is not None:
            found["heads"] = f"heads {', '.join(str(head + 1) for head in wanted.heads)}"
        if self._batch > 1:
            found["example"] = f"{wanted.example + 1} of a batch of {self._batch}"
        return found

    def names(self) -> dict[str, list[str]]:
        """Return the names of the layers of each site, including those that are not kept."""
        return self._named

    def _example(self, batch: int) -> int:
        example = self._wanted.example if batch > 1 else 0
        if not 0 <= example < batch:
            raise InputError(
                f"The batch has {batch} examples, so there is no example {example}. Count"
                " them from 0."
            )
        return example

    def _check(self, site: str) -> None:
        count = self._counts[site]
        for layer in self._wanted.layers or ():
            if not 0 <= layer < count:
                raise InputError(
                    f'"{site}" has {count} layers, so there is no layer {layer}. Count them from 0.'
                )


@dataclass(frozen=True, slots=True, eq=False)
class _Notebook:
    """The part of a recorder that files the calls of one recording pass."""

    recorder: Recorder
    way: str

    @property
    def probes(self) -> Mapping[nn.Module, Probe]:
        return self.recorder.probes

    def __call__(self, module: nn.Module, call: Call, site: str = "") -> None:
        self.recorder.note(self.way, module, call, site)

    def heads(self, module: nn.Module, heads: Heads) -> None:
        self.recorder.file(self.way, module, heads.plain(), "")


def name_picture_site(site: str, picture: int) -> str:
    """Return the site of a layer's heads for one of several pictures, which count from 0."""
    return f"{site} {picture + 1}" if picture else site


def _count_bytes(layers: Sequence[Heads]) -> int:
    return sum(heads.nbytes for heads in layers)


def select_heads(heads: Heads, chosen: Sequence[int]) -> Heads:
    """Return some of the heads of a layer.

    Raises:
        InputError: The layer has fewer heads.
    """
    count = heads.shape[0]
    for head in chosen:
        if not 0 <= head < count:
            raise InputError(
                f"A layer has {count} heads, so there is no head {head}. Count them from 0."
            )
    return heads.select_heads(chosen)


def select_items(heads: Heads, queries: Tensor, memory: Tensor) -> Heads:
    """Return some queries over some items. Remaining weights are divided by their sum."""
    return heads.select_items(queries, memory)


def is_causal(heads: Heads, alone: bool = False) -> bool:
    """Return whether no query attends to a later item.

    Args:
        heads: Heads of one layer. With more items than queries, the queries are the last items.
        alone: Result for a single query or item, which cannot look back.
    """
    _, queries, items = heads.shape
    if min(queries, items) < 2:
        return alone
    return not bool(torch.triu(heads.weights, 1 + max(0, items - queries)).any())


def names_cross_attention(name: str) -> bool:
    """Return whether a layer's name indicates cross-attention."""
    return bool(_CROSS.search(name))
