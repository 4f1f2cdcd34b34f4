"""Interventions in an external model, which change weights of its layers or switch heads off.

If a layer looks up its attention function (`watch_interface`), our function replaces it. The
weights can then be changed before they mix the values. A first, unchanged run identifies the
layers. The second run has the changes and is recorded.

Shapes: B examples, H heads, Q queries, N memory items, D width of a head.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from areaviz.adapters import recording
from areaviz.adapters.heads import Site
from areaviz.adapters.recording import RecordedRun
from areaviz.adapters.run import ModelRun
from areaviz.trace.areas import AreaGrid
from areaviz.trace.changes import (
    Change,
    Gate,
    Places,
    Weigh,
    compute_area_factors,
    list_changes_by_site,
    name_kind,
)
from areaviz.trace.errors import InputError

# Maximum difference between a layer's output and the sum of its values by weight, relative to the
# largest output.
_CLOSE = 1e-2
_SHARED = (
    'The layers of "{}" share their weights, so they can only be changed together. Choose all'
    " layers."
)
_UNSEEN = (
    'The layers of "{}" bypass the library\'s attention interface, so they cannot be'
    " changed. Use another change or another model."
)


@dataclass(frozen=True, slots=True, eq=False)
class InterventionHook:
    """Applies changes to the attention of each layer while a model runs."""

    # Site and layer number of each attention module.
    places: Mapping[nn.Module, tuple[str, int]]
    changes: Sequence[Weigh | Gate]
    # Rows and columns of the memory, for sites whose items are the cells of a picture.
    cells: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    # Sites at which a change had an effect.
    reached: set[str] = field(default_factory=set)

    def __call__(
        self, module: nn.Module, weights_BHQN: Tensor, value: Tensor, output: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the output [B, Q, H, D] and the weights of a layer under the changes.

        Raises:
            InputError: The layer's output is not the sum of its values by weight.
        """
        site, layer = self.places.get(module, ("", 0))
        own = [one for one in self.changes if one.site == site and one.layer in (None, layer)]
        if not own:
            return output, weights_BHQN
        plain = _mix_values(weights_BHQN, value)
        apart = torch.inf
        if plain.shape == output.shape:
            apart = float((plain - output).abs().max())
        if apart > _CLOSE * max(float(output.abs().max()), 1e-3):
            raise InputError(
                f'The layers of "{site}" do more than mix values by weight, so they cannot be'
                " changed. Use another site."
            )
        self.reached.add(site)
        weighs = [one for one in own if isinstance(one, Weigh)]
        weights_BHQN = _apply_factors(weights_BHQN, weighs, self.cells.get(site))
        output = _mix_values(weights_BHQN, value)
        for gate in own:
            if isinstance(gate, Gate):
                heads = slice(None) if gate.head is None else slice(gate.head, gate.head + 1)
                output[:, :, heads] *= gate.factor
        return output, weights_BHQN


@contextmanager
def apply_changes(
    model: nn.Module, changes: Sequence[Change], before: ModelRun, seen: RecordedRun, is_given: bool
) -> Iterator[None]:
    """Run a model under changes within the block.

    Args:
        model: Model to run.
        changes: Changes to apply.
        before: Run of the input without changes.
        seen: Layers of that run.
        is_given: Whether the output is given, so that its items are known before the run.

    Raises:
        InputError: A change names something that does not exist, or layers that cannot be changed.
    """
    sites = {site.name: (site.query, site.memory) for site in before.sites}
    check_model_changes(changes, before, is_given)
    names = dict(model.named_modules())
    places: dict[nn.Module, tuple[str, int]] = {}
    for site, layers in seen.names.items():
        for layer, name in enumerate(layers):
            if name in names and names[name] not in places:
                places[names[name]] = site, layer
    cells = {site.name: site.shape for site in before.sites if site.memory == "picture"}
    # A class token attends in the layers of its picture, so it is changed with them.
    hideable = {site: ends for site, ends in sites.items() if site in seen.names}
    changer = InterventionHook(places, list_changes_by_site(changes, hideable), cells)
    for change in changer.changes:
        layers = seen.names.get(change.site, ())
        if change.layer is not None and len(set(layers)) < len(layers):
            raise InputError(_SHARED.format(change.site))
    with recording.route_attention(model, changer):
        yield
    for change in changer.changes:
        if change.site not in changer.reached:
            raise InputError(_UNSEEN.format(change.site))


def check_model_changes(changes: Sequence[Change], before: ModelRun, is_given: bool) -> None:
    """Check that everything that the changes name exists.

    Raises:
        InputError: A part does not exist. The message names the first missing part.
    """
    fields = {one.name: len(one) for one in before.fields}
    # The history of a decoder is its input. The history of an encoder-decoder is its output.
    written = {"target"} if set(fields) <= {"history", "target"} else {"target", "history"}
    lengths = {name: count for name, count in fields.items() if is_given or name not in written}
    for change in changes:
        if name_kind(change) == "share":
            raise InputError("This model does not allow a change of its scores. Remove the change.")
        sites = {site.name: site for site in before.sites}
        meant = sites.get(getattr(change, "site", ""), next(iter(sites.values())))
        ends = {name: (site.query, site.memory) for name, site in sites.items()}
        heads, _, _ = meant.layers[0].shape
        places = Places(ends, len(meant.layers), heads, lengths, _make_grids(sites, lengths))
        places.check([change])


def _make_grids(sites: Mapping[str, Site], lengths: Mapping[str, int]) -> dict[str, AreaGrid]:
    """Return the grids of the memories whose items are known before the model writes anything."""
    found = {}
    for site in sites.values():
        if site.memory in lengths:
            found[site.memory] = AreaGrid(*site.shape, 1, 1)
    return found


def _mix_values(weights_BHQN: Tensor, value: Tensor) -> Tensor:
    """Mix values [B, H or fewer, N, D] by weights: [B, Q, H, D]."""
    groups = weights_BHQN.shape[1] // value.shape[1]
    value_BHND = value.repeat_interleave(groups, 1)
    return (weights_BHQN.to(value.dtype) @ value_BHND).transpose(1, 2).contiguous()


def _apply_factors(
    weights_BHQN: Tensor, weighs: Sequence[Weigh], cells: tuple[int, int] | None
) -> Tensor:
    """Multiply weights by their factors and restore row sums.

    A row without remaining weight gets 0.
    """
    if not weighs:
        return weights_BHQN
    _, heads, queries, items = weights_BHQN.shape
    rows, columns = cells or (1, items)
    # Items that are not cells, such as a class token, come first.
    extra = items - rows * columns
    within = extra if queries == items else 0
    table_N4 = np.ones((rows * columns, 4), np.int64)
    table_N4[:, 0], table_N4[:, 1] = np.divmod(np.arange(rows * columns), columns)
    factors_HQN = compute_area_factors(weighs, table_N4, columns, heads, queries - within)
    before_Q = within if factors_HQN.shape[1] > 1 else 0
    padding = (0, 0), (before_Q, 0), (extra, 0)
    factors = torch.from_numpy(np.pad(factors_HQN, padding, constant_values=1))
    changed = weights_BHQN * factors.to(weights_BHQN)
    before, after = weights_BHQN.sum(-1, keepdim=True), changed.sum(-1, keepdim=True)
    return torch.where(after > 0, changed * before / after.clamp_min(1e-12), 0)
