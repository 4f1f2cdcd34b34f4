"""Architectures of `transformers`, each as a model of a few thousand random parameters.

Each table row names the architecture, its class, what it reads, and the configuration that differs
from the common sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers

# The names that configurations use for their sizes. Each configuration gets the names that it has.
SIZES: Mapping[str, Any] = {
    "vocab_size": 60,
    "hidden_size": 32,
    "d_model": 32,
    "n_embd": 32,
    "dim": 32,
    "embed_dim": 32,
    "embedding_size": 32,
    "emb_dim": 32,
    "encoder_embed_dim": 32,
    "num_hidden_layers": 2,
    "num_layers": 2,
    "n_layer": 2,
    "n_layers": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "num_attention_heads": 4,
    "num_heads": 4,
    "n_head": 4,
    "n_heads": 4,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "num_encoder_attention_heads": 4,
    "num_decoder_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "d_kv": 8,
    "intermediate_size": 40,
    "hidden_dim": 40,
    "d_ff": 40,
    "ffn_dim": 40,
    "n_inner": 40,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 40,
    "max_position_embeddings": 64,
    "n_positions": 64,
    "n_ctx": 64,
    "image_size": 32,
    "patch_size": 8,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
    "num_labels": 3,
    "num_experts": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "n_routed_experts": 4,
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
}
# The token that stands for a cell of a picture.
IMAGE = 50
# The token that stands for a cell of a frame.
FRAME = 53
IDS = [5, 7, 11, 13, 17, 19, 23]
TARGET = [9, 11, 12, 2]


@dataclass(frozen=True)
class Architecture:
    """An architecture and the input that its test model gets."""

    # The model class of the library.
    family: str
    # The kind of input: "text", "pair" (source and target text), "picture", "caption", "both",
    # "sound" or "speech" (recording and transcript).
    reads: str
    # Configuration in addition to the common sizes, with one mapping per sub-configuration.
    more: Mapping[str, Any] = field(default_factory=dict)
    # A function that makes the input as the model's processor would, if the common input does not
    # fit.
    make: Callable[..., dict[str, Any]] | None = None
    # What distinguishes the input, such as "two pictures".
    variant: str = ""

    @property
    def name(self) -> str:
        """The class and, if the table has several rows for the class, the variant."""
        return f"{self.family}, {self.variant}" if self.variant else self.family

    def model(self) -> Any:
        """Return a small model with random weights in single precision."""
        torch.manual_seed(0)
        family = getattr(transformers, self.family)
        config = small(family.config_class, self.more)
        return sharp(family(config).float().eval())


def small(kind: Any, more: Mapping[str, Any]) -> Any:
    """Return a configuration with small sizes, including its sub-configurations."""
    known = set(getattr(kind, "__dataclass_fields__", {})) | set(getattr(kind, "attribute_map", {}))
    given = {name: value for name, value in SIZES.items() if name in known}
    parts = getattr(kind, "sub_configs", {})
    for name, value in more.items():
        if name.startswith("given_"):
            continue
        part = parts.get(name)
        if isinstance(value, dict) and part is not None and part is not transformers.AutoConfig:
            value = small(part, value)
        elif isinstance(value, dict) and "model_type" in value:
            rest = {key: one for key, one in value.items() if key != "model_type"}
            value = small(transformers.CONFIG_MAPPING[value["model_type"]], rest)
        given[name] = value
    # A configuration does not accept two names for one size.
    for alias, name in getattr(kind, "attribute_map", {}).items():
        if alias in given and name in given:
            del given[alias]
    return kind(**given)


def sharp(model: Any) -> Any:
    """Enlarge the weights, so that heads have preferences."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2 and "embed" not in name and "position" not in name:
                parameter.mul_(4)
                if not bool(parameter.any()):
                    # Gemma 3 initialises the projection of pictures with zeros.
                    parameter.normal_(std=0.3)
    return model


def inputs(architecture: Architecture) -> tuple[Any, dict[str, Any]]:
    """Return the input for `areaviz.attend`, and its options."""
    torch.manual_seed(1)
    if architecture.make is not None:
        return architecture.make(), {}
    config = architecture.more
    side = int(config.get("given_side", 32))
    picture = torch.rand(1, 3, side, side)
    ids = list(config.get("given_words", IDS))
    match architecture.reads:
        case "text":
            return ids, {}
        case "pair":
            return ids, {"target": TARGET}
        case "picture":
            return picture, {}
        case "caption":
            return picture, {"target": TARGET}
        case "both":
            words = {"input_ids": torch.tensor([ids])}
            if "given_grid" in config:
                times, rows, columns = config["given_grid"]
                patches = torch.rand(times * rows * columns, 3 * 2 * 8 * 8)
                grid = torch.tensor([config["given_grid"]])
                seen = {"pixel_values": patches, "image_grid_thw": grid}
                kinds = (words["input_ids"] == IMAGE).long()
                return {**words, **seen, "mm_token_type_ids": kinds}, {}
            if "given_kinds" in config:
                words["token_type_ids"] = torch.tensor([config["given_kinds"]])
            return {**words, "pixel_values": picture}, {}
        case "sound":
            return torch.rand(*config.get("given_sound", (1, 4000))), {}
        case _:
            return torch.rand(*config.get("given_sound", (1, 80, 40))), {"target": TARGET}


ROPE = {"rope_type": "default", "rope_theta": 10000.0}
MROPE = {**ROPE, "mrope_section": [1, 1, 2]}
_START = {"decoder_start_token_id": 1}
_MAMBA = {"mamba_d_state": 8, "mamba_expand": 2, "mamba_n_heads": 4, "mamba_d_head": 16}
_VIT = {"model_type": "vit"}
_SEES = {"projection_dim": 32}
_WAVES = {
    "conv_dim": [8, 8],
    "conv_stride": [20, 16],
    "conv_kernel": [20, 16],
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
}
_SIXTEEN = [IMAGE] * 16


_ENCODERS = """
    AlbertModel BertModel BigBirdModel CamembertModel CanineModel ConvBertModel Data2VecTextModel
    DebertaModel DebertaV2Model DistilBertModel ElectraModel ErnieModel EsmModel EuroBertModel
    FNetModel FlaubertModel FunnelModel IBertModel LayoutLMModel LongformerModel MPNetModel
    MarkupLMModel MegatronBertModel MobileBertModel ModernBertModel NomicBertModel
    NystromformerModel RemBertModel RoFormerModel RobertaModel SqueezeBertModel TapasModel
    XLMModel XLMRobertaModel XLMRobertaXLModel XLNetModel YosoModel
"""
_DECODERS = """
    ApertusForCausalLM ArceeForCausalLM BambaForCausalLM BioGptForCausalLM BitNetForCausalLM
    BloomForCausalLM CTRLLMHeadModel CodeGenForCausalLM Cohere2ForCausalLM CohereForCausalLM
    DeepseekV2ForCausalLM DeepseekV3ForCausalLM DiffLlamaForCausalLM Ernie4_5ForCausalLM
    Exaone4ForCausalLM FalconForCausalLM GPT2LMHeadModel GPTBigCodeForCausalLM GPTJForCausalLM
    GPTNeoForCausalLM GPTNeoXForCausalLM Gemma2ForCausalLM Gemma3ForCausalLM GemmaForCausalLM
    Glm4ForCausalLM GlmForCausalLM GptOssForCausalLM GraniteForCausalLM HeliumForCausalLM
    JetMoeForCausalLM Lfm2ForCausalLM LlamaForCausalLM MiniMaxForCausalLM MistralForCausalLM
    MixtralForCausalLM MptForCausalLM NemotronForCausalLM OPTForCausalLM Olmo2ForCausalLM
    OlmoForCausalLM OlmoeForCausalLM OpenAIGPTLMHeadModel PersimmonForCausalLM Phi3ForCausalLM
    PhiForCausalLM Qwen2ForCausalLM Qwen2MoeForCausalLM Qwen3ForCausalLM Qwen3MoeForCausalLM
    SeedOssForCausalLM SmolLM3ForCausalLM StableLmForCausalLM Starcoder2ForCausalLM XGLMForCausalLM
"""
_PAIRS = """
    BartForConditionalGeneration BigBirdPegasusForConditionalGeneration
    BlenderbotForConditionalGeneration FSMTForConditionalGeneration LEDForConditionalGeneration
    LongT5ForConditionalGeneration M2M100ForConditionalGeneration MBartForConditionalGeneration
    MT5ForConditionalGeneration MarianMTModel MvpForConditionalGeneration
    NllbMoeForConditionalGeneration PLBartForConditionalGeneration PegasusForConditionalGeneration
    PegasusXForConditionalGeneration ProphetNetForConditionalGeneration
    SwitchTransformersForConditionalGeneration T5ForConditionalGeneration
    UMT5ForConditionalGeneration
"""
_PICTURES = """
    BeitModel BlipVisionModel CLIPVisionModel DPTModel Data2VecVisionModel DeiTModel
    DINOv3ViTModel Dinov2Model Dinov2WithRegistersModel DetrModel IJepaModel SamVisionModel
    SiglipVisionModel SwinModel ViTMAEModel ViTMSNModel ViTModel VitDetModel YolosModel
"""
_BOTH = """
    BlipForConditionalGeneration CLIPModel GitForCausalLM LlavaForConditionalGeneration
    PaliGemmaForConditionalGeneration Qwen2VLForConditionalGeneration SiglipModel ViltModel
"""
_SOUNDS = "ASTModel HubertModel SEWModel Wav2Vec2Model WavLMModel"
_SPEECHES = "Speech2TextForConditionalGeneration WhisperForConditionalGeneration"

_MORE: Mapping[str, Mapping[str, Any]] = {
    "ASTModel": {"num_mel_bins": 32, "max_length": 32, "given_sound": (1, 32, 32)},
    "BambaForCausalLM": {**_MAMBA, "attn_layer_indices": [1]},
    "BlipForConditionalGeneration": {
        "text_config": {"encoder_hidden_size": 32, "sep_token_id": 2},
        "vision_config": {"initializer_range": 0.3},
    },
    "BlipVisionModel": {"initializer_range": 0.3},
    "CLIPModel": {"text_config": {}, "vision_config": {}, **_SEES},
    "CodeGenForCausalLM": {"rotary_dim": 4},
    "DeepseekV2ForCausalLM": {
        "num_key_value_heads": 4,
        "kv_lora_rank": 16,
        "q_lora_rank": 16,
        "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 8,
        "v_head_dim": 8,
        "n_group": 1,
        "topk_group": 1,
        "first_k_dense_replace": 1,
    },
    "DeepseekV3ForCausalLM": {
        "num_key_value_heads": 4,
        "kv_lora_rank": 16,
        "q_lora_rank": 16,
        "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 8,
        "v_head_dim": 8,
        "n_group": 1,
        "topk_group": 1,
        "first_k_dense_replace": 1,
    },
    "DetrModel": {
        "use_timm_backbone": False,
        "use_pretrained_backbone": False,
        "backbone": None,
        "num_queries": 5,
        "backbone_config": {
            "model_type": "resnet",
            "embedding_size": 8,
            "hidden_sizes": [8, 8],
            "depths": [1, 1],
            "layer_type": "basic",
            "out_features": ["stage2"],
        },
    },
    "GPTJForCausalLM": {"rotary_dim": 4},
    "GPTNeoForCausalLM": {"attention_types": [[["global", "local"], 1]], "window_size": 4},
    "GitForCausalLM": {"vision_config": {}},
    "LEDForConditionalGeneration": {
        "attention_window": 4,
        "max_encoder_position_embeddings": 64,
        "max_decoder_position_embeddings": 64,
        **_START,
    },
    "LlavaForConditionalGeneration": {
        "vision_config": {"model_type": "clip_vision_model"},
        "text_config": {"model_type": "llama"},
        "image_token_index": IMAGE,
        "vision_feature_layer": -1,
        "given_words": [5, *_SIXTEEN, 7, 11, 13],
    },
    "LongT5ForConditionalGeneration": {"local_radius": 2, **_START},
    "LongformerModel": {"attention_window": 4},
    "MT5ForConditionalGeneration": _START,
    "PLBartForConditionalGeneration": _START,
    "PaliGemmaForConditionalGeneration": {
        "vision_config": {"model_type": "siglip_vision_model", "projection_dim": 32},
        "text_config": {"model_type": "gemma"},
        "image_token_index": IMAGE,
        "projection_dim": 32,
        "given_words": [*_SIXTEEN, 5, 7, 11, 13],
        "given_kinds": [*[0] * 16, *[1] * 4],
    },
    "Qwen2VLForConditionalGeneration": {
        "vision_config": {"depth": 2, "mlp_ratio": 2, "patch_size": 8, "temporal_patch_size": 2},
        "text_config": {"rope_parameters": {**MROPE, "rope_type": "default"}},
        "image_token_id": IMAGE,
        "vision_start_token_id": 51,
        "vision_end_token_id": 52,
        "video_token_id": 53,
        "given_words": [5, 51, *([IMAGE] * 6), 52, 7, 11, 13],
        "given_grid": [1, 4, 6],
    },
    "SamVisionModel": {"output_channels": 8, "window_size": 2, "global_attn_indexes": [1]},
    "SiglipModel": {"text_config": {"projection_size": 32}, "vision_config": {}},
    "Speech2TextForConditionalGeneration": {
        "max_source_positions": 64,
        "max_target_positions": 64,
        "conv_channels": 16,
        "input_feat_per_channel": 8,
        "given_sound": (1, 40, 8),
        **_START,
    },
    "SwinModel": {
        "depths": [1, 1],
        "num_heads": [2, 2],
        "window_size": 2,
        "patch_size": 4,
        "embed_dim": 16,
    },
    "SwitchTransformersForConditionalGeneration": _START,
    "T5ForConditionalGeneration": _START,
    "UMT5ForConditionalGeneration": _START,
    "ViTMAEModel": {"mask_ratio": 0.0},
    "ViltModel": {},
    "WhisperForConditionalGeneration": {
        "max_source_positions": 20,
        "max_target_positions": 32,
        "num_mel_bins": 8,
        "given_sound": (1, 8, 40),
    },
    **dict.fromkeys(("HubertModel", "SEWModel", "Wav2Vec2Model", "WavLMModel"), _WAVES),
    "YolosModel": {"image_size": [32, 32], "num_detection_tokens": 5},
}


def _listed() -> tuple[Architecture, ...]:
    """Return every architecture, in the order of the table."""
    kinds = (
        ("text", _ENCODERS),
        ("text", _DECODERS),
        ("pair", _PAIRS),
        ("picture", _PICTURES),
        ("both", _BOTH),
        ("sound", _SOUNDS),
        ("speech", _SPEECHES),
    )
    found = []
    for reads, families in kinds:
        for family in families.split():
            found.append(Architecture(family, reads, _MORE.get(family, {})))
    return tuple(found)


ARCHITECTURES = _listed()
