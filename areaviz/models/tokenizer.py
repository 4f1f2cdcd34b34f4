"""The tokenizer, and batches of sentences for training."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece as spm
import torch
from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]
from torch import Tensor
from torch.nn import functional as F

from areaviz.trace.safe_files import write_whole

# Conversion of text to tokens and back, with SentencePiece for characters, subwords and words.


PAD, UNKNOWN, START, END = 0, 1, 2, 3
_KINDS = {1: "unigram", 3: "word", 4: "char"}
"""SentencePiece's model types that `Tokenizer.plain` supports, by number."""

Segmented = tuple[tuple[tuple[int, ...], float], ...]
"""Segmentations of a text into token ids, each with its log-probability, most probable first."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a text."""

    id: int
    # The text of the token.
    text: str
    # Its position in the raw text, in characters.
    start: int
    end: int


class Tokenizer:
    """A tokenizer of characters, unigram subwords or words that knows each token's position.

    Text is normalised to NFKC, unless the tokenizer was trained without NFKC, and runs of spaces
    become one space. Positions count the characters of the text as typed.
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
        """Train a tokenizer of `level` "character", "token" or "word".

        Words are separated by spaces, so a word tokenizer needs spaces around punctuation, too.

        Args:
            lines: Texts to train on.
            level: "character", "token" (unigram subwords) or "word".
            vocabulary: Maximum number of tokens.
            symbols: Words that are always one token if they follow a space. For subwords and words,
                this also holds at the start of a text.
            normalised: Whether to normalise texts to NFKC. Texts such as strings of digits do not
                need it, and the file is 240 kB smaller without it.
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

    def plain(self) -> dict[str, Any]:
        """Return the tokenizer as values for JSON, which `Tokenizer` in live/tokenizer.js reads.

        The browser supports only SentencePiece's normalisation "nmt_nfkc", and only characters,
        unigram subwords and words.

        Raises:
            ValueError: the tokenizer has another normalisation or another type.
        """
        model = ModelProto()
        model.ParseFromString(self._model)
        rules, kind = model.normalizer_spec, _KINDS.get(model.trainer_spec.model_type)
        if kind is None or rules.name != "nmt_nfkc":
            raise ValueError("The browser knows only characters, subwords and words in NFKC.")
        # Scores are single-precision numbers. Nine digits distinguish all of them.
        pieces = [[one.piece, float(f"{one.score:.9g}")] for one in model.pieces]
        return {
            "kind": kind,
            "prefix": rules.add_dummy_prefix,
            "unknown": model.trainer_spec.unk_surface,
            "pieces": pieces,
        }

    def ids(self, text: str) -> list[int]:
        """Return the token ids of `text`, with the end symbol."""
        encoded: list[int] = self._pieces.encode(text)
        return [*encoded, END]

    def list_best_segmentations(self, text: str, count: int) -> Segmented:
        """Return the `count` most probable segmentations of `text`, without an end symbol.

        A text has several segmentations into subwords, but only one into characters or words. A
        single segmentation has log-probability 0.
        """
        try:
            found = self._pieces.nbest_encode(text, nbest_size=count, return_type="proto")
        except RuntimeError:
            # Only a unigram model has several segmentations.
            found = ()
        ways = []
        for one in getattr(found, "nbests", ()):
            ways.append((tuple(piece.id for piece in one.pieces), float(one.score)))
        return tuple(ways) or ((tuple(self._pieces.encode(text)), 0.0),)

    def label(self, token: int) -> str:
        """Return the text of a single token, without the space before a word."""
        piece = str(self._pieces.id_to_piece(token)).replace("▁", " ")
        return piece.lstrip() or " "

    def labels(self) -> list[str]:
        """Return the text of each token, by its id."""
        return [self.label(token) for token in range(len(self))]

    def tokens(self, text: str) -> list[Token]:
        """Return the tokens of `text` with their positions in characters, without an end symbol."""
        return _convert_pieces(text, self._pieces.encode(text, return_type="proto").pieces)

    def find_word_starts(self, text: str) -> list[int]:
        """Return the index of the token in which each word of `text` starts.

        Words are separated by single spaces. Two words may start in the same token, because
        adjacent unknown words form one token.
        """
        starts = [token.start for token in self.tokens(text)]
        numbers, offset = [], 0
        for word in text.split(" "):
            numbers.append(max(0, bisect_right(starts, offset) - 1))
            offset += len(word) + 1
        return numbers

    def decode(self, ids: Sequence[int]) -> tuple[str, list[Token]]:
        """Return the text of `ids` and its tokens with positions, without control symbols."""
        shown = [i for i in ids if i == UNKNOWN or i > END]
        proto = self._pieces.decode(shown, return_type="proto")
        text = str(proto.text)
        return text, _convert_pieces(text, proto.pieces)


def _convert_pieces(text: str, pieces: Iterable[Any]) -> list[Token]:
    """Convert SentencePiece's tokens to `Token`.

    SentencePiece counts positions in bytes and includes the space before a word in its token.
    """
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


# Batches of sentences: padded, shifted for a decoder, in buckets of similar length.
#
# Shapes: N sentences, T target items. In a batch, B sentences and M source items.


IdPair = tuple[list[int], list[int]]


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded token ids of sentence pairs."""

    # [B, M]
    source: Tensor
    # [B, T], starting with the start symbol.
    target_in: Tensor
    # [B, T]
    target_out: Tensor

    def to(self, device: torch.device) -> Batch:
        """Return the batch on `device`."""
        parts = (self.source, self.target_in, self.target_out)
        return Batch(*(part.to(device) for part in parts))


def pad_rows(rows: Sequence[Sequence[int]]) -> Tensor:
    """Return rows of unequal length as one int64 matrix, padded on the right."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])


def shift_targets(target_NT: Tensor) -> Tensor:
    """Return the decoder input for target rows: the start symbol, then all but the last item."""
    return F.pad(target_NT, (1, 0), value=START)[:, :-1]


def collate_pairs(pairs: Sequence[IdPair]) -> Batch:
    """Return a batch of pairs of id lists, which all end with the end symbol."""
    sources, targets = zip(*pairs, strict=True)
    target_out = pad_rows(targets)
    return Batch(pad_rows(sources), shift_targets(target_out), target_out)


def group_by_length(pairs: Sequence[IdPair], tokens: int, seed: int | None) -> list[list[int]]:
    """Group pairs of similar length, each group with at most about `tokens` padded target tokens.

    Returns:
        Lists of indices. With a seed, the lists and their order are shuffled. With None, both are
        sorted by length.
    """
    rng = np.random.default_rng(seed)
    lengths = np.array([(len(source), len(target)) for source, target in pairs])
    jitter = rng.random(lengths.shape) * (0 if seed is None else 2)
    sources, targets = (lengths + jitter).T
    groups: list[list[int]] = [[]]
    longest = 0
    for index in np.lexsort((sources, np.floor(targets))).tolist():
        longest = max(longest, len(pairs[index][1]))
        if groups[-1] and longest * (len(groups[-1]) + 1) > tokens:
            groups.append([])
            longest = len(pairs[index][1])
        groups[-1].append(index)
    return groups if seed is None else [groups[i] for i in rng.permutation(len(groups))]
