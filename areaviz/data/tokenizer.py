"""Text to tokens and back: one SentencePiece tokenizer for characters, subwords and words."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sentencepiece as spm

from areaviz.trace.files import write_whole

PAD, UNKNOWN, START, END = 0, 1, 2, 3

Segmented = tuple[tuple[tuple[int, ...], float], ...]
"""Ways to cut a text into tokens, each with its log-probability, the best first."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a text."""

    id: int
    # What it shows.
    text: str
    # Where it lies in the raw text, in characters.
    start: int
    end: int


class Tokenizer:
    """Characters, unigram subwords or words, with character offsets into the raw text.

    Text is normalised to NFKC, unless it was trained not to, and runs of blanks become one; offsets
    point into the text as typed.
    """

    def __init__(self, model: bytes) -> None:
        self._model = model
        self._pieces = spm.SentencePieceProcessor(model_proto=model)

    @classmethod
    def train(
        cls,
        lines: Iterable[str],
        level: str,
        vocabulary: int,
        symbols: Sequence[str] = (),
        normalised: bool = True,
    ) -> Tokenizer:
        """Learn a tokenizer of `level` "character", "token" or "word".

        It has at most `vocabulary` tokens. Words are what stands between blanks, so marks must
        stand apart. Each of `symbols` is one token wherever it stands behind a blank; among
        subwords and words also where it stands first. Where texts are not `normalised`, such as
        those of ten digits, the file lacks the 240 kB that NFKC takes.
        """
        buffer = io.BytesIO()
        options = {"character": ("char", False), "token": ("unigram", True), "word": ("word", True)}
        model_type, dummy_prefix = options[level]
        spm.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=buffer,
            model_type=model_type,
            vocab_size=vocabulary,
            hard_vocab_limit=False,
            character_coverage=1.0,
            add_dummy_prefix=dummy_prefix,
            normalization_rule_name="nmt_nfkc" if normalised else "identity",
            pad_id=PAD,
            unk_id=UNKNOWN,
            bos_id=START,
            eos_id=END,
            user_defined_symbols=[f"▁{symbol}" for symbol in symbols],
            num_threads=1,
            minloglevel=2,
        )
        return cls(buffer.getvalue())

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        """Read a tokenizer file."""
        return cls(path.read_bytes())

    def save(self, path: Path) -> None:
        """Write the tokenizer file."""
        write_whole(path, self._model)

    def __len__(self) -> int:
        return int(self._pieces.get_piece_size())

    def ids(self, text: str) -> list[int]:
        """The token ids of `text`, with the end symbol."""
        encoded: list[int] = self._pieces.encode(text)
        return [*encoded, END]

    def best_ways(self, text: str, count: int) -> Segmented:
        """The `count` most probable ways to cut `text` into subwords, without an end symbol.

        Characters and words can be cut in one way alone.
        """
        try:
            found = self._pieces.nbest_encode(text, nbest_size=count, return_type="proto")
        except RuntimeError:
            # Only a unigram model knows several ways.
            found = ()
        ways = []
        for one in getattr(found, "nbests", ()):
            ways.append((tuple(piece.id for piece in one.pieces), float(one.score)))
        return tuple(ways) or ((tuple(self._pieces.encode(text)), 0.0),)

    def label(self, token: int) -> str:
        """What one token shows outside a text; the blank before a word is left out."""
        piece = str(self._pieces.id_to_piece(token)).replace("▁", " ")
        return piece.lstrip() or " "

    def labels(self) -> list[str]:
        """What each token shows outside a text, by its id."""
        return [self.label(token) for token in range(len(self))]

    def tokens(self, text: str) -> list[Token]:
        """The tokens of `text` with their places in it, in characters; no end symbol."""
        return _placed(text, self._pieces.encode(text, return_type="proto").pieces)

    def of_words(self, text: str) -> list[int]:
        """For every word of `text`, split by single blanks, the number of the token it begins in.

        Not always its own: two unknown words that follow one another are one token.
        """
        starts = [token.start for token in self.tokens(text)]
        numbers, offset = [], 0
        for word in text.split(" "):
            numbers.append(max(0, bisect_right(starts, offset) - 1))
            offset += len(word) + 1
        return numbers

    def decode(self, ids: Sequence[int]) -> tuple[str, list[Token]]:
        """The text of `ids` and their places in it; control symbols are left out."""
        shown = [i for i in ids if i == UNKNOWN or i > END]
        proto = self._pieces.decode(shown, return_type="proto")
        text = str(proto.text)
        return text, _placed(text, proto.pieces)


def _placed(text: str, pieces: Iterable[Any]) -> list[Token]:
    """Tokens from SentencePiece's, which count bytes and include the blank before a word."""
    index, byte = {0: 0}, 0
    for number, character in enumerate(text, 1):
        byte += len(character.encode("utf-8", "surrogatepass"))
        index[byte] = number
    placed = []
    for piece in pieces:
        start, end = index[piece.begin], index[piece.end]
        shown = text[start:end].lstrip()
        placed.append(Token(piece.id, shown or " ", end - len(shown) if shown else start, end))
    return placed
