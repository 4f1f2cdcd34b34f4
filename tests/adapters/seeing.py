"""A small vision-language model with random weights and its processor, saved as a folder."""

from __future__ import annotations

from pathlib import Path

import torch

from areaviz.adapters.loading import import_transformers
from tests.adapters import small

MARK = "<image>"
WORDS = (*small.WORDS, "describe", "picture", MARK)
SIDE, CELL = 32, 8


def folder(place: Path) -> Path:
    """Save the model and its processor. Pictures are cut to 32 pixels and have 4 x 4 cells."""
    transformers = import_transformers()
    torch.manual_seed(6)
    numbers = {word: number for number, word in enumerate(WORDS)}
    words = transformers.BertTokenizer(vocab=numbers, additional_special_tokens=[MARK])
    seen = transformers.CLIPVisionConfig(image_size=SIDE, patch_size=CELL, **small.SIZES)
    read = transformers.LlamaConfig(
        vocab_size=len(WORDS),
        max_position_embeddings=128,
        bos_token_id=2,
        eos_token_id=3,
        pad_token_id=0,
        **small.SIZES,
    )
    config = transformers.LlavaConfig(
        vision_config=seen,
        text_config=read,
        image_token_index=numbers[MARK],
        vision_feature_layer=-1,
    )
    pictures = transformers.CLIPImageProcessor(
        size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE}
    )
    processor = transformers.LlavaProcessor(
        image_processor=pictures,
        tokenizer=words,
        patch_size=CELL,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    )
    model = small.sharp(transformers.LlavaForConditionalGeneration(config))
    model.save_pretrained(place)
    processor.save_pretrained(place)
    return place
