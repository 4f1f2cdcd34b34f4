"""The algebra of area attention on one block of scores, on views that are sliced once.

Shapes: H x W memory grid, K columns (the queries of a block, innermost so that every slice is one
long run), areas of at most A x B items. A gradient block holds 2K columns: K logits, then K value
gradients.

For one width at a time the areas grow downwards: mean(h) = lerp(mean(h-1), row, 1/h). The adjoint
goes
back in two sweeps: *gather* turns the weight of each area into the weight of all areas at least as
high that start in the same place, *spread* adds those to the items below.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from areaviz.trace.areas import AreaGrid

Lerp = tuple[Tensor, Tensor, float, Tensor]
Pairs = list[tuple[Tensor, Tensor]]


class _Step(NamedTuple):
    """One area shape: how its means follow from a smaller one, and where its weights go."""

    lerps: list[Lerp]
    logit: Tensor
    weight: Tensor
    share: float
    pull: tuple[Tensor, Tensor] | None


class _Strip(NamedTuple):
    """The areas of one width, lowest first; `shift` is (row means, shifted row means, 1
    / width).
    """

    widen: Lerp | None
    shift: tuple[Tensor, Tensor, float] | None
    steps: list[_Step]
    gather: Pairs
    spread: Pairs
    cover: Tensor


def buffer_count(grid: AreaGrid) -> int:
    """How many buffers of H*W*columns values a `BoxFilter` needs."""
    return 3 + grid.max_height + grid.max_width


class BoxFilter:
    """Turns the item scores in `items`, in units of log 2, into the coverage of every item.

    Args:
        grid: the memory and its areas.
        columns: K.
        scratch: buffers [buffer_count, >= H*W*columns] (twice as long for a gradient), overwritten.
        gradient: whether the block also holds value gradients.
        average: whether an area's value is the mean of its items and not the sum.
    """

    def __init__(
        self, grid: AreaGrid, columns: int, scratch: Tensor, gradient: bool, average: bool
    ) -> None:
        self.grid, self.columns = grid, columns
        self.gradient, self.average = gradient, average
        self._free: Iterator[Tensor] = iter(scratch)
        self.items = self._take()
        self._row, self._run, self._shifted = self._take(), self._take(), self._take()
        covers = [self._take() for _ in range(grid.max_width)]
        talls = [self._take() for _ in range(grid.max_height - 1)]
        self._strips = [self._strip(w + 1, covers[w], talls) for w in range(grid.max_width)]
        cover = [strip.cover for strip in self._strips]
        self._across = [(cover[w - 1][:, :-1], cover[w]) for w in range(grid.max_width - 1, 0, -1)]
        self._across += [(cover[0][:, w:], cover[w]) for w in range(1, grid.max_width)]

    def run(self, delta_K: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Coverage [H, W, columns] and, forward, the total area weight [K].

        In a gradient block `delta_K` is the inner product of the output and its gradient; the
        second half of the result is the gradient of the item scores.
        """
        total_K: Tensor | None = None
        for strip in self._strips:
            if strip.widen is not None:
                _lerp(strip.widen)
            if strip.shift is not None and delta_K is not None:
                torch.sub(strip.shift[0], delta_K, alpha=strip.shift[2], out=strip.shift[1])
            for step in strip.steps:
                total_K = self._weigh(step, total_K)
            _add(strip.gather)
            if not self.gradient and not self.average:
                total_K = _plus(total_K, strip.cover.sum((0, 1)))
            _add(strip.spread)
        _add(self._across)
        return self._strips[0].cover, total_K

    def _weigh(self, step: _Step, total_K: Tensor | None) -> Tensor | None:
        for lerp in step.lerps:
            _lerp(lerp)
        torch.exp2(step.logit, out=step.weight)
        if self.average:
            if not self.gradient:
                total_K = _plus(total_K, step.weight.sum((0, 1)))
            step.weight.mul_(step.share)
        if step.pull is not None:
            torch.mul(step.pull[0], step.weight, out=step.pull[1])
        return total_K

    def _take(self) -> Tensor:
        return next(self._free)

    def _view(self, buffer: Tensor, rows: int, places: int, columns: int = 0) -> Tensor:
        columns = columns or self.columns * (2 if self.gradient else 1)
        return buffer[: rows * places * columns].view(rows, places, columns)

    def _strip(self, width: int, cover: Tensor, talls: list[Tensor]) -> _Strip:
        height, places = self.grid.height, self.grid.width - width + 1
        items, means = (self._view(b, height, self.grid.width) for b in (self.items, self._row))
        row = (items if width == 1 else means)[:, :places]
        widen = None
        if width > 1:
            widen = (
                (items if width == 2 else means)[:, :places],
                items[:, width - 1 :],
                1 / width,
                row,
            )
        shift, first_pull = None, row[..., self.columns :]
        if self.gradient and not self.average:
            shifted = self._view(self._shifted, height, places, self.columns)
            shift, first_pull = (first_pull, shifted, 1 / width), shifted
        areas = [self._view(cover, height, places)]
        areas += [self._view(tall, height - 1 - i, places) for i, tall in enumerate(talls)]
        steps = [self._step([], row, first_pull, areas[0], width)]
        run = self._view(self._run, height - 1, places) if talls else row
        for h in range(2, len(areas) + 1):
            lerps = self._first_lerps(row, first_pull, run) if h == 2 else []
            here = run[: height - h + 1]
            if h > 2:
                lerps = [(here, row[h - 1 :], 1 / h, here)]
            steps.append(
                self._step(lerps, here, here[..., self.columns :], areas[h - 1], h * width)
            )
        gather = [(areas[h - 1][:-1], areas[h]) for h in range(len(areas) - 1, 0, -1)]
        spread = [(areas[0][h:], areas[h]) for h in range(1, len(areas))]
        return _Strip(widen, shift, steps, gather, spread, areas[0])

    def _first_lerps(self, row: Tensor, pull: Tensor, run: Tensor) -> list[Lerp]:
        """From height 1 to 2: a gradient starts from its shifted row, which lies in its
        own buffer.
        """
        if not self.gradient:
            return [(row[:-1], row[1:], 0.5, run)]
        k = self.columns
        logits = (row[:-1, :, :k], row[1:, :, :k], 0.5, run[..., :k])
        return [logits, (pull[:-1], row[1:, :, k:], 0.5, run[..., k:])]

    def _step(
        self, lerps: list[Lerp], mean: Tensor, pull: Tensor, area: Tensor, size: int
    ) -> _Step:
        k = self.columns
        pulls = (pull, area[..., k:]) if self.gradient else None
        return _Step(lerps, mean[..., :k], area[..., :k], 1 / size, pulls)


def _lerp(step: Lerp) -> None:
    start, end, weight, out = step
    torch.lerp(start, end, weight, out=out)


def _add(pairs: Pairs) -> None:
    for target, source in pairs:
        target.add_(source)


def _plus(total: Tensor | None, more: Tensor) -> Tensor:
    return more if total is None else total.add_(more)
