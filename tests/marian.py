"""A small Marian model in a `transformers` folder.

It has its own SentencePiece tokenizer and is trained in seconds on generated sentences.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import sentencepiece
import torch

from areaviz.adapters.loading import import_transformers

# English noun: German article, German noun, and the ending of the German adjective.
NOUNS = {
    "dog": ("ein", "Hund", "er"),
    "cat": ("eine", "Katze", "e"),
    "horse": ("ein", "Pferd", "es"),
    "bird": ("ein", "Vogel", "er"),
    "child": ("ein", "Kind", "es"),
    "woman": ("eine", "Frau", "e"),
}
ADJECTIVES = {"small": "klein", "red": "rot", "young": "jung", "happy": "froh", "thin": "dünn"}
VERBS = {"runs": "rennt", "sleeps": "schläft", "sings": "singt", "waits": "wartet"}
PLACES = {"in the garden": "im Garten", "on the street": "auf der Straße", "here": "hier"}
SENTENCE = "a small dog runs in the garden."
GERMAN = "ein kleiner Hund rennt im Garten."
STEPS, BATCH, VOCABULARY = 150, 32, 150


def pairs() -> list[tuple[str, str]]:
    """Return all sentences of the grammar as pairs of English and German."""
    found = []
    for noun, adjective, verb, place in product(NOUNS, ADJECTIVES, VERBS, PLACES):
        article, german, ending = NOUNS[noun]
        english = f"a {adjective} {noun} {verb} {place}."
        words = f"{article} {ADJECTIVES[adjective]}{ending} {german} {VERBS[verb]}"
        found.append((english, f"{words} {PLACES[place]}."))
    return found


def folder(place: Path, steps: int = STEPS) -> Path:
    """Train the model, save it at `place` as the library does, and return the folder."""
    place.mkdir(parents=True)
    words = tokenizer(place)
    torch.manual_seed(0)
    model = import_transformers().MarianMTModel(config(words)).train()
    train(model, words, steps)
    model.eval().save_pretrained(place)
    words.save_pretrained(place)
    return place


def tokenizer(place: Path) -> Any:
    """Train a SentencePiece tokenizer on both languages, and number its tokens."""
    text = place / "text.txt"
    text.write_text("\n".join(line for pair in pairs() for line in pair), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(place / "source"),
        vocab_size=VOCABULARY,
        model_type="bpe",
        minloglevel=2,
    )
    text.unlink()
    (place / "source.vocab").unlink()
    (place / "source.model").rename(place / "source.spm")
    (place / "target.spm").write_bytes((place / "source.spm").read_bytes())
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(place / "source.spm"))
    names = [pieces.id_to_piece(number) for number in range(len(pieces))]
    kept = [name for name in names if name not in ("<unk>", "<s>", "</s>")]
    numbers = {name: number for number, name in enumerate(["</s>", "<unk>", *kept, "<pad>"])}
    (place / "vocab.json").write_text(json.dumps(numbers), encoding="utf-8")
    return import_transformers().MarianTokenizer.from_pretrained(
        place, source_lang="en", target_lang="de"
    )


def config(words: Any) -> Any:
    return import_transformers().MarianConfig(
        vocab_size=len(words),
        d_model=48,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=96,
        decoder_ffn_dim=96,
        max_position_embeddings=64,
        dropout=0.0,
        pad_token_id=words.pad_token_id,
        eos_token_id=words.eos_token_id,
        forced_eos_token_id=None,
        decoder_start_token_id=words.pad_token_id,
        scale_embedding=True,
    )


def train(model: Any, words: Any, steps: int) -> None:
    """Train with Adam on randomly drawn sentences. The draws are identical in every run."""
    english, german = zip(*pairs(), strict=True)
    given = words(list(english), padding=True, return_tensors="pt")
    wanted = words(text_target=list(german), padding=True, return_tensors="pt")["input_ids"]
    wanted[wanted == words.pad_token_id] = -100
    adam = torch.optim.Adam(model.parameters(), lr=4e-3)
    for _ in range(steps):
        chosen = torch.randint(len(english), (BATCH,))
        found = model(
            input_ids=given["input_ids"][chosen],
            attention_mask=given["attention_mask"][chosen],
            labels=wanted[chosen],
        )
        adam.zero_grad()
        found.loss.backward()
        adam.step()
