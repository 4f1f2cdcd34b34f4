"""Small vision-language models with random weights and one or more grids of cells.

Each table row names the class, the configuration that differs from the common sizes, and a function
that makes the input as the processor would. Images are random. With `painted`, one of their cells
is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from tests.adapters.architectures import FRAME, IMAGE, MROPE, ROPE, Architecture

SIDE, CELL = 32, 8
# A patch that is painted over: its image, row and column.
Painted = tuple[int, int, int]


def images(sizes: Sequence[tuple[int, int]], painted: Painted | None = None) -> list[Tensor]:
    """Draw random images [3, height, width], with one patch painted over.

    Args:
        sizes: The height and width of each image.
        painted: The image, row and column of the patch, or None for no patch.
    """
    torch.manual_seed(1)
    found = [torch.rand(3, high, wide) for high, wide in sizes]
    if painted is not None:
        image, row, column = painted
        rows, columns = (slice(CELL * one, CELL * one + CELL) for one in (row, column))
        found[image][:, rows, columns] *= -3
    return found


def text(*parts: int | list[int]) -> Tensor:
    """Return token ids [1, N] of words and runs of placeholders."""
    tokens: list[int] = []
    for part in parts:
        tokens += part if isinstance(part, list) else [part]
    return torch.tensor([tokens])


def patches_of(image: Tensor, times: int = 2, side: int = 2) -> Tensor:
    """Return an image as Qwen-VL reads it: in patches, grouped by the cells they merge into."""
    _, high, wide = image.shape
    block, found = CELL * side, []
    for top in range(0, high, block):
        for left in range(0, wide, block):
            for row in range(side):
                for column in range(side):
                    y, x = top + row * CELL, left + column * CELL
                    patch = image[:, y : y + CELL, x : x + CELL]
                    found.append(patch[:, None].repeat(1, times, 1, 1).flatten())
    return torch.stack(found)


def _alike(count: int, cells: int, extra: int = 0) -> Callable[[Painted | None], dict[str, Any]]:
    """Return a function that makes the input of a model with images of one size, [N, C, H, W]."""

    def make(painted: Painted | None = None) -> dict[str, Any]:
        runs: list[int | list[int]] = [5]
        for number in range(count):
            runs += [[IMAGE] * (cells + extra), 7 + number]
        values = torch.stack(images([(SIDE, SIDE)] * count, painted))
        return {"input_ids": text(*runs, 13), "pixel_values": values}

    return make


def _in_a_batch(make: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return a function that adds a batch axis in front of the images."""

    def batched(painted: Painted | None = None) -> dict[str, Any]:
        found = make(painted)
        return {**found, "pixel_values": found["pixel_values"][None]}

    return batched


def _gemma3(painted: Painted | None = None) -> dict[str, Any]:
    found = _alike(1, 4)(painted)
    return {**found, "token_type_ids": (found["input_ids"] == IMAGE).long()}


def _sized(sizes: Sequence[tuple[int, int]], side: int) -> Callable[..., dict[str, Any]]:
    """Return a function that makes the input of a model that reads images of any size."""

    def make(painted: Painted | None = None) -> dict[str, Any]:
        values = torch.zeros(len(sizes), 3, SIDE, SIDE)
        runs: list[int | list[int]] = [5]
        for number, image in enumerate(images(sizes, painted)):
            _, high, wide = image.shape
            values[number, :, :high, :wide] = image
            row = [IMAGE] * (wide // CELL // side)
            for _ in range(high // CELL // side):
                runs += [row, 51]
        ids = text(*runs, 7, 11)
        return {"input_ids": ids, "pixel_values": values, "image_sizes": torch.tensor(sizes)}

    return make


def _tiled(size: tuple[int, int], cells: int) -> Callable[..., dict[str, Any]]:
    """Return a function that makes LLaVA-NeXT's input.

    The whole image comes first, followed by its tiles: 2 x 2 for a square and 1 x 2 otherwise.
    """
    down, across = (2, 2) if size[0] == size[1] else (1, 2)

    def make(painted: Painted | None = None) -> dict[str, Any]:
        values = torch.stack(images([(SIDE, SIDE)] * (1 + down * across), painted))[None]
        ids = text(5, [IMAGE] * cells, 7, 11)
        return {"input_ids": ids, "pixel_values": values, "image_sizes": torch.tensor([size])}

    return make


def _counted(
    sizes: Sequence[tuple[int, int]], frames: bool = False
) -> Callable[..., dict[str, Any]]:
    """Return a function that makes Qwen-VL's input of pictures or of one clip's frames."""
    mark = FRAME if frames else IMAGE

    def make(painted: Painted | None = None) -> dict[str, Any]:
        seen = torch.cat([patches_of(image) for image in images(sizes, painted)])
        runs: list[int | list[int]] = [5]
        grids = [[1, high // CELL, wide // CELL] for high, wide in sizes]
        for number, (_, high, wide) in enumerate(grids):
            runs += [51, [mark] * (high * wide // 4), 52, 7 + number]
        ids = text(*runs, 13)
        if frames:
            grids = [[len(sizes), *grids[0][1:]]]
        names = ("pixel_values_videos", "video_grid_thw") if frames else ("pixel_values",)
        values, grid = (*names, "image_grid_thw")[:2]
        kinds = (ids == IMAGE).long() + 2 * (ids == FRAME).long()
        more = {"mm_token_type_ids": kinds, values: seen, grid: torch.tensor(grids)}
        return {"input_ids": ids, **more}

    return make


def _clip(painted: Painted | None = None) -> dict[str, Any]:
    """Return LLaVA-OneVision's input: two pooled frames and an end token."""
    values = torch.stack(images([(SIDE, SIDE)] * 2, painted))[None]
    return {"input_ids": text(5, [FRAME] * 9, 7, 11), "pixel_values_videos": values}


def _in_rows(painted: Painted | None = None) -> dict[str, Any]:
    """Return LFM2-VL's input: a row of patches, and their shape."""
    found = []
    for image in images([(SIDE, SIDE)], painted):
        for row in range(4):
            for column in range(4):
                y, x = row * CELL, column * CELL
                found.append(image[:, y : y + CELL, x : x + CELL].permute(1, 2, 0).flatten())
    return {
        "input_ids": text(5, [IMAGE] * 4, 7, 11),
        "pixel_values": torch.stack(found)[None],
        "pixel_attention_mask": torch.ones(1, 16).long(),
        "spatial_shapes": torch.tensor([[4, 4]]),
    }


def _florence(painted: Painted | None = None) -> dict[str, Any]:
    values = torch.stack(images([(SIDE, SIDE)], painted))
    return {
        "input_ids": text([IMAGE] * 17, 7, 11),
        "pixel_values": values,
        "decoder_input_ids": torch.tensor([[2, 9, 11, 12]]),
    }


def _mllama(painted: Painted | None = None) -> dict[str, Any]:
    values = torch.stack(images([(SIDE, SIDE)] * 2, painted))[None, None]
    return {
        "input_ids": text(5, IMAGE, 7, 11),
        "pixel_values": values,
        "aspect_ratio_ids": torch.tensor([[2]]),
        "aspect_ratio_mask": torch.tensor([[[1, 1]]]),
        "cross_attention_mask": torch.ones(1, 4, 1, 2).long(),
    }


_IDEFICS: Mapping[str, Any] = {
    "text_config": {"model_type": "llama"},
    "vision_config": {},
    "scale_factor": 2,
    "image_token_id": IMAGE,
}
_INTERN: Mapping[str, Any] = {
    "text_config": {"model_type": "qwen2"},
    "vision_config": {"image_size": [SIDE, SIDE], "patch_size": [CELL, CELL]},
    "image_token_id": IMAGE,
    "downsample_ratio": 0.5,
}
_LLAVA: Mapping[str, Any] = {
    "text_config": {"model_type": "llama"},
    "vision_config": {"model_type": "clip_vision_model"},
    "image_token_index": IMAGE,
    "vision_feature_layer": -1,
}
_PINPOINTS = {"image_grid_pinpoints": [[32, 64], [64, 32], [64, 64]]}
_MISTRAL: Mapping[str, Any] = {
    "text_config": {"model_type": "mistral"},
    "vision_config": {"model_type": "pixtral"},
    "image_token_index": IMAGE,
    "spatial_merge_size": 2,
    "vision_feature_layer": -1,
}
_PIXTRAL = {name: value for name, value in _MISTRAL.items() if name != "spatial_merge_size"}
_MARKS = {"image_token_id": IMAGE, "video_token_id": FRAME}
_QWEN: Mapping[str, Any] = {
    "text_config": {"rope_parameters": MROPE},
    "vision_start_token_id": 51,
    "vision_end_token_id": 52,
    **_MARKS,
}
_EYE = {"depth": 2, "patch_size": CELL, "temporal_patch_size": 2, "out_hidden_size": 32}
_QWEN_3 = {
    **_QWEN,
    "vision_config": {
        **_EYE,
        "spatial_merge_size": 2,
        "num_position_embeddings": 16,
        "deepstack_visual_indexes": [0],
    },
}
_ONE_VISION: Mapping[str, Any] = {
    **_MARKS,
    **_PINPOINTS,
    "text_config": {"model_type": "qwen2"},
    "vision_config": {"model_type": "siglip_vision_model"},
    "image_token_index": IMAGE,
    "video_token_index": FRAME,
    "vision_feature_layer": -1,
    "vision_feature_select_strategy": "full",
    "vision_aspect_ratio": "anyres_max_9",
}
_FLORENCE: Mapping[str, Any] = {
    "text_config": {"model_type": "bart"},
    "vision_config": {
        "model_type": "florence_vision",
        "depths": [1, 1],
        "embed_dim": [8, 16],
        "num_heads": [2, 4],
        "num_groups": [2, 4],
        "patch_size": [7, 3],
        "patch_stride": [4, 2],
        "patch_padding": [3, 1],
        "patch_prenorm": [False, True],
        "window_size": 4,
        "projection_dim": 32,
    },
    "image_token_id": IMAGE,
}
_MLLAMA: Mapping[str, Any] = {
    "text_config": {"cross_attention_layers": [1], "rope_parameters": ROPE},
    "vision_config": {
        "max_num_tiles": 2,
        "num_global_layers": 1,
        "intermediate_layers_indices": [0],
        "attention_heads": 4,
        "vision_output_dim": 64,
        "supported_aspect_ratios": [[1, 1], [1, 2], [2, 1]],
    },
    "image_token_index": IMAGE,
}
_LLAMA_4: Mapping[str, Any] = {
    "text_config": {"intermediate_size_mlp": 40},
    "vision_config": {
        "vision_output_dim": 32,
        "projector_input_dim": 32,
        "projector_output_dim": 32,
        "pixel_shuffle_ratio": 0.5,
        "intermediate_size": 128,
    },
    "image_token_index": IMAGE,
    "boi_token_index": 51,
    "eoi_token_index": 52,
}
_AYA: Mapping[str, Any] = {
    "text_config": {"model_type": "cohere2"},
    "vision_config": {"model_type": "siglip_vision_model"},
}


def _model(
    family: str, more: Mapping[str, Any], make: Callable[..., dict[str, Any]], variant: str = ""
) -> Architecture:
    return Architecture(f"{family}ForConditionalGeneration", "both", more, make, variant)


VISION_LANGUAGE: tuple[Architecture, ...] = (
    _model("SmolVLM", _IDEFICS, _in_a_batch(_alike(1, 4))),
    _model("Idefics3", _IDEFICS, _in_a_batch(_alike(1, 4))),
    _model("Idefics3", _IDEFICS, _in_a_batch(_alike(3, 4)), "three tiles"),
    _model(
        "Idefics2",
        {
            **_IDEFICS,
            "text_config": {"model_type": "mistral"},
            "perceiver_config": {
                "resampler_n_latents": 4,
                "resampler_depth": 1,
                "resampler_n_heads": 4,
                "resampler_head_dim": 8,
            },
        },
        _in_a_batch(_alike(1, 4)),
    ),
    _model("InternVL", _INTERN, _alike(1, 4)),
    _model("InternVL", _INTERN, _alike(3, 4), "three tiles"),
    _model(
        "Gemma3",
        {
            "text_config": {"model_type": "gemma3_text"},
            "vision_config": {"model_type": "siglip_vision_model"},
            "mm_tokens_per_image": 4,
            "image_token_index": IMAGE,
            "boi_token_index": 51,
            "eoi_token_index": 52,
        },
        _gemma3,
    ),
    _model("Mistral3", _MISTRAL, _sized([(32, 32)], 2)),
    _model("Mistral3", _MISTRAL, _sized([(32, 32), (16, 32)], 2), "two pictures"),
    _model(
        "Llava",
        {**_PIXTRAL, "vision_feature_select_strategy": "full"},
        _sized([(16, 32)], 1),
        "Pixtral",
    ),
    _model("Llava", _LLAVA, _alike(2, 16), "two pictures"),
    _model("LlavaNext", {**_LLAVA, **_PINPOINTS}, _tiled((64, 64), 16 + 8 * 9), "four tiles"),
    _model("LlavaNext", {**_LLAVA, **_PINPOINTS}, _tiled((16, 64), 16 + 2 * 9), "cut tiles"),
    _model("LlavaOnevision", _ONE_VISION, _tiled((64, 64), 16 + 8 * 9), "four tiles"),
    _model("LlavaOnevision", _ONE_VISION, _clip, "two frames"),
    _model("Florence2", _FLORENCE, _florence),
    _model("Qwen3VL", _QWEN_3, _counted([(32, 48)])),
    _model("Qwen3VL", _QWEN_3, _counted([(32, 48), (32, 32)]), "two pictures"),
    _model("Qwen3VL", _QWEN_3, _counted([(32, 48)] * 2, frames=True), "two frames"),
    _model(
        "Qwen2VL",
        {**_QWEN, "vision_config": {"mlp_ratio": 2, **_EYE}},
        _counted([(32, 48), (32, 32)]),
        "two pictures",
    ),
    _model(
        "Qwen2_5_VL",
        {**_QWEN, "vision_config": {**_EYE, "window_size": 32, "fullatt_block_indexes": [1]}},
        _counted([(64, 48)]),
    ),
    _model(
        "AyaVision",
        {
            **_AYA,
            "image_token_index": IMAGE,
            "downsample_factor": 2,
            "vision_feature_layer": -1,
            "vision_feature_select_strategy": "full",
        },
        _alike(1, 4),
    ),
    _model(
        "Cohere2Vision",
        {
            **_AYA,
            "image_token_id": IMAGE,
            "downsample_factor": 2,
            "alignment_intermediate_size": 32,
        },
        _alike(1, 4),
    ),
    _model("Mllama", _MLLAMA, _mllama, "two tiles"),
    _model("Llama4", _LLAMA_4, _alike(1, 4)),
    _model(
        "Lfm2Vl",
        {
            "text_config": {"model_type": "lfm2", "layer_types": ["conv", "full_attention"]},
            "vision_config": {"model_type": "siglip2_vision_model", "num_patches": 16},
            "image_token_id": IMAGE,
            "downsample_factor": 2,
        },
        _in_rows,
    ),
)
