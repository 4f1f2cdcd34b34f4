"""Text to tokens and back: one SentencePiece tokenizer for characters and for subwords."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import sentencepiece as spm

PAD, UNKNOWN, START, END = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a text: its id, the text it shows, and where it lies in the raw text."""

    id: int
    text: str
    start: int
    end: int


class Tokenizer:
    """Characters or unigram subwords, with character offsets into the raw text.

    Text is normalised to NFKC and runs of blanks become one; offsets point into the text as typed.
    """

    def __init__(self, model: bytes) -> None:
        self._model = model
        self._pieces = spm.SentencePieceProcessor(model_proto=model)

    @classmethod
    def train(cls, lines: Iterable[str], level: str, vocabulary: int) -> Tokenizer:
        """Learn a tokenizer of `level` "character" or "token" with at most `vocabulary` tokens."""
        buffer = io.BytesIO()
        options = {"character": ("char", False), "token": ("unigram", True)}
        model_type, dummy_prefix = options[level]
        spm.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=buffer,
            model_type=model_type,
            vocab_size=vocabulary,
            hard_vocab_limit=False,
            character_coverage=1.0,
            add_dummy_prefix=dummy_prefix,
            pad_id=PAD,
            unk_id=UNKNOWN,
            bos_id=START,
            eos_id=END,
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
        path.write_bytes(self._model)

    def __len__(self) -> int:
        return int(self._pieces.get_piece_size())

    def ids(self, text: str) -> list[int]:
        """The token ids of `text`, with the end symbol."""
        encoded: list[int] = self._pieces.encode(text)
        return [*encoded, END]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; control symbols are left out."""
        return str(self._pieces.decode([i for i in ids if i > END or i == UNKNOWN]))
