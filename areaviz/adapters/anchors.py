"""Anchors of tokens: the characters of a text that each token stands for.

The alignment of two sequences comes first. The anchors use it if a tokenizer returns no
offsets.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# Alignment of two sequences of characters with the fewest edits (Levenshtein, 1966).
#
# Shapes: S symbols of the tokens, C characters of the text, W characters of a window.


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


# Anchors of tokens from the offsets of a tokenizer, or from the texts of its tokens.
#
# Tokenizers normalise a text before they split it (NFKC, lower case, no accents) and spell tokens
# in their own ways (bytes, markers for spaces). If a tokenizer returns offsets, gaps in them are
# filled. Otherwise tokens and text are folded to one spelling and aligned by edit distance, and the
# result is mapped back to the text.
#
# Shapes: S symbols of the tokens, C characters of the folded text.


Span = tuple[int, int]
Letters = list[tuple[str | int, int]]

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
# Markers that WordPiece and the BPE of CTRL, XLM and CLIP put at the edges of a token.
_EDGE_MARKS = re.compile(r"^##(?=.)|(?<=.)(</w>|@@)$", re.DOTALL)
# SentencePiece writes a space as this character.
_SENTENCEPIECE_BLANK = "▁"


@dataclass(frozen=True, slots=True)
class Piece:
    """A token in the spelling of its tokenizer."""

    text: str
    # True if it is a control token, such as the end of the sentence.
    is_special: bool = False
    # True if it stands for characters that the tokenizer does not know.
    is_unknown: bool = False


@dataclass(frozen=True, slots=True)
class _Spelling:
    """Tokens as one sequence of folded characters. Several tokens can share a character."""

    # Code points, or WILDCARD for an unknown token: int64 [S].
    codes_S: npt.NDArray[np.int64]
    # The first and the last token to which a character belongs.
    owners: list[Span]
    # Number of spaces in each token that consists only of spaces, 0 for other tokens.
    blanks: list[int]


def anchor_pieces(text: str, pieces: Sequence[Piece]) -> list[Span]:
    """Return the characters (start, end) of each token, found by alignment.

    Tokens without characters, such as the end of the sentence, get start = end.
    """
    codes_C, places = _fold(text)
    shares = Counter(places)
    is_part_C = np.array([shares[place] > 1 for place in places], np.bool_)
    best = None
    for spelling in _iterate_spellings(pieces):
        cost, path = edit_path(spelling.codes_S, codes_C, is_part_C)
        if best is None or cost < best[0]:
            best = cost, path, spelling
        if not cost:
            break
    assert best is not None
    _, path, spelling = best
    spans: list[Span | None] = [None] * len(pieces)
    symbols = zip(spelling.codes_S.tolist(), spelling.owners, path, strict=True)
    for code, (first, last), index in symbols:
        for owner in range(first, last + 1):
            # A token can contain the space before its word, but its span does not.
            if index >= 0 and (code != BLANK or spelling.blanks[owner]):
                known = spans[owner]
                spans[owner] = (known[0] if known else places[index], places[index] + 1)
    return _complete_spans(text, pieces, _widen_spans(text, pieces, spans), spelling.blanks)


def complete_offsets(text: str, pieces: Sequence[Piece], offsets: Sequence[Span]) -> list[Span]:
    """Return the completed offsets of a tokenizer, or an alignment that covers more of the text.

    Tokenizers return empty offsets for spaces, leave out accents that they strip, and shift offsets
    after a character that they drop.
    """
    spans: list[Span | None] = [span if span[0] < span[1] else None for span in offsets]
    placed = [span for span in spans if span]
    starts = [start for start, _ in placed]
    if starts != sorted(starts) or any(end > len(text) for _, end in placed):
        return anchor_pieces(text, pieces)
    blanks = [spelling.blanks for spelling in _iterate_spellings(pieces)]
    most = [max(counts) for counts in zip(*blanks, strict=True)]
    completed = _complete_spans(text, pieces, spans, most)
    if not _count_uncovered(text, completed):
        return completed
    return min(
        anchor_pieces(text, pieces), completed, key=lambda found: _count_uncovered(text, found)
    )


def fold_character(character: str) -> str:
    """Return a character without features that tokenizers change: case, width and kind of space."""
    if character.isspace() or character == _SENTENCEPIECE_BLANK:
        return chr(BLANK)
    folded = unicodedata.normalize("NFKD", character).casefold()
    return unicodedata.normalize("NFKD", folded)


def _fold(text: str) -> tuple[npt.NDArray[np.int64], list[int]]:
    """Return the folded characters of a text, and where each of them is in the text."""
    codes, places = [], []
    for place, character in enumerate(text):
        for one in fold_character(character):
            codes.append(ord(one))
            places.append(place)
    return np.array(codes, np.int64), places


def _iterate_spellings(pieces: Sequence[Piece]) -> Iterator[_Spelling]:
    """Yield the possible spellings of the tokens, the most common first."""
    ways: list[Callable[[str], list[str | int] | None]] = [_spell_as_written, _without_edge_marks]
    ways += [_spell_as_byte_level, _spell_as_latin_1]
    for way in ways:
        letters: Letters = []
        for number, piece in enumerate(pieces):
            spelled = [] if piece.is_special or piece.is_unknown else way(piece.text)
            if spelled is None:
                break
            letters += [(letter, number) for letter in spelled]
            if piece.is_unknown:
                letters.append(("", number))
        else:
            yield _make_spelling(letters, len(pieces))


def _spell_as_written(text: str) -> list[str | int] | None:
    """Return the characters of a token, or the number of a byte token such as "<0x0A>"."""
    byte = _BYTE_PIECE.fullmatch(text)
    return [int(byte[1], 16)] if byte else list(text)


def _without_edge_marks(text: str) -> list[str | int] | None:
    return _spell_as_written(_EDGE_MARKS.sub("", text))


def _spell_as_latin_1(text: str) -> list[str | int] | None:
    """Return the bytes of a ByT5 token, in which each character's code point is a byte."""
    return [ord(one) for one in text] if all(ord(one) < 256 for one in text) else None


def _spell_as_byte_level(text: str) -> list[str | int] | None:
    """Return the bytes of a token of byte-level BPE (Radford et al., 2019), otherwise None."""
    numbers = [_BYTE_LEVEL.get(one) for one in text]
    return [one for one in numbers if one is not None] if None not in numbers else None


def _map_byte_level() -> dict[str, int]:
    """Return the byte of each character in the alphabet of byte-level BPE."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    moved = {chr(256 + number): byte for number, byte in enumerate(others)}
    return {**{chr(byte): byte for byte in printable}, **moved}


_BYTE_LEVEL = _map_byte_level()


def _make_spelling(letters: Letters, count: int) -> _Spelling:
    """Return characters and bytes as one sequence of folded characters."""
    codes, owners = [], []
    blanks, is_visible = [0] * count, [False] * count
    for character, first, last in _decode(letters):
        if not character:
            codes.append(WILDCARD)
            owners.append((first, last))
            continue
        folded = fold_character(character)
        for owner in range(first, last + 1):
            blanks[owner] += folded == chr(BLANK)
            is_visible[owner] |= folded != chr(BLANK)
        for one in folded:
            codes.append(ord(one))
            owners.append((first, last))
    blanks = [0 if seen else number for number, seen in zip(blanks, is_visible, strict=True)]
    return _Spelling(np.array(codes, np.int64), owners, blanks)


def _decode(letters: Letters) -> Iterator[tuple[str, int, int]]:
    """Yield each character with the first and the last token that contain a part of it."""
    at = 0
    while at < len(letters):
        letter, owner = letters[at]
        if isinstance(letter, str):
            yield letter, owner, owner
            at += 1
            continue
        # The number of leading 1 bits in the first byte gives the length of a UTF-8 character.
        length = max(1, 8 - (letter ^ 0xFF).bit_length())
        part = letters[at : at + length]
        numbers = [one for one, _ in part if isinstance(one, int)]
        try:
            character = bytes(numbers).decode() if len(numbers) == length else ""
        except UnicodeDecodeError:
            character = ""
        if character:
            yield character, owner, part[-1][1]
            at += length
        else:
            yield "\ufffd", owner, owner
            at += 1


def _complete_spans(
    text: str, pieces: Sequence[Piece], spans: Sequence[Span | None], blanks: Sequence[int]
) -> list[Span]:
    """Return all spans. A token without a span gets one between the spans next to it."""
    starts = [len(text)] * (len(spans) + 1)
    for number in range(len(spans) - 1, -1, -1):
        span = spans[number]
        starts[number] = span[0] if span else starts[number + 1]
    found, at = [], 0
    for number, span in enumerate(spans):
        if span is None:
            following = max(at, starts[number])
            span = _place_between(text, (at, following), pieces[number], blanks[number])
        found.append(span)
        at = max(at, span[1])
    return _with_marks(text, found)


def _widen_spans(
    text: str, pieces: Sequence[Piece], spans: Sequence[Span | None]
) -> list[Span | None]:
    """Return the spans, with those of unknown tokens extended to their neighbours."""
    wider, at = list(spans), 0
    for number, span in enumerate(spans):
        if span is None:
            continue
        if pieces[number].is_unknown:
            following = (one[0] for one in spans[number + 1 :] if one)
            reached = text[at : next(following, len(text))]
            if visible := reached.strip():
                start = at + reached.index(visible)
                span = wider[number] = start, start + len(visible)
        at = max(at, span[1])
    return wider


def _place_between(text: str, gap: Span, piece: Piece, blanks: int) -> Span:
    """Return a span for a token that has none, in the gap before the next token."""
    start, end = gap
    between = text[start:end]
    if piece.is_special and not piece.is_unknown:
        literal = between.find(piece.text)
        return (start + literal, start + literal + len(piece.text)) if literal >= 0 else gap[:1] * 2
    if blanks:
        width = len(between) - len(between.lstrip())
        return start, start + min(width, blanks)
    visible = between.strip()
    if not visible or not piece.text:
        return start, start
    first = start + between.index(visible)
    return first, first + len(visible)


def _with_marks(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return the spans extended by the combining marks that follow their last character."""
    covered = {place for start, end in spans for place in range(start, end)}
    longer: dict[int, int] = {}
    for start, end in spans:
        at = end
        while start < end and at < len(text) and at not in covered and _is_mark(text[at]):
            at += 1
        longer[end] = max(at, longer.get(end, at))
    return [(start, longer[end] if start < end else end) for start, end in spans]


def _count_uncovered(text: str, spans: Sequence[Span]) -> int:
    """Return how many visible characters no token covers."""
    covered = {place for start, end in spans for place in range(start, end)}
    left = set(range(len(text))) - covered
    return sum(unicodedata.category(text[place])[0] not in "CZ" for place in left)


def _is_mark(character: str) -> bool:
    """Return whether a character combines with the one before it, such as an accent."""
    return unicodedata.category(character)[0] == "M"
