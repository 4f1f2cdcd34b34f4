"""Heads of external attention layers, and the records of their calls in a run.

Tensors in temporary files come first. `Heads` and `Recorder` are the main classes. Attention
sinks are the last section.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np
import torch
from torch import Tensor, nn

from areaviz.trace.areas import FloatArray
from areaviz.trace.errors import BackendError, InputError, check_attended, has_room
from areaviz.trace.record import Field

# Tensors in temporary files, for parts of a run that do not fit in memory.
#
# The file has no name, so no other process can open it. It is removed with the tensor, even if the
# process is killed. It is in the folder that the variable TMPDIR names.


def map_to_file(tensor: Tensor) -> Tensor:
    """Return a tensor whose values are in a file and are loaded into memory when they are read.

    Args:
        tensor: A tensor on the CPU that is not empty.

    Raises:
        BackendError: The disk has no room for it.
    """
    array = tensor.detach().contiguous().numpy()
    try:
        with tempfile.TemporaryFile(prefix="areaviz-") as file:
            # The values are written through the file API. Writing to a memory map on a full disk
            # would kill the process.
            file.write(array.data.cast("B"))
            file.flush()
            # The map is copy-on-write, because torch has no read-only tensors. Changes stay in
            # memory.
            found = np.memmap(file, array.dtype, "c", shape=array.shape)
    except OSError as error:
        raise BackendError(
            f"The disk has no room for {array.nbytes / 2**20:,.0f} MiB of attention"
            f" ({error.strerror or error}). Free some space, or use a shorter text."
        ) from error
    return torch.from_numpy(found)


# The heads of one attention layer of an external model.
#
# Shapes: H heads, Q queries, N memory items, D width of a head.


Index = Tensor | slice
_CLOSE = 1e-3
# Maximum difference between the weights of a model in single precision and the weights that its
# queries and keys give, if queries and keys replace the weights.
_SAME = 2e-6


class Heads:
    """The heads of one layer over one example.

    Args:
        weights: [H, Q, N]. Rows sum to 1, or to 0 if everything is masked. None computes them from
            queries and keys whenever they are read.
        query: [H, Q, D], or None if unknown.
        key: [H, N, D], or None if unknown.
        scale: Factor on q . k.
        bias: Added to the scores. Broadcasts to [H, Q, N], -inf where an item is masked.
        rounding: Relative rounding error of the coarsest type in which the model computed these
            values.
    """

    __slots__ = ("_weights", "bias", "is_on_disk", "key", "query", "rounding", "scale")

    def __init__(
        self,
        weights: Tensor | None,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float = 1.0,
        bias: Tensor | None = None,
        rounding: float = 0.0,
    ) -> None:
        self._weights, self.query, self.key = weights, query, key
        self.scale, self.bias, self.rounding = scale, bias, rounding
        # True if everything except the bias is in temporary files.
        self.is_on_disk = False

    @property
    def weights(self) -> Tensor:
        """Attention weights [H, Q, N]. They are computed on each access if they are not stored."""
        if self._weights is not None:
            return self._weights
        return torch.cat([compute_weights(scores) for _, scores in self._scores()])

    @property
    def are_given(self) -> bool:
        """True if the weights are not stored, because queries and keys determine them."""
        return self._weights is None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of heads, queries and items."""
        if self._weights is not None:
            heads, queries, items = self._weights.shape
            return heads, queries, items
        assert self.query is not None and self.key is not None
        return self.query.shape[0], self.query.shape[1], self.key.shape[1]

    def select_heads(self, chosen: Sequence[int]) -> Heads:
        """Return some of the heads."""
        picked, bias = list(chosen), self.bias
        # A bias that all heads share is kept unchanged.
        if bias is not None and bias.dim() == 3 and len(bias) > 1:
            bias = bias[picked]
        parts = (self._weights, self.query, self.key)
        weights, query, key = (None if part is None else part[picked] for part in parts)
        return Heads(weights, query, key, self.scale, bias, self.rounding)

    def select_items(self, queries: Index, memory: Index) -> Heads:
        """Return some queries over some items. Remaining weights are divided by their sum."""
        weights, bias = self._weights, self.bias
        if weights is not None:
            weights = weights[:, queries][..., memory]
            weights = weights / weights.sum(-1, keepdim=True).clamp_min(1e-12)
        if bias is not None:
            bias = bias.expand(*bias.shape[:-2], *self.shape[1:])[..., queries, :][..., memory]
        query = None if self.query is None else self.query[:, queries]
        key = None if self.key is None else self.key[:, memory]
        return Heads(weights, query, key, self.scale, bias, self.rounding).beside(self)

    def plain(self) -> Heads:
        """Return the heads as float32 on the CPU, whatever the model's types and devices."""
        parts = [part for part in (self.weights, self.query, self.key) if part is not None]
        rounding = max(torch.finfo(part.dtype).eps / 2 for part in parts)
        query, key, bias = (
            None if part is None else to_map_tensor(part)
            for part in (self.query, self.key, self.bias)
        )
        rounding = max(rounding, self.rounding)
        return Heads(to_map_tensor(self.weights), query, key, self.scale, bias, rounding)

    def lean(self) -> Heads:
        """Return the heads without stored weights if queries and keys determine them.

        For a long text, the weights take most of the memory.
        """
        weights = self._weights
        if weights is None or not self._has_scores:
            return self
        for head, scores_1QN in self._scores():
            off = (compute_weights(scores_1QN)[0] - weights[head]).abs().max()
            if not bool(off <= _SAME):
                return self
        assert self.query is not None and self.key is not None
        # They are copied, because they may be views of a larger tensor that also has the values.
        query, key = copy_tensor(self.query), copy_tensor(self.key)
        return Heads(None, query, key, self.scale, self.bias, self.rounding)

    @property
    def nbytes(self) -> int:
        """The bytes in memory of the heads without the bias, which several layers may share."""
        parts = () if self.is_on_disk else (self._weights, self.query, self.key)
        return sum(part.nbytes for part in parts if part is not None)

    def with_bias(self, bias: Tensor | None) -> Heads:
        """Return the heads with an equal bias that takes no extra memory."""
        return Heads(self._weights, self.query, self.key, self.scale, bias, self.rounding)

    def on_disk(self) -> Heads:
        """Return the heads in temporary files, from which they are loaded when they are read.

        Raises:
            BackendError: The disk has no room for them.
        """
        parts = (self._weights, self.query, self.key)
        weights, query, key = (None if part is None else map_to_file(part) for part in parts)
        found = Heads(weights, query, key, self.scale, self.bias, self.rounding)
        found.is_on_disk = True
        return found

    def beside(self, others: Heads) -> Heads:
        """Return the heads on disk if `others` is on disk, otherwise unchanged."""
        return self.on_disk() if others.is_on_disk else self

    def logs(self) -> FloatArray | None:
        """Return the logarithms of the weights, computed from queries and keys if possible.

        Returns:
            Float16 [H, Q, N], -inf where an item is masked. Unlike weights, logarithms also
            distinguish values that are too small for a float. None if the weights are not exactly
            the softmax of known queries and keys.
        """
        if not self._has_scores:
            return None
        logs_HQN = cast(FloatArray, np.empty(self.shape, np.float16))
        for head, scores_1QN in self._scores():
            if self._weights is not None and not self._is_given_by(scores_1QN[0], head):
                return None
            masked = (scores_1QN == -torch.inf).all(-1, keepdim=True)
            logs = scores_1QN.log_softmax(-1).masked_fill_(masked, -torch.inf)
            logs_HQN[head] = logs[0].half().numpy()
        return logs_HQN

    @property
    def _has_scores(self) -> bool:
        """True if scores can be computed from queries and keys."""
        if self.query is None or self.key is None:
            return False
        return self.query.shape[-1] == self.key.shape[-1]

    def _scores(self) -> Iterator[tuple[int, Tensor]]:
        """Yield the logits [1, Q, N] of one head at a time, which saves memory."""
        assert self.query is not None and self.key is not None
        bias = None if self.bias is None else self.bias.expand(self.shape)
        for head in range(self.shape[0]):
            one = slice(head, head + 1)
            added = None if bias is None else bias[one]
            yield head, compute_scores(self.query[one], self.key[one], self.scale, added)

    def _is_given_by(self, scores_QN: Tensor, head: int) -> bool:
        """Return whether a head's weights are the softmax of these scores, except for rounding.

        A model that computes in half precision rounds its scores and its weights. The weights may
        differ by as much as this rounding explains.
        """
        weights = compute_weights(scores_QN)
        off = (weights - self.weights[head]).abs()
        if off.max() < _CLOSE:
            return True
        # A score is rounded three times: as a product, after the factor and after the bias.
        rounded = (3 * self.rounding * scores_QN.abs()).masked_fill(scores_QN.isinf(), 0)
        mean = (weights * rounded).sum(-1, keepdim=True)
        allowed = _CLOSE + weights * (rounded + mean + self.rounding)
        return bool((off <= allowed).all())


def compute_scores(query: Tensor, key: Tensor, scale: float, bias: Tensor | None) -> Tensor:
    """Return the logits [H, Q, N], -inf where an item is masked."""
    scores = query @ key.transpose(-1, -2) * scale
    return scores if bias is None else scores + bias


def compute_softmax_weights(
    query: Tensor, key: Tensor, scale: float, bias: Tensor | None
) -> Tensor:
    """Return the attention weights [H, Q, N] of queries and keys, see `compute_weights`."""
    return compute_weights(compute_scores(query, key, scale, bias))


def compute_weights(scores: Tensor) -> Tensor:
    """Return the softmax of logits [H, Q, N]. A fully masked row gets 0.

    Other values that are not numbers are kept, and `check_layers` refuses them.
    """
    masked = (scores == -torch.inf).all(-1, keepdim=True)
    return scores.softmax(-1).masked_fill(masked, 0)


def to_map_tensor(tensor: Tensor) -> Tensor:
    """Return a tensor in the form for maps: float32, on the CPU, without a graph."""
    return tensor.detach().float().cpu()


def copy_tensor(tensor: Tensor) -> Tensor:
    """Return a contiguous copy of a tensor."""
    return tensor.clone(memory_format=torch.contiguous_format)


def mask_to_bias(mask: Tensor) -> Tensor:
    """Return a mask as a bias, which is -inf for hidden items.

    Frameworks write masks as booleans (False hides an item) or as large negative numbers.
    """
    if mask.dtype == torch.bool:
        return torch.zeros(mask.shape).masked_fill(~mask.cpu(), -torch.inf)
    bias = to_map_tensor(mask)
    return bias.masked_fill(bias < -1e4, -torch.inf)


# Records of the calls of attention layers during a run, filed by site and layer.
#
# Shapes: B examples, H heads, Q queries, N memory items, D width of a head.


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


# Attention sinks, which are scores that belong to no item. Attention to a sink reads nothing.
#
# Shapes: H heads, Q queries, N memory items.


SINK_LABEL = "⟨nothing⟩"
NOTHING_SAID = f"heads have sinks, and their attention to no item is shown as the item {SINK_LABEL}"
NO_SHARES = (
    "not shown: its weights are below 0 or sum to more than 1, so they are not attention"
    " weights. They may be scores before the softmax, or heads that were mixed after it"
)
# Maximum deviation of a row's sum from 1 by rounding, as in models in half precision.
_ROUNDING = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A site at which a model attends, with the heads of its layers."""

    name: str
    # Names of the fields that attend and are attended to.
    query: str
    memory: str
    # Rows and columns of the memory, (1, N) for a text.
    shape: tuple[int, int]
    layers: Sequence[Heads]


def with_nothing(site: Site, fields: Mapping[str, Field]) -> tuple[Site, dict[str, Field]]:
    """Return a site whose rows all sum to 1.

    An extra last item receives the missing attention. A site without sinks is returned unchanged,
    and so is a picture. A picture has no room for an additional item, so its rows are normalised
    before this call.
    """
    if site.shape[0] > 1 or not any(has_sink(heads) for heads in site.layers):
        return site, dict(fields)
    memory = fields[site.memory]
    name = f"{memory.name} and nothing"
    end = len(memory.raw)
    anchors = np.vstack([memory.anchors, [[end, end]]]).astype(np.int64)
    added = replace(memory, name=name, labels=(*memory.labels, SINK_LABEL), anchors=anchors)
    layers = [_add_sink_item(heads) for heads in site.layers]
    shape = (1, site.shape[1] + 1)
    return Site(site.name, site.query, name, shape, layers), {**fields, name: added}


def has_sink(heads: Heads) -> bool:
    """Return whether a row sums to less than 1 by more than rounding.

    Fully masked rows do not count.
    """
    if heads.are_given:
        return False
    lacking = 1 - heads.weights.sum(-1)
    masked = heads.weights.amax(-1) == 0
    if heads.bias is not None:
        masked = (heads.bias == -torch.inf).all(-1).expand(lacking.shape)
    return bool(((lacking > _ROUNDING) & ~masked).any())


def _add_sink_item(heads: Heads) -> Heads:
    """Return the heads with an additional last item for the missing attention.

    Queries and keys give no score for that item.
    """
    lacking = 1 - heads.weights.sum(-1, keepdim=True)
    if not has_sink(heads):
        lacking = torch.zeros_like(lacking)
    return Heads(torch.cat([heads.weights, lacking.clamp_min(0)], -1)).beside(heads)


def are_shares(layers: Sequence[Heads]) -> bool:
    """Return whether no weight is below 0 and no row sums to more than 1.

    Values that are not finite pass this check.
    """
    for heads in layers:
        if heads.are_given:
            continue
        weights = heads.weights
        below, above = weights < 0, weights.sum(-1) > 1 + _ROUNDING
        if bool(weights.isfinite().all()) and bool(below.any() | above.any()):
            return False
    return True
