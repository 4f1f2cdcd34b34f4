"""Small `transformers` models with random weights, and a tokenizer of a few words."""

from __future__ import annotations

from typing import Any

import torch
import transformers

WORDS = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "a",
    "small",
    "dog",
    "run",
    "##s",
    "the",
    "cat",
    ".",
)
SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
}


def tokenizer() -> Any:
    return transformers.BertTokenizer(vocab={word: index for index, word in enumerate(WORDS)})


def bert(kind: str = "BertModel", **more: Any) -> Any:
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS), max_position_embeddings=64, **SIZES, **more
    )
    return sharp(getattr(transformers, kind)(config))


def sharp(model: Any) -> Any:
    """Enlarge the weights, so that heads have preferences."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if (
                parameter.dim() == 2 and "position" not in name
            ):  # Marian recreates position weights on loading
                parameter.mul_(8)
    return model


def gpt2(kind: str = "GPT2LMHeadModel", **more: Any) -> Any:
    torch.manual_seed(1)
    config = transformers.GPT2Config(
        vocab_size=13,
        n_positions=32,
        n_embd=16,
        n_layer=2,
        n_head=4,
        bos_token_id=2,
        eos_token_id=3,
        **more,
    )
    return sharp(getattr(transformers, kind)(config))


def marian(kind: str = "MarianMTModel") -> Any:
    torch.manual_seed(2)
    config = transformers.MarianConfig(
        vocab_size=13,
        d_model=16,
        encoder_layers=2,
        decoder_layers=3,
        encoder_attention_heads=4,
        decoder_attention_heads=2,
        encoder_ffn_dim=24,
        decoder_ffn_dim=24,
        max_position_embeddings=32,
        pad_token_id=0,
        eos_token_id=3,
        decoder_start_token_id=0,
        forced_eos_token_id=None,
    )
    return sharp(getattr(transformers, kind)(config))


def t5(kind: str = "T5ForConditionalGeneration") -> Any:
    torch.manual_seed(3)
    config = transformers.T5Config(
        vocab_size=13,
        d_model=16,
        d_kv=4,
        d_ff=24,
        num_layers=2,
        num_heads=4,
        pad_token_id=0,
        eos_token_id=3,
    )
    model = sharp(getattr(transformers, kind)(config))
    model.generation_config.update(decoder_start_token_id=0, eos_token_id=3, pad_token_id=0)
    return model


def vit(kind: str = "ViTForImageClassification", **more: Any) -> Any:
    torch.manual_seed(4)
    config = transformers.ViTConfig(image_size=(24, 32), patch_size=8, **SIZES, **more)
    return sharp(getattr(transformers, kind)(config))


def captioner() -> Any:
    torch.manual_seed(5)
    decoder = gpt2(add_cross_attention=True, is_decoder=True)
    model = transformers.VisionEncoderDecoderModel(encoder=vit("ViTModel"), decoder=decoder)
    model.config.decoder_start_token_id = model.generation_config.decoder_start_token_id = 2
    model.generation_config.pad_token_id = model.generation_config.eos_token_id = 3
    return model
