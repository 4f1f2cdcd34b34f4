"""Interventions in a model of others: weights of its layers multiplied, heads switched off.

Where a layer looks its attention function up (`way_interface`), ours stands there, so its weights
can be changed before its values are mixed by them. A first run, unchanged, says which layer is
which; the second writes and records with the changes.

Shapes: B examples, H heads, Q queries, N memory items, D width of a head.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from areaviz.adapters import way_interface
from areaviz.adapters.model_run import ModelRun
from areaviz.adapters.sinks import Site
from areaviz.adapters.watching import Watched
from areaviz.trace.areas import AreaGrid
from areaviz.trace.errors import InputError
from areaviz.trace.interventions import (
    Change,
    Gate,
    Places,
    Weigh,
    area_factors,
    kind_of,
    weighed,
)

# How far a layer's output may be from its weights times its values, as a share of the largest.
_CLOSE = 1e-2
_SHARED = (
    'The layers of "{}" share their weights, so they can only be changed together; choose all'
    " layers."
)
_UNSEEN = (
    'The layers of "{}" do not go through the attention interface of the library, so they cannot be'
    " changed; take another change or another model."
)


@dataclass(frozen=True, slots=True, eq=False)
class Changer:
    """What is done to the attention of each layer while a model runs."""

    # The site and the layer of each module that attends.
    places: Mapping[nn.Module, tuple[str, int]]
    changes: Sequence[Weigh | Gate]
    # Rows and columns of the memory of a site whose items are the cells of a picture.
    cells: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    # Sites at which something was changed.
    reached: set[str] = field(default_factory=set)

    def __call__(
        self, module: nn.Module, weights_BHQN: Tensor, value: Tensor, output: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The output [B, Q, H, D] and the weights of a layer under the changes.

        Raises:
            InputError: the layer does more with its weights than to mix its values.
        """
        site, layer = self.places.get(module, ("", 0))
        own = [one for one in self.changes if one.site == site and one.layer in (None, layer)]
        if not own:
            return output, weights_BHQN
        plain = _mixed(weights_BHQN, value)
        apart = torch.inf
        if plain.shape == output.shape:
            apart = float((plain - output).abs().max())
        if apart > _CLOSE * max(float(output.abs().max()), 1e-3):
            raise InputError(
                f'The layers of "{site}" do more than to mix values by their weights, so they'
                " cannot be changed; take another site."
            )
        self.reached.add(site)
        weighs = [one for one in own if isinstance(one, Weigh)]
        weights_BHQN = _weighed(weights_BHQN, weighs, self.cells.get(site))
        output = _mixed(weights_BHQN, value)
        for gate in own:
            if isinstance(gate, Gate):
                heads = slice(None) if gate.head is None else slice(gate.head, gate.head + 1)
                output[:, :, heads] *= gate.factor
        return output, weights_BHQN


@contextmanager
def changing(
    model: nn.Module, changes: Sequence[Change], before: ModelRun, seen: Watched, is_given: bool
) -> Iterator[None]:
    """Run a model under changes while the block runs.

    Args:
        model: what is run.
        changes: what is done otherwise.
        before: a run of the same input without changes.
        seen: the layers of that run.
        is_given: whether the output is given, so that its items have places.

    Raises:
        InputError: a change is of what is not there, or of layers that cannot be changed.
    """
    sites = {site.name: (site.query, site.memory) for site in before.sites}
    check(changes, before, is_given)
    names = dict(model.named_modules())
    places: dict[nn.Module, tuple[str, int]] = {}
    for site, layers in seen.names.items():
        for layer, name in enumerate(layers):
            if name in names and names[name] not in places:
                places[names[name]] = site, layer
    cells = {site.name: site.shape for site in before.sites if site.memory == "picture"}
    # A class token attends in the layers of its picture, which are changed as theirs.
    hideable = {site: ends for site, ends in sites.items() if site in seen.names}
    changer = Changer(places, weighed(changes, hideable), cells)
    for change in changer.changes:
        layers = seen.names.get(change.site, ())
        if change.layer is not None and len(set(layers)) < len(layers):
            raise InputError(_SHARED.format(change.site))
    with way_interface.changed(model, changer):
        yield
    for change in changer.changes:
        if change.site not in changer.reached:
            raise InputError(_UNSEEN.format(change.site))


def check(changes: Sequence[Change], before: ModelRun, is_given: bool) -> None:
    """Check that all that is to be changed exists.

    Raises:
        InputError: it names the first that does not.
    """
    fields = {one.name: len(one) for one in before.fields}
    # A decoder's history is its input; that of an encoder-decoder is what it writes.
    written = {"target"} if set(fields) <= {"history", "target"} else {"target", "history"}
    lengths = {name: count for name, count in fields.items() if is_given or name not in written}
    for change in changes:
        if kind_of(change) == "share":
            raise InputError(
                "How scores become weights cannot be changed in this model; remove the change."
            )
        sites = {site.name: site for site in before.sites}
        meant = sites.get(getattr(change, "site", ""), next(iter(sites.values())))
        ends = {name: (site.query, site.memory) for name, site in sites.items()}
        heads, _, _ = meant.layers[0].shape
        places = Places(ends, len(meant.layers), heads, lengths, _grids(sites, lengths))
        places.check([change])


def _grids(sites: Mapping[str, Site], lengths: Mapping[str, int]) -> dict[str, AreaGrid]:
    """The items of the memories that are known before anything is written."""
    found = {}
    for site in sites.values():
        if site.memory in lengths:
            found[site.memory] = AreaGrid(*site.shape, 1, 1)
    return found


def _mixed(weights_BHQN: Tensor, value: Tensor) -> Tensor:
    """Values [B, H or fewer, N, D] mixed by weights: [B, Q, H, D]."""
    groups = weights_BHQN.shape[1] // value.shape[1]
    value_BHND = value.repeat_interleave(groups, 1)
    return (weights_BHQN.to(value.dtype) @ value_BHND).transpose(1, 2).contiguous()


def _weighed(
    weights_BHQN: Tensor, weighs: Sequence[Weigh], cells: tuple[int, int] | None
) -> Tensor:
    """Weights times their factors, each row with the sum that it had; 0 where nothing is left."""
    if not weighs:
        return weights_BHQN
    _, heads, queries, items = weights_BHQN.shape
    rows, columns = cells or (1, items)
    # What is no cell, such as a class token, stands in front of them.
    extra = items - rows * columns
    within = extra if queries == items else 0
    table_N4 = np.ones((rows * columns, 4), np.int64)
    table_N4[:, 0], table_N4[:, 1] = np.divmod(np.arange(rows * columns), columns)
    factors_HQN = area_factors(weighs, table_N4, columns, heads, queries - within)
    before_Q = within if factors_HQN.shape[1] > 1 else 0
    padding = (0, 0), (before_Q, 0), (extra, 0)
    factors = torch.from_numpy(np.pad(factors_HQN, padding, constant_values=1))
    changed = weights_BHQN * factors.to(weights_BHQN)
    before, after = weights_BHQN.sum(-1, keepdim=True), changed.sum(-1, keepdim=True)
    return torch.where(after > 0, changed * before / after.clamp_min(1e-12), 0)
