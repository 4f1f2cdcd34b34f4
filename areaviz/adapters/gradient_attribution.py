"""Gradient times input of external models, an attribution method in addition to attention.

It needs a field whose items are token embeddings or pixels, and a model that gives scores of
classes or tokens. Otherwise `Attributed.why` states the reason. Shapes: B examples (always 1), T
outputs, N items, V classes or tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from areaviz.attention.gradients import (
    collect_embeddings,
    compute_gradient_times_input,
    describe_too_many,
)
from areaviz.trace.areas import FloatArray

NO_SCORES = "left out: this model gives no scores of classes or tokens for its items"
NO_ITEMS = "left out: the items shown are neither single token embeddings nor parts of the pixels"


@dataclass(frozen=True, slots=True, eq=False)
class Attribution:
    """Gradient times input of a run."""

    # Float32 [T, N] for each field.
    rows: Mapping[str, FloatArray] = field(default_factory=dict)
    # The reason why it is missing. "" if it was not requested or is available.
    why: str = ""

    def over(self, field: str, kept: Tensor, outputs: bool = False) -> Attribution:
        """Return the attribution over some items of a field.

        Args:
            field: Name of the field.
            kept: bool [N], the items to keep.
            outputs: Whether the items of the field are also the outputs.
        """
        if field not in self.rows or bool(kept.all()):
            return self
        chosen, rows_TN = kept.numpy(), self.rows[field]
        rows_TN = rows_TN[:, chosen]
        return replace(self, rows={**self.rows, field: rows_TN[chosen] if outputs else rows_TN})


@dataclass(frozen=True, slots=True)
class Items:
    """A part of a model's input whose elements are the items of a field."""

    # Name of the input, such as "input_ids".
    name: str
    # Name of the field in the trace.
    field: str
    # Rows and columns of cells if the input is pixel values, [1, C, H, W].
    cells: tuple[int, int] | None = None


def compute_attribution(
    model: nn.Module,
    run: Callable[[Mapping[str, Any]], Tensor | None],
    given: Mapping[str, Any],
    items: Sequence[Items],
    chosen: Sequence[int] | None = None,
) -> Attribution:
    """Compute gradient times input of the log-probability of each output.

    Args:
        model: Model whose embeddings are searched.
        run: Function that returns the scores [T, V] for an input, or None.
        given: Inputs by name.
        items: The parts of the input that are items of fields.
        chosen: Class or token at each place. None for the most probable one.
    """
    with torch.enable_grad():
        placed, leaves = dict(given), dict[str, Tensor]()
        for one in items:
            if one.cells is not None:
                leaf = _cut_into_cells(given[one.name], one.cells)
                if leaf is None:
                    return Attribution(why=NO_ITEMS)
                leaves[one.field] = leaf
                placed[one.name] = _join_cells(leaf, one.cells)
        tables = [part for part in model.modules() if isinstance(part, nn.Embedding)]
        with collect_embeddings(tables) as seen:
            scores_TV = run(placed)
        if scores_TV is None:
            return Attribution(why=NO_SCORES)
        if why := describe_too_many(len(scores_TV)):
            return Attribution(why=why)
        for one in items:
            found = [leaf for ids, leaf in seen if _is_called_with(ids, given[one.name])]
            if one.cells is None and not found:
                return Attribution(why=NO_ITEMS)
            if one.cells is None:
                leaves[one.field] = found[0]
        wanted = scores_TV.argmax(-1) if chosen is None else torch.tensor(chosen)
        likely_TV = scores_TV.float().log_softmax(-1)
        scores_T = likely_TV[torch.arange(len(likely_TV)), wanted.to(likely_TV.device)]
        rows = compute_gradient_times_input(scores_T, list(leaves.values()))
    return Attribution(dict(zip(leaves, rows, strict=True)))


def _is_called_with(ids: object, given: Tensor) -> bool:
    """Return whether an embedding was called with these tokens, not with positions or segments."""
    return isinstance(ids, Tensor) and ids.shape == given.shape and bool((ids == given).all())


def _cut_into_cells(values: Tensor, cells: tuple[int, int]) -> Tensor | None:
    """Return pixel values [1, C, H, W] as a leaf [1, N, C, h, w], or None if cells do not fit."""
    rows, columns = cells
    if values.dim() != 4 or values.shape[2] % rows or values.shape[3] % columns:
        return None
    parts = values.detach().unflatten(2, (rows, -1)).unflatten(4, (columns, -1))
    leaf: Tensor = parts.permute(0, 2, 4, 1, 3, 5).flatten(1, 2).clone()
    return leaf.requires_grad_()


def _join_cells(leaf: Tensor, cells: tuple[int, int]) -> Tensor:
    """Return the pixel values of cells, with a graph that leads back to the leaf."""
    values: Tensor = leaf.unflatten(1, cells).permute(0, 3, 1, 4, 2, 5).flatten(4, 5).flatten(2, 3)
    return values
