"""Small tokenizers of every kind, trained in seconds on our own sentences.

Each kind also says which visible characters never reach the model.
"""

from __future__ import annotations

import io
import json
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sentencepiece
import transformers
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

SENTENCES = (
    "A small dog runs along the beach with two children.",
    "Ein kleiner Hund läuft am Strand. 1 Tasse und 2 Tassen Milch.",
    "Where is the dog? It sleeps in the park; fire file number 12.",
    "犬が走る。 Собака бежит. naïve café",
) * 20
CONTROL = ["<pad>", "<unk>", "<s>", "</s>"]


@dataclass(frozen=True)
class Kind:
    """A kind of tokenizer.

    Args:
        make: A function that builds the tokenizer.
        loses: A function that returns whether a visible character never reaches the model.
    """

    make: Callable[[], Any]
    loses: Callable[[str], bool] = lambda character: False


def fast(tokenizer: Tokenizer) -> Any:
    family: Any = transformers.PreTrainedTokenizerFast
    names = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    return family(tokenizer_object=tokenizer, **names)


def byte_level(trim: bool) -> Any:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=CONTROL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return fast(tokenizer)


def byte_fallback() -> Any:
    """Return a tokenizer like Llama 2's: BPE over ▁, with bytes for unknown characters."""
    vocabulary = {name: number for number, name in enumerate(CONTROL)}
    pieces = [f"<0x{byte:02X}>" for byte in range(256)] + ["▁", *"adogrunse", "▁d", "og", "▁dog"]
    vocabulary |= {piece: len(CONTROL) + number for number, piece in enumerate(pieces)}
    merges = [("▁", "d"), ("o", "g"), ("▁d", "og")]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, byte_fallback=True, fuse_unk=True))
    blanks = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    tokenizer.normalizer = normalizers.Sequence(blanks)
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 2)])
    return fast(tokenizer)


def unigram() -> Any:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=150, special_tokens=CONTROL, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return fast(tokenizer)


def closing_marks(unknown: str | None) -> Any:
    """Return a BPE tokenizer like CLIP's: lower case, with a marker at the end of each word."""
    tokenizer = Tokenizer(models.BPE(unk_token=unknown, end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(
        vocab_size=200, special_tokens=CONTROL, end_of_word_suffix="</w>", show_progress=False
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return fast(tokenizer)


def whole_words() -> Any:
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents()])
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(special_tokens=CONTROL, show_progress=False)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return fast(tokenizer)


def word_pieces() -> Any:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "dog", "##s", "a", "1", "naive", "##2"]
    letters = [*"abcdefghijklmnopqrstuvwxyz", *(f"##{one}" for one in "abcdefghijklmnop")]
    names = dict.fromkeys([*words, *letters])
    return transformers.BertTokenizer(vocab={name: number for number, name in enumerate(names)})


def trained_pieces(**options: Any) -> bytes:
    """Return the file of a trained SentencePiece model."""
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES),
        model_writer=file,
        character_coverage=0.98,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    return file.getvalue()


def marian() -> Any:
    """Return two SentencePiece models with a joint vocabulary, normalised by NFKC."""
    with TemporaryDirectory() as place:
        for side in ("source", "target"):
            model = trained_pieces(vocab_size=120, normalization_rule_name="nmt_nfkc", pad_id=-1)
            (Path(place) / f"{side}.spm").write_bytes(model)
        pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
        names = dict.fromkeys(["</s>", "<unk>", *map(pieces.id_to_piece, range(len(pieces)))])
        numbers = {name: number for number, name in enumerate([*names, "<pad>"])}
        files = [f"{place}/source.spm", f"{place}/target.spm", f"{place}/vocab.json"]
        Path(files[2]).write_text(json.dumps(numbers), encoding="utf-8")
        family: Any = transformers.MarianTokenizer
        return family(*files)


def bert_generation() -> Any:
    """Return a SentencePiece tokenizer with case folding, and bytes for unknown characters."""
    with TemporaryDirectory() as place:
        rule = "nmt_nfkc_cf"
        model = trained_pieces(
            vocab_size=400, model_type="bpe", byte_fallback=True, normalization_rule_name=rule
        )
        file = Path(place) / "spiece.model"
        file.write_bytes(model)
        return transformers.BertGenerationTokenizer(str(file))


def ctrl() -> Any:
    """Return a BPE tokenizer that marks a token with @@ if its word continues."""
    with TemporaryDirectory() as place:
        letters = [*"adogrunse12", "do", "dog"]
        names = [*(f"{one}@@" for one in letters), *letters, "<unk>"]
        numbers = {name: number for number, name in enumerate(names)}
        vocabulary, merges = Path(place) / "vocab.json", Path(place) / "merges.txt"
        vocabulary.write_text(json.dumps(numbers), encoding="utf-8")
        merges.write_text("#version: 0.2\nd o\ndo g</w>\n", encoding="utf-8")
        family: Any = transformers.CTRLTokenizer
        return family(str(vocabulary), str(merges))


def is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def is_unknown_letter(character: str) -> bool:
    """Return whether BPE without an unknown token may drop a character."""
    known = KINDS["BPE without unknown"].make().get_vocab()
    return not {character.lower(), f"{character.lower()}</w>"} <= known.keys()


def is_blank_mark(character: str) -> bool:
    """Return whether SentencePiece reads a character as a space."""
    return character == "▁"


KINDS: Mapping[str, Kind] = {
    "byte-level BPE, trimmed": Kind(cache(lambda: byte_level(True))),
    "byte-level BPE": Kind(cache(lambda: byte_level(False))),
    "BPE with bytes": Kind(cache(byte_fallback), is_blank_mark),
    "Unigram": Kind(cache(unigram), is_blank_mark),
    "BPE with closing marks": Kind(cache(lambda: closing_marks("<unk>"))),
    "BPE without unknown": Kind(cache(lambda: closing_marks(None)), is_unknown_letter),
    "whole words": Kind(cache(whole_words), is_mark),
    "WordPiece": Kind(cache(word_pieces), is_mark),
    "Marian": Kind(cache(marian), is_blank_mark),
    "SentencePiece with bytes": Kind(cache(bert_generation), is_blank_mark),
    "ByT5": Kind(cache(transformers.ByT5Tokenizer)),
    "CANINE": Kind(cache(transformers.CanineTokenizer)),
    "Perceiver": Kind(cache(transformers.PerceiverTokenizer)),
    "CTRL": Kind(cache(ctrl)),
}
