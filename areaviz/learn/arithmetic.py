"""The arithmetic of the lessons in NumPy, and the misprints of the papers.

Start with the section on sums, means and deviations of every area, which most other sections
use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import Area, AreaGrid

# The misprints of the papers on areas, computed as printed and as corrected (docs/misprints.md).
#
# A18 is the first version of the paper (2018), and A19 is the published version (Li et al. 2019).
# The misprints of the survey are in the last section.


@dataclass(frozen=True, slots=True)
class Loops:
    """The result of Algorithm 1 for a grid of ones, where each sum should equal the area's size.

    Args:
        areas: the number of returned sums.
        first: the first sum, which should be that of an area of 1 x 1 items.
        right: the number of sums that equal the size of their area.
    """

    areas: int
    first: float
    right: int


def run_loops(side: int, largest: int, printed: bool) -> Loops:
    """Run Algorithm 1 on side x side ones with areas up to largest x largest.

    Slices start at h + 1 and w + 1 as printed, and at h and w as corrected.
    """
    table_HW = compute_padded_table(np.ones((side, side, 1)))[..., 0]
    shift = int(printed)
    areas = 0
    right = 0
    first = 0.0
    for h in range(1, largest + 1):
        for w in range(1, largest + 1):
            if max(h, w) + shift > side:
                continue  # the slices are empty
            sums = sum_by_corners(table_HW, h + shift, w + shift)
            first = first or float(sums[0, 0])
            areas += sums.size
            right += int((sums == h * w).sum())
    return Loops(areas, first, right)


def compute_integral(side: int, printed: bool) -> Floats:
    """Return the summed area table of side x side ones by A18 Eq. 10: [side, side].

    The corrected equation also subtracts I[x-1, y-1].
    """
    table_HW = np.zeros((side + 1, side + 1))
    for row in range(1, side + 1):
        for column in range(1, side + 1):
            twice = 0 if printed else table_HW[row - 1, column - 1]
            both = table_HW[row - 1, column] + table_HW[row, column - 1]
            table_HW[row, column] = 1 + both - twice
    return table_HW[1:, 1:]


def count_spans_as_printed(length: int, size: int) -> int:
    """Return the printed number of spans, (L - S) S + S (S + 1) / 2.

    The formula is wrong if S is larger than L.
    """
    return (length - size) * size + size * (size + 1) // 2


def count_spans(length: int, size: int) -> int:
    """Return the number of spans of at most `size` items in a sequence of `length` items."""
    return AreaGrid.clamped((1, length), (1, size)).count


# Rounding errors of standard deviations from the summed area table and from merging.


MEANS = (0, 1, 3, 10, 30, 100, 300, 1000)
MEASURED_GRID = AreaGrid(1, 256, 1, 5)
ROUNDING_SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class Rounding:
    """The standard deviation of every area, computed in three ways, each [A].

    Args:
        exact: by merging, in float64.
        table: from the summed area table, in float32. Negative variances count as 0.
        merged: by merging, in float32.
        negative: the number of areas whose variance from the table is negative. Single items are
            not counted, because their variance is 0 and only rounding gives it a sign.
    """

    exact: Floats
    table: Floats
    merged: Floats
    negative: int

    @property
    def table_error(self) -> float:
        """The largest absolute error of the standard deviations from the table."""
        return float(np.abs(self.table - self.exact).max())

    @property
    def merged_error(self) -> float:
        """The largest absolute error of the merged standard deviations."""
        return float(np.abs(self.merged - self.exact).max())


def measure_rounding(mean: float) -> Rounding:
    """Draw normal numbers with this mean and deviation 1, and compute every area's deviation."""
    # The numbers are float32 as in a model. The exact values are computed from them in float64.
    x_HWD = (
        np.random.default_rng(ROUNDING_SEED)
        .normal(mean, 1, (1, MEASURED_GRID.width, 1))
        .astype(np.float32)
    )
    variances = compute_variances_by_table(x_HWD, MEASURED_GRID)[:, 0]
    return Rounding(
        exact=compute_area_deviations(x_HWD.astype(np.float64), MEASURED_GRID)[:, 0],
        table=np.sqrt(np.maximum(variances, 0)),
        merged=compute_area_deviations(x_HWD, MEASURED_GRID)[:, 0],
        negative=int((variances[MEASURED_GRID.items :] < 0).sum()),
    )


# Sums, means and deviations of every area in NumPy, and the format of numbers in the lessons.
#
# Shapes: H x W items of the memory, D features of an item, A areas in the order of
# `areaviz.trace.areas`.


Floats = npt.NDArray[np.floating[Any]]
Slabs = dict[tuple[int, int], Floats]
"""Maps each area shape (h, w) to an array for all areas of this shape, [..., H-h+1, W-w+1, D]."""


def list_areas(grid: AreaGrid) -> list[Area]:
    """Return all areas of a grid, in the order in which the model numbers them."""
    return [grid.area(number) for number in range(grid.count)]


def select_items(x_HWD: Floats, area: Area) -> Floats:
    """Return the items in an area, row by row: [items, D]."""
    block = x_HWD[area.top : area.top + area.height, area.left : area.left + area.width]
    return block.reshape(area.size, -1)


def softmax(logits: Floats) -> Floats:
    """Return the softmax of logits [A]: weights [A] that sum to 1."""
    raised = np.exp(logits - logits.max())
    weights: Floats = raised / raised.sum()
    return weights


def compute_area_sums(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """Return the sum of every area (Eq. 4, Li et al. 2019): [A, D].

    Every area is computed from a smaller one by an addition. Without subtractions, no digits are
    lost.
    """
    return _concatenate_slabs(_grow(x_HWD, grid, lambda one, other, *_: one + other), grid)


def compute_area_means(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """Return the mean of every area (Eq. 3, Li et al. 2019): [A, D]."""
    means: Floats = compute_area_sums(x_HWD, grid) / _count_items(x_HWD, grid)
    return means


def compute_area_deviations(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """Return the standard deviation of every area (Eq. 5, Li et al. 2019): [A, D].

    The mean and the summed squared deviation of an area are merged from those of smaller areas, in
    the precision of the input. The result is never negative.
    """
    # A single item is its own mean and has no deviation.
    mean_and_square = np.stack([x_HWD, np.zeros_like(x_HWD)])
    grown = _grow(mean_and_square, grid, _merge)
    squares = {shape: square for shape, (_, square) in grown.items()}
    deviations: Floats = np.sqrt(_concatenate_slabs(squares, grid) / _count_items(x_HWD, grid))
    return deviations


def compute_padded_table(x_HWD: Floats) -> Floats:
    """Return the summed area table, with zeros above and to the left: [H+1, W+1, D]."""
    # Use the precision of the memory, because the lessons measure its rounding errors.
    along_rows = np.cumsum(x_HWD, axis=1, dtype=x_HWD.dtype)
    summed = np.cumsum(along_rows, axis=0, dtype=x_HWD.dtype)
    return np.pad(summed, ((1, 0), (1, 0), (0, 0)))


def sum_by_corners(table: Floats, h: int, w: int) -> Floats:
    """Return the sums of all areas of h x w items, from four corners of a padded table."""
    upper_left = table[:-h, :-w]
    lower_right = table[h:, w:]
    lower_left = table[h:, :-w]
    upper_right = table[:-h, w:]
    sums: Floats = lower_right + upper_left - lower_left - upper_right
    return sums


def compute_sums_by_table(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """Return the sum of every area from the summed area table: [A, D].

    This is Algorithm 1 of the paper with corrected indices.
    """
    table = compute_padded_table(x_HWD)
    return _concatenate_slabs({(h, w): sum_by_corners(table, h, w) for h, w in grid.shapes()}, grid)


def compute_variances_by_table(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """Return the variance of every area as Algorithm 2 computes it: [A, D].

    It is the mean of the squares minus the squared mean, which rounding can make negative.
    """
    sizes = _count_items(x_HWD, grid)
    mean = compute_sums_by_table(x_HWD, grid) / sizes
    variances: Floats = compute_sums_by_table(x_HWD * x_HWD, grid) / sizes - mean * mean
    return variances


def format_number(number: float, digits: int = 3) -> str:
    """Return a number with at most `digits` decimals, without trailing zeros or a minus zero."""
    text = f"{number:.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    # A small negative number rounds to "-0".
    return "0" if text == "-0" else text


def _count_items(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """Return the number of items of every area, in the precision of the memory: [A, 1]."""
    return grid.sizes()[:, None].astype(x_HWD.dtype)


def _grow(
    items: Floats, grid: AreaGrid, merge: Callable[[Floats, Floats, int, int], Floats]
) -> Slabs:
    """Return statistics of every area, computed from those of single items by merging.

    An area of several rows is merged from an area with one row less, and a row. A row of several
    items is merged from a row with one item less, and an item.

    Args:
        items: the statistics of every item, [..., H, W, D].
        grid: the grid of areas.
        merge: function that merges the statistics of two parts. Its arguments are the statistics of
            both parts, and the number of items in each.
    """
    slabs: Slabs = {(1, 1): items}
    for h, w in grid.shapes():
        if h > 1:
            above = slabs[h - 1, w][..., :-1, :, :]
            row = slabs[1, w][..., h - 1 :, :, :]
            slabs[h, w] = merge(above, row, (h - 1) * w, w)
        elif w > 1:
            left = slabs[1, w - 1][..., :-1, :]
            item = items[..., w - 1 :, :]
            slabs[1, w] = merge(left, item, w - 1, 1)
    return slabs


def _merge(one: Floats, other: Floats, count: int, other_count: int) -> Floats:
    """Merge the mean and summed squared deviation [2, ...] of two parts.

    Chan, Golub and LeVeque 1983.
    """
    (mean, square), (other_mean, other_square) = one, other
    total = count + other_count
    delta = other_mean - mean
    between = delta * delta * (count * other_count / total)
    return np.stack([mean + delta * (other_count / total), square + other_square + between])


def _concatenate_slabs(slabs: Slabs, grid: AreaGrid) -> Floats:
    """Return the arrays of all area shapes as one array with a row for each area: [A, D]."""
    features = slabs[1, 1].shape[-1]
    return np.concatenate([slabs[shape].reshape(-1, features) for shape in grid.shapes()])


# Area attention for one query, from the query to the output (Eq. 1 to 4, Li et al. 2019).


KEYS_ND: Floats = np.array([[1.0, 0], [0, 1], [1, 1], [2, -1]])
VALUES_ND: Floats = np.array([[1.0, 2], [3, 4], [5, 6], [7, 8]])


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """One query's attention over A areas of N items.

    Args:
        grid: the areas.
        query: the query [D].
        keys: the mean key of every area [A, D].
        logits, weights: the logit and the weight of every area [A].
        coverage: for each item, the sum of the weights of all areas that contain it [N].
        output: the output [D].
    """

    grid: AreaGrid
    query: Floats
    keys: Floats
    logits: Floats
    weights: Floats
    coverage: Floats
    output: Floats


def attend_spans(query: Floats, size: int) -> Attention:
    """Compute attention for one query with areas of up to `size` items. Logits are not scaled."""
    grid = AreaGrid.clamped((1, len(KEYS_ND)), (1, size))
    keys = compute_area_means(KEYS_ND[None], grid)
    values = compute_area_sums(VALUES_ND[None], grid)
    logits = keys @ query
    weights = softmax(logits)
    coverage = np.zeros(len(KEYS_ND))
    for area, weight in zip(list_areas(grid), weights, strict=True):
        coverage[area.left : area.left + area.width] += weight
    return Attention(grid, query, keys, logits, weights, coverage, weights @ values)


# The richer key of an area from mean, standard deviation and shape (Eq. 5 to 9).


MEMORY_HWD: Floats = np.array([[[1.0, 2], [3, 1], [2, 4]], [[0, 1], [5, 3], [4, 2]]])
FEATURES_GRID = AreaGrid(2, 3, 2, 3)
HEIGHTS: Floats = np.array([[0.5, 0.0], [1.0, -0.5]])
WIDTHS: Floats = np.array([[0.0, 0.5], [0.5, 0.5], [1.0, 0.0]])
W_MEAN: Floats = np.array([[1.0, 1.0], [0.0, -1.0]])
W_DEVIATION: Floats = np.array([[0.5, -1.0], [0.5, 0.0]])
W_SHAPE: Floats = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, -1.0], [0.0, 0.5]])
W_OUT: Floats = np.array([[0.5, 0.0], [-0.5, 1.0]])
"""Weights of the richer key, invented for this question. A model learns such weights."""


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """The key of an area with all intermediate vectors.

    Args:
        mean, deviation, shape: the features of the area.
        hidden: the sum of the features times their weights.
        active: `hidden` after the ReLU.
        key: the key, to which queries are compared.
    """

    mean: Floats
    deviation: Floats
    shape: Floats
    hidden: Floats
    active: Floats
    key: Floats


def compute_key(area: Area) -> Key:
    """Compute the richer key of one area of the memory (Eq. 5 to 9, Li et al. 2019)."""
    items = select_items(MEMORY_HWD, area)
    mean = items.mean(0)
    deviation = items.std(0)
    shape = np.concatenate([HEIGHTS[area.height - 1], WIDTHS[area.width - 1]])
    hidden = mean @ W_MEAN + deviation @ W_DEVIATION + shape @ W_SHAPE
    # The ReLU.
    active = np.maximum(hidden, 0)
    return Key(mean, deviation, shape, hidden, active, active @ W_OUT)


# Boundary keys, which score the first and the last item of an area.
#
# With mean keys, a span never gets more weight than all of its items. With a size bias, or with
# scores for the first and the last item, it can.


BOUNDARY_WORDS = ("a", "young", "child", "runs")
ITEM_LOGITS: Floats = np.array([0.1, 1.0, 0.9, -0.4])
"""The dot product of query and key for every item. The numbers were invented for this question."""
BOUNDARY_GRID = AreaGrid(1, len(BOUNDARY_WORDS), 1, 3)
BEGINS, ENDS = 1, 2
"""The item whose start score the reader sets ("young"), and that of the end score ("child")."""


@dataclass(frozen=True, slots=True, eq=False)
class Boundary:
    """The attention to all areas of the four words.

    Args:
        parts: the four terms of the logits [4, A]: mean, size bias, start and end score.
        logits, weights: the logit and the weight of every area [A].
    """

    parts: Floats
    logits: Floats
    weights: Floats


def attend_boundaries(bias: float, start: float, end: float) -> Boundary:
    """Compute attention with the logits mean + bias * (size - 1) + start score + end score.

    Args:
        bias: the bias for every item after the first.
        start: the score of an area that begins with "young".
        end: the score of an area that ends with "child".
    """
    rows = []
    for area in list_areas(BOUNDARY_GRID):
        after = area.left + area.width
        first = start if area.left == BEGINS else 0.0
        last = end if after - 1 == ENDS else 0.0
        rows.append((ITEM_LOGITS[area.left : after].mean(), bias * (area.width - 1), first, last))
    parts = np.array(rows).T
    logits = parts.sum(0)
    return Boundary(parts, logits, softmax(logits))


def find_heaviest_area(found: Boundary) -> int:
    """Return the index of the area with the largest weight."""
    return int(found.weights.argmax())


def list_words(area: Area) -> str:
    """Return the words of an area, separated by spaces."""
    return " ".join(BOUNDARY_WORDS[area.left : area.left + area.width])


# The summed area table, and the sum of any rectangle from four of its entries (Algorithm 1).


TABLE_MEMORY: Floats = np.array([[2.0, 1, 3, 2], [4, 0, 1, 5], [1, 3, 2, 1]])
TABLE_GRID = AreaGrid(*TABLE_MEMORY.shape, *TABLE_MEMORY.shape)
"""All rectangles of the memory, including the whole memory."""


def compute_table() -> Floats:
    """Return the table of sums with zeros above and to the left."""
    return compute_padded_table(TABLE_MEMORY[..., None])[..., 0]


def get_corners(area: Area) -> list[float]:
    """Return the entries I1 to I4 of the padded table at the corners of an area (Algorithm 1).

    Each entry is the sum of a rectangle that starts at the top left of the memory. The rectangle of
    I1 ends at the area's end. That of I3 ends left of the area, that of I4 above the area, and I2
    belongs to their intersection. The sum of the area is I1 + I2 - I3 - I4.
    """
    table_HW = compute_table()
    return [float(table_HW[place]) for place in locate_corners(area)]


def locate_corners(area: Area) -> tuple[tuple[int, int], ...]:
    """Return row and column of I1 to I4 in the padded table."""
    bottom = area.top + area.height
    right = area.left + area.width
    return (bottom, right), (area.top, area.left), (bottom, area.left), (area.top, right)


# The cost of areas: additions to build them, and operations to attend to them.


COST_DEPTH = 64
"""Size D of a key or value, as in one attention head of the Base Transformer."""


def count_operations(grid: AreaGrid) -> dict[str, int]:
    """Return the number of operations to build all areas and to attend to them, by method.

    The methods to build areas are "one by one", "table" (the summed area table) and "recurrence",
    which computes every area from a smaller one. Only the additions for one feature of the items
    are counted.

    The methods to attend are "regular" (single items), "built areas" and "factored". The
    multiplications and additions of one head with as many queries as items are counted. The product
    of a query and a key, or of a weight and a value, counts 2 D. The factored form attends to items
    and needs one more addition per area for the logits, and one for the coverage.
    """
    # Cumulative sums along the rows, then down the columns.
    making_table = grid.height * (grid.width - 1) + grid.width * (grid.height - 1)
    queries = grid.items
    products = 4 * COST_DEPTH
    regular = queries * grid.items * products
    return {
        "areas": grid.count,
        "one by one": int(grid.sizes().sum()) - grid.count,
        "table": making_table + 3 * grid.count,
        "recurrence": grid.count - grid.items,
        "regular": regular,
        "built areas": queries * grid.count * products,
        "factored": regular + queries * 2 * grid.count,
    }


# Numbers of question 11: estimates of the gradient by REINFORCE, and the exact gradient.
#
# Equation numbers are those of the survey (Wang and Tax 2016). Shapes: K items and their scores, M
# draws of one estimate, N estimates.


RIGHT = 2
"""The index of the item with the answer, from 0."""
REWARDS: Mapping[str, Floats] = {
    "Right or wrong": np.array([0.0, 0, 1, 0, 0]),
    "Log-likelihood": np.array([-3.2, -2.4, -0.3, -2.8, -3.6]),
}
SCORES: Mapping[str, Floats] = {
    "Even": np.zeros(5),
    "Leaning to item 2": np.array([0.0, 1.5, 0.5, 0, -0.5]),
    "Nearly sure of item 3": np.array([0.0, 0, 3.5, 0, 0]),
}
BASELINES = ("None", "Mean reward", "Moving average", "Best")
HARD_RATE = 0.1
"""Weight of the newest reward in the moving average."""
SHOWN = 200
"""Number of estimates that are returned."""
EARLIER = 100
"""Number of earlier estimates that are dropped.

A moving average starts at 0 and needs this time.
"""
SEED = 3


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A random choice of one of K items, as in hard attention.

    Args:
        scores: the scores of the items [K]. Their softmax is the probability of each item.
        rewards: the reward for choosing each item [K].
    """

    scores: Floats
    rewards: Floats

    @property
    def weights(self) -> Floats:
        """The attention weights, which are the probabilities of the items (Eq. 13): [K]."""
        return softmax(self.scores)

    @property
    def expected(self) -> float:
        """The expected reward, which training maximises (Eq. 43)."""
        return float(self.weights @ self.rewards)

    @property
    def gradient(self) -> Floats:
        """The exact gradient of the expected reward with respect to the scores (Eq. 44): [K]."""
        slope: Floats = self.weights * (self.rewards - self.expected)
        return slope

    @property
    def traces(self) -> Floats:
        """The gradient of the log-weight of each item with respect to the scores.

        It is [K items, K scores]: the identity matrix minus the weight of each score.
        """
        slopes: Floats = np.eye(len(self.scores)) - self.weights
        return slopes


@dataclass(frozen=True, slots=True, eq=False)
class Redraws:
    """Estimates of a gradient, the newest last.

    Args:
        chosen: the indices of the drawn items [N, M].
        baselines: the baseline of each estimate [N].
        estimates: the estimates of the gradient [N, K].
    """

    chosen: npt.NDArray[np.intp]
    baselines: Floats
    estimates: Floats

    @property
    def variance(self) -> float:
        """The variance of the estimates, summed over the scores."""
        return float(self.estimates.var(0, ddof=1).sum())


def redraw(choice: Choice, samples: int, baseline: str, more: int = 0) -> Redraws:
    """Return the last `SHOWN` estimates of the gradient (Eq. 48). The seed is fixed.

    Args:
        choice: the items with their probabilities and rewards.
        samples: the number of draws for each estimate.
        baseline: one of `BASELINES`.
        more: the number of further estimates to draw after the first ones.
    """
    count = EARLIER + SHOWN + more
    ends = np.cumsum(choice.weights)
    # Use equal random numbers for all choices, so that only the settings make a difference.
    uniform = np.random.default_rng(SEED).random((count, samples))
    # Rounding can leave the last end below 1.
    chosen = np.searchsorted(ends / ends[-1], uniform, side="right")
    rewards = choice.rewards[chosen]
    if baseline == "Moving average":
        baselines = _compute_moving_averages(rewards.mean(1))
    else:
        baselines = np.full(count, compute_baseline_level(choice, baseline))
    advantages = rewards - baselines[:, None]
    estimates = np.einsum("nm,nmk->nk", advantages, choice.traces[chosen]) / samples
    return Redraws(chosen[-SHOWN:], baselines[-SHOWN:], estimates[-SHOWN:])


def compute_baseline_level(choice: Choice, baseline: str) -> float:
    """Return the value of a baseline, or the expected value of a moving average."""
    if baseline == "None":
        return 0.0
    return find_best_baseline(choice) if baseline == "Best" else choice.expected


def find_best_baseline(choice: Choice) -> float:
    """Return the baseline with the smallest variance (Weaver and Tao 2001)."""
    pull = _weigh_gradients(choice)
    return float(pull @ choice.rewards / pull.sum())


def compute_variance(choice: Choice, samples: int, baseline: float, wander: float = 0) -> float:
    """Return the exact variance of an estimate, summed over the scores.

    Args:
        choice: the items with their probabilities and rewards.
        samples: the number of draws for each estimate.
        baseline: the value that is subtracted from every reward.
        wander: the variance of the baseline.
    """
    squared = (choice.rewards - baseline) ** 2 + wander
    return float(_weigh_gradients(choice) @ squared - (choice.gradient**2).sum()) / samples


def compute_baseline_variance(choice: Choice, samples: int, baseline: str) -> float:
    """Return the exact variance of an estimate with one of `BASELINES`, summed over the scores."""
    wander = 0.0
    if baseline == "Moving average":
        spread = float(choice.weights @ (choice.rewards - choice.expected) ** 2)
        wander = HARD_RATE / (2 - HARD_RATE) * spread / samples
    return compute_variance(choice, samples, compute_baseline_level(choice, baseline), wander)


def _weigh_gradients(choice: Choice) -> Floats:
    """Return the weight of every item times the squared norm of its gradient: [K]."""
    pull: Floats = choice.weights * (choice.traces**2).sum(1)
    return pull


def _compute_moving_averages(rewards: Floats) -> Floats:
    """Return the moving average of all rewards before each reward [N]. The first is 0."""
    averages = np.zeros(len(rewards))
    for number, reward in enumerate(rewards[:-1]):
        averages[number + 1] = (1 - HARD_RATE) * averages[number] + HARD_RATE * reward
    return averages


# Two misprints of the survey (Wang and Tax 2016), computed as printed and as corrected.
#
# Shapes: U x V pixels of a picture, M glimpses, K items, S = K^M sequences of glimpses.


CHOICE = Choice(SCORES["Even"], REWARDS["Right or wrong"])
MOST_GLIMPSES = 5


def sample_picture(height: int, width: int, printed: bool) -> Floats:
    """Return a picture whose pixels are 1, height x width, sampled at its pixels (Eq. 32): [U, V].

    The sum over rows goes up to the width as printed, and up to the height as corrected. Rows that
    do not exist add 0.
    """
    rows = np.arange(1.0, height + 1)
    columns = np.arange(1.0, width + 1)
    summed = rows[:width] if printed else rows
    # The kernel of bilinear sampling is 0 at a distance of one pixel or more.
    near = np.maximum(0, 1 - np.abs(rows[:, None] - summed)).sum(1)
    beside = np.maximum(0, 1 - np.abs(columns[:, None] - columns)).sum(1)
    output: Floats = np.outer(near, beside)
    return output


def compute_mean_estimate(glimpses: int, printed: bool) -> float:
    """Return the mean of the estimate in Eq. 47 for the score of the item with the answer.

    Every glimpse draws an item with equal weights. The reward is 1 if one of the glimpses drew the
    item with the answer. As printed, the sum over the glimpses is divided by their number. The
    corrected equation does not divide it.
    """
    ways_SM = np.indices((len(CHOICE.scores),) * glimpses).reshape(glimpses, -1).T
    chances = CHOICE.weights[ways_SM].prod(1)
    rewards = (ways_SM == RIGHT).any(1)
    summed = CHOICE.traces[ways_SM, RIGHT].sum(1)
    return float(chances @ (rewards * summed)) / (glimpses if printed else 1)
