"""The computations of area attention on one block of scores, on views that are sliced once.

Shapes: H x W memory grid, K columns (the queries of a block, innermost so that every slice is one
contiguous run), areas of at most A x B items. A gradient block holds 2K columns: K logits, then K
value gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from areaviz.attention.blocks import Block, Blocks, Outer, Problem
from areaviz.trace.areas import AreaGrid


class BoxFilter:
    """A filter that computes the coverage of every item from the item scores in `items`.

    Scores are in units of log 2.

    For one width at a time, the areas grow downwards: mean(h) = lerp(mean(h-1), row, 1/h). The
    adjoint takes two passes: the weight of each area is added to the area that starts in the same
    place and is one row shorter, then the sums are added to the items below. All steps and their
    views are listed once, and the list runs for every block.

    Args:
        grid: the memory and its areas.
        columns: K.
        scratch: buffers [buffer_count, >= H*W*columns] (twice as long for a gradient). Their
            contents are overwritten.
        gradient: whether the block also holds value gradients.
        average: whether an area's value is the mean of its items instead of the sum.
    """

    def __init__(
        self, grid: AreaGrid, columns: int, scratch: Tensor, gradient: bool, average: bool
    ) -> None:
        self.grid, self.columns = grid, columns
        self.gradient, self.average = gradient, average
        self.items, self._means, self._run, self._shifted, *others = scratch
        # A cut grid may need fewer buffers than there are.
        covers = others[: grid.max_width]
        self._talls = others[grid.max_width : grid.max_width + grid.max_height - 1]
        self._total_K, self._delta_K = scratch.new_zeros(2, columns)
        self._steps: list[Callable[[], object]] = []
        cover = [
            self._add_strip_steps(width, buffer) for width, buffer in enumerate(covers, start=1)
        ]
        for w in range(grid.max_width - 1, 0, -1):
            self._add_step(cover[w - 1][:, :-1].add_, cover[w])
        for w in range(1, grid.max_width):
            self._add_step(cover[0][:, w:].add_, cover[w])
        self._cover = cover[0]

    def run(self, delta_K: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Run all steps on the scores in `items`.

        Args:
            delta_K: in a gradient block, the inner product of the output and its gradient.

        Returns:
            The coverage [H, W, columns] and, in a forward pass, the total area weight [K]. In a
            gradient block, the second half of the columns is the gradient of the item scores.
        """
        self._total_K.zero_()
        if delta_K is not None:
            self._delta_K.copy_(delta_K)
        for step in self._steps:
            step()
        return self._cover, self._total_K

    def _add_strip_steps(self, width: int, buffer: Tensor) -> Tensor:
        """List the steps for the areas of one width and return the view of the areas of one row."""
        k, height, places = self.columns, self.grid.height, self.grid.width - width + 1
        items = self._view_buffer(self.items, height, self.grid.width)
        means = self._view_buffer(self._means, height, self.grid.width)
        row = (items if width == 1 else means)[:, :places]
        if width > 1:
            narrower = (items if width == 2 else means)[:, :places]
            self._add_step(torch.lerp, narrower, items[:, width - 1 :], 1 / width, out=row)
        pull = row[..., k:]
        if self.gradient and not self.average:
            # The shifted row has its own buffer because wider areas grow from the unshifted row.
            shifted = self._shifted[: height * places * k].view(height, places, k)
            self._add_step(torch.sub, pull, self._delta_K, alpha=1 / width, out=shifted)
            pull = shifted
        areas = [self._view_buffer(buffer, height, places)]
        self._add_weight_steps(row, pull, areas[0], width)
        for h, tall in enumerate(self._talls, start=2):
            mean = self._view_buffer(self._run, height - h + 1, places)
            if h > 2:
                self._add_step(torch.lerp, mean, row[h - 1 :], 1 / h, out=mean)
            else:
                self._add_step(torch.lerp, row[:-1, :, :k], row[1:, :, :k], 0.5, out=mean[..., :k])
                if self.gradient:
                    self._add_step(torch.lerp, pull[:-1], row[1:, :, k:], 0.5, out=mean[..., k:])
            areas.append(self._view_buffer(tall, height - h + 1, places))
            self._add_weight_steps(mean, mean[..., k:], areas[-1], h * width)
        for h in range(len(areas) - 1, 0, -1):
            self._add_step(areas[h - 1][:-1].add_, areas[h])
        if not self.gradient and not self.average:
            self._add_step(self._add_to_total, areas[0])
        for h in range(1, len(areas)):
            self._add_step(areas[0][h:].add_, areas[h])
        return areas[0]

    def _add_weight_steps(self, mean: Tensor, pull: Tensor, area: Tensor, size: int) -> None:
        """List the steps from the means of the areas of one shape to their weights."""
        weight = area[..., : self.columns]
        self._add_step(torch.exp2, mean[..., : self.columns], out=weight)
        if self.average:
            if not self.gradient:
                self._add_step(self._add_to_total, weight)
            self._add_step(weight.mul_, 1 / size)
        if self.gradient:
            self._add_step(torch.mul, pull, weight, out=area[..., self.columns :])

    def _add_to_total(self, weight: Tensor) -> None:
        self._total_K.add_(weight.sum((0, 1)))

    def _add_step(self, step: Callable[..., object], *inputs: object, **options: Any) -> None:
        self._steps.append(partial(step, *inputs, **options))

    def _view_buffer(self, buffer: Tensor, rows: int, places: int) -> Tensor:
        columns = self.columns * (2 if self.gradient else 1)
        return buffer[: rows * places * columns].view(rows, places, columns)


class MeanBlocks(Blocks):
    """Blocks that share the scratch memory of one pass and cache the filters made from it."""

    def __init__(self, problem: Problem, like: Tensor, gradient: bool) -> None:
        grid, halves = problem.grid, 2 if gradient else 1
        live = grid.max_height + grid.max_width + (2 if grid.max_width > 1 else 1)
        super().__init__(problem, like, live * halves)
        self.gradient = gradient
        buffers = 3 + grid.max_height + grid.max_width
        room = grid.items * self.rows_per_block * self.queries_per_block * halves
        self.scratch = torch.empty(buffers, room, dtype=self.dtype, device=like.device)
        self.filters: dict[tuple[int, int], BoxFilter] = {}

    def compute_coverage(
        self, block: Block, query: Tensor, key: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Compute the coverage of a block, see `Blocks`."""
        n, q = block.size
        boxes = self._get_filter(block.items, n * q)
        scores_Mnq = boxes.items[: block.items * n * q].view(block.items, n, q)
        self.write_scores(block, query, key, scores_Mnq)
        # Every single item is an area, and a mean never exceeds the largest item, so this is the
        # largest area logit.
        most_nq = scores_Mnq.amax(0)
        scores_Mnq.sub_(most_nq)
        coverage, weight_K = boxes.run()
        return coverage.view(block.items, n, q).permute(1, 2, 0), most_nq, weight_K.view(n, q)

    def compute_gradients(
        self, block: Block, query: Tensor, key: Tensor, value_nMV: Tensor, outer: Outer
    ) -> list[Tensor]:
        """Compute the gradients of a block, see `Blocks`."""
        grad_nqV, delta_nq, total_nq = outer
        items, (n, q) = block.items, block.size
        boxes = self._get_filter(items, n * q)
        both = boxes.items[: items * 2 * n * q].view(items, 2, n, q)
        scores_Mnq, pull_Mnq = both[:, 0], both[:, 1]
        self.write_scores(block, query, key, scores_Mnq)
        scores_Mnq.sub_(total_nq)
        torch.bmm(value_nMV, grad_nqV.transpose(1, 2), out=pull_Mnq.transpose(0, 1))
        if self.problem.average:
            pull_Mnq.sub_(delta_nq)
        result, _ = boxes.run(delta_nq.reshape(-1))
        return list(result.view(items, 2, n, q).permute(1, 2, 0, 3))

    def _get_filter(self, items: int, columns: int) -> BoxFilter:
        """Return the filter for this number of items and columns, and create it on first use."""
        if (items, columns) not in self.filters:
            self.filters[items, columns] = BoxFilter(
                self.cut_grid(items), columns, self.scratch, self.gradient, self.problem.average
            )
        return self.filters[items, columns]
