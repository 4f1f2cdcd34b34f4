"""Alignment of two sequences of characters with the fewest edits (Levenshtein, 1966).

Shapes: S symbols of the tokens, C characters of the text, W characters of a window.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

WILDCARD = -1
"""A symbol that stands for any run of visible characters."""
BLANK = ord(" ")
# Costs of single edits. Tokenizers add and drop spaces, so edits of spaces cost little. A space is
# never paired with a visible character.
_EDIT, _BLANK_EDIT, _UNEQUAL = 20, 2, 1000
# Cost of each further character of a wildcard. It is so low that a wildcard reaches the next
# symbol.
_WIDER = 5
# Cost of pairing with a part of a character, such as the 1 of ½. It is low, but a whole 1 is
# cheaper.
_PART = 1
# Sequences are aligned in windows of this many symbols and characters, so long texts take little
# memory. The first half of each window is kept, and the next window starts after it.
_SYMBOLS, _CHARACTERS = 2048, 3072

Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Costs = npt.NDArray[np.int64]


def edit_path(symbols_S: Codes, text_C: Codes, is_part_C: Flags) -> tuple[int, list[int]]:
    """Return the cost of an alignment, and for each symbol the index of its character or -1.

    Args:
        symbols_S: Code points, or WILDCARD, int64 [S].
        text_C: Code points, int64 [C].
        is_part_C: Whether a code point is only a part of a character of the text, bool [C].
    """
    if np.array_equal(symbols_S, text_C):
        return 0, list(range(len(text_C)))
    if not len(symbols_S):
        return int(_edit_costs(text_C).sum()), []
    path: list[int] = []
    first, total = 0, 0
    while len(path) < len(symbols_S):
        begun = len(path)
        symbols = symbols_S[begun : begun + _SYMBOLS]
        window = slice(first, first + _CHARACTERS)
        is_last = begun + len(symbols) == len(symbols_S)
        cost, indices = _find_window_path(symbols, text_C[window], is_part_C[window], is_last)
        kept = indices if is_last else indices[: _SYMBOLS // 2]
        path += [first + index if index >= 0 else -1 for index in kept]
        total += cost * len(kept) // len(indices)
        first = 1 + max((index for index in path if index >= 0), default=-1)
    return total, path


def _find_window_path(
    symbols_S: Codes, text_W: Codes, is_part_W: Flags, whole: bool
) -> tuple[int, list[int]]:
    """Return the cost and the path of one window.

    Args:
        symbols_S: Symbols. Each is paired with a character or left out.
        text_W: Characters of the window.
        is_part_W: Whether each is only a part of a character.
        whole: Whether characters after the last symbol count as edits.
    """
    edits_W = _edit_costs(text_W)
    prices = {False: _sum_costs(edits_W), True: _sum_costs(np.minimum(edits_W, _WIDER))}
    row, came_from = prices[False], []
    for symbol in symbols_S:
        price = prices[bool(symbol == WILDCARD)]
        row, came = _compute_next_row(row, int(symbol), text_W, is_part_W, price)
        came_from.append(came)
    end = len(text_W) if whole else int(row.argmin())
    cost, at = int(row[end]), end
    indices = [-1] * len(symbols_S)
    for number in range(len(symbols_S) - 1, -1, -1):
        column, is_paired = came_from[number]
        at = int(column[at])
        if is_paired[at]:
            at -= 1
            indices[number] = at
    return cost, indices


def _edit_costs(codes: Codes) -> Costs:
    """Return the cost of leaving out each character."""
    return np.where(codes == BLANK, _BLANK_EDIT, _EDIT)


def _sum_costs(costs_W: Costs) -> Costs:
    """Return the sums of the first 0 to W costs: [W + 1]."""
    return np.concatenate([[0], costs_W.cumsum()])


def _compute_next_row(
    before: Costs, symbol: int, text_W: Codes, is_part_W: Flags, price: Costs
) -> tuple[Costs, tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]]:
    """Return the costs after one more symbol, and how each was reached.

    A symbol is left out or paired with a character. Then characters after it are left out.

    Args:
        before: Least cost up to the previous symbol for each number of characters, [W + 1].
        symbol: Code point or WILDCARD.
        text_W: Characters of the window.
        is_part_W: Whether each is only a part of a character.
        price: Cost of leaving out the first 0 to W characters after this symbol.
    """
    is_blank_W = text_W == BLANK
    unequal_W = np.where(is_blank_W == (symbol == BLANK), _EDIT, _UNEQUAL)
    equal_W = ~is_blank_W if symbol == WILDCARD else text_W == symbol
    left_out = before + (_BLANK_EDIT if symbol == BLANK else _EDIT)
    paired = np.full_like(left_out, np.iinfo(np.int64).max // 2)
    paired[1:] = before[:-1] + np.where(equal_W, _PART * is_part_W, unequal_W)
    is_paired = paired <= left_out
    # The characters that are left out form a run that ends here. Its best start is the column with
    # the smallest cost minus price so far, and the first one of equal columns.
    relative = np.where(is_paired, paired, left_out) - price
    least = np.minimum.accumulate(relative)
    is_new = np.ones(len(relative), np.bool_)
    is_new[1:] = relative[1:] < least[:-1]
    column = np.maximum.accumulate(np.where(is_new, np.arange(len(relative)), 0))
    return least + price, (column.astype(np.int32), is_paired)
