"""A comparison of traces with the attention that the library itself returns for an input.

Shapes: L layers, H heads, Q queries, N items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

import areaviz
from areaviz.adapters.recording import InOrder
from areaviz.trace import file
from areaviz.trace.areas import FloatArray
from areaviz.trace.record import Trace
from tests.adapters.architectures import FRAME, IMAGE, TARGET, Architecture, inputs
from tests.adapters.library import eager

# The library's names for its attentions, and the sites they may belong to.
_KEYS = {
    "encoder_attentions": ("encoder self",),
    "decoder_attentions": ("decoder self",),
    "cross_attentions": ("encoder-decoder",),
    "attentions": ("encoder self", "decoder self"),
}
# The largest allowed difference from the library, in memory and as stored.
EXACT, STORED = 1e-5, 5e-4


def traced(architecture: Architecture, model: Any) -> Trace:
    """Return the trace of `areaviz.attend`, and let its errors through."""
    given, options = inputs(architecture)
    return areaviz.attend(model, given, area_size=2, **options)


def disagreements(architecture: Architecture, model: Any, trace: Trace) -> dict[str, float]:
    """Return the largest difference from the library's weights for every site.

    Sites without weights from the library are left out.

    Raises:
        AssertionError: The stored trace differs, or a map and the library differ in shape.
    """
    with InOrder():
        outputs = eager(model, **by_name(architecture, model))
    stored = file.trace_from_bytes(file.trace_to_bytes(trace))
    found = {}
    for site, expected in _expected(architecture, model, trace, outputs):
        shown = np.asarray(trace.maps[site].weights)
        if trace.maps[site].memory.endswith(" and nothing"):
            shown = shown[..., :-1]
        assert shown.shape == expected.shape, f"{site}: {shown.shape}, not {expected.shape}"
        again = np.asarray(stored.maps[site].weights)[..., : shown.shape[-1]]
        assert np.abs(again - expected).max() <= STORED, f"{site} is stored otherwise"
        found[site] = float(np.abs(shown - expected).max())
    return found


def misplaced(architecture: Architecture, model: Any, trace: Trace) -> str:
    """Return what is wrong with the positions of a picture's cells, or "".

    One cell is painted over, and the weights must change at this cell.
    """
    site = "encoder-decoder" if architecture.family == "ViltModel" else "encoder self"
    attention, (given, options) = trace.maps.get(site), inputs(architecture)
    if attention is None or trace.fields[attention.memory].kind != "picture":
        return ""
    if architecture.make is not None:
        # tests/adapters/test_vision_language.py checks these models.
        return ""
    picture = given["pixel_values"] if isinstance(given, Mapping) else given
    # The cells of networks with overlapping receptive fields cannot be told apart.
    if architecture.family == "DetrModel":
        return ""
    if picture.dim() != 4 or "not all layers" in trace.details:
        return ""
    rows, columns = attention.grid.height, attention.grid.width
    high, wide = picture.shape[2] // rows, picture.shape[3] // columns
    row, column = rows - 1, min(1, columns - 1)
    painted = picture.clone()
    painted[..., row * high : (row + 1) * high, column * wide : (column + 1) * wide] *= -3
    other = {**given, "pixel_values": painted} if isinstance(given, Mapping) else painted
    again = areaviz.attend(model, other, area_size=1, **options)
    weights = [np.asarray(one.maps[site].weights[0]) for one in (trace, again)]
    found = changed_cell(*weights)
    return "" if found == row * columns + column else f"cell {row * columns + column} is at {found}"


def by_name(architecture: Architecture, model: Any) -> dict[str, Any]:
    """Return the input under the argument names of the model."""
    given, options = inputs(architecture)
    if isinstance(given, Mapping):
        return dict(given)
    names = {"picture": "pixel_values", "caption": "pixel_values", "sound": "input_values"}
    name = names.get(architecture.reads, "input_ids")
    passed = {name: torch.tensor([given]) if isinstance(given, list) else given}
    if architecture.reads == "speech":
        passed = {"input_features": given}
    if "target" in options:
        start = model.config.decoder_start_token_id
        passed["decoder_input_ids"] = torch.tensor([[start, *TARGET[:-1]]])
    if architecture.family == "ViTMAEModel":
        passed["noise"] = torch.arange(16)[None] / 16
    return passed


def _expected(
    architecture: Architecture, model: Any, trace: Trace, outputs: Any
) -> Iterator[tuple[str, FloatArray]]:
    """Yield the expected weights [L, H, Q, N] of every site that the library covers."""
    if architecture.make is not None and "cross_attentions" not in outputs:
        yield from _expected_seen(trace, outputs, architecture.make())
        return
    if architecture.reads == "both" and architecture.make is None:
        yield from _expected_both(trace, outputs, architecture)
        return
    for key, sites in _KEYS.items():
        layers = [one for one in outputs.get(key) or () if one is not None]
        site = next((site for site in sites if site in trace.maps), None)
        if not layers or site is None or not isinstance(layers[0], torch.Tensor):
            continue
        if "not all layers" in trace.details:
            layers = layers[-1:] if len(layers) > 1 and "2" in _last(trace) else layers[:1]
        whole = [_whole(layer, trace, site, model) for layer in layers]
        yield site, np.stack(whole)


def _last(trace: Trace) -> str:
    return trace.details["not all layers"].rpartition("layers ")[2]


def _whole(layer: torch.Tensor, trace: Trace, site: str, model: Any) -> FloatArray:
    """Return a layer of the library over all items that a map shows: [H, Q, N]."""
    given: FloatArray = layer[0].detach().float().numpy()
    attention = trace.maps[site]
    queries, items = (len(trace.fields[name]) for name in (attention.query, attention.memory))
    if trace.fields[attention.memory].kind != "picture":
        return _unbanded(given, items, model)
    # The class token comes before the cells. The detection tokens of YOLOS come after them.
    first = 1 if given.shape[-1] > items else 0
    if getattr(model.config, "num_register_tokens", 0):
        first += model.config.num_register_tokens
    if model.config.model_type == "deit":
        first = 2
    rows = slice(first, first + queries) if given.shape[1] > queries else slice(None)
    return _shares(given[:, rows, first : first + items])


def _unbanded(given: FloatArray, items: int, model: Any) -> FloatArray:
    """Expand weights of windows and blocks to all items, one by one."""
    window = getattr(model.config, "attention_window", None)
    if given.ndim == 4:
        blocks, heads, length, _ = given.shape
        whole = np.zeros((heads, items, items), np.float32)
        for block, head, place, column in np.ndindex(*given.shape):
            query, item = block * length + place, (block - 1) * length + column
            if query < items and 0 <= item < items:
                whole[head, query, item] = given[block, head, place, column]
        return whole
    if window is None or given.shape[-1] == items:
        return given
    side = (window if isinstance(window, int) else window[0]) // 2
    whole = np.zeros((*given.shape[:2], items), np.float32)
    for head, query, column in np.ndindex(*given.shape):
        item = query + column - side
        if 0 <= item < items:
            whole[head, query, item] = given[head, query, column]
    return whole


def _expected_seen(
    trace: Trace, outputs: Any, given: Mapping[str, Any]
) -> Iterator[tuple[str, FloatArray]]:
    """Yield word-to-word and word-to-picture weights of a vision-language model."""
    ids = given["input_ids"][0].numpy()
    marks = (ids == IMAGE) if (ids == IMAGE).any() else (ids == FRAME)
    words = ~marks
    layers = [one[0].numpy() for one in outputs.attentions if one is not None]
    own = np.stack([one for one in layers if one.shape[-1] == len(ids)])
    across = [one for one in layers if one.shape[-1] != len(ids)]
    looks = np.stack(across)[:, :, words] if across else own[:, :, words][..., marks]
    yield "decoder self", _shares(own[:, :, words][..., words])
    yield "encoder-decoder", _shares(looks)


def _expected_both(
    trace: Trace, outputs: Any, architecture: Architecture
) -> Iterator[tuple[str, FloatArray]]:
    """Yield the weights among words, from words to cells, and among cells.

    The model has one stream for words and cells, or a tower for each.
    """
    if "text_model_output" in outputs:
        towers = {
            "text self": outputs.text_model_output,
            "encoder self": outputs.vision_model_output,
        }
        for site, tower in towers.items():
            layers = np.stack([one[0].numpy() for one in tower.attentions])
            first = layers.shape[-1] - trace.maps[site].weights.shape[-1]
            yield site, _shares(layers[:, :, first:, first:])
        return
    layers = np.stack([one[0].numpy() for one in outputs.attentions])
    given, _ = inputs(architecture)
    ids = given["input_ids"][0].numpy()
    own = "decoder self" if "decoder self" in trace.maps else "text self"
    if layers.shape[-1] == len(ids):
        cells = (
            ids
            == architecture.more[
                "image_token_index"
                if "image_token_index" in architecture.more
                else "image_token_id"
            ]
        )
        words = ~cells
    elif own == "decoder self" and architecture.family == "GitForCausalLM":
        # The sequence is a class token, 16 cells, and the words.
        cells, words = np.zeros((2, layers.shape[-1]), bool)
        cells[1:17], words[17:] = True, True
    elif architecture.family == "ViltModel":
        cells, words = np.zeros((2, layers.shape[-1]), bool)
        words[: len(ids)], cells[len(ids) + 1 :] = True, True
    else:
        # The picture encoder alone, with a class token before its cells.
        yield "encoder self", _shares(layers[:, :, 1:, 1:])
        return
    yield own, _shares(layers[:, :, words][..., words])
    yield "encoder-decoder", _shares(layers[:, :, words][..., cells])


def _shares(weights: FloatArray) -> FloatArray:
    total = weights.sum(-1, keepdims=True)
    shares = np.zeros_like(weights)
    np.divide(weights, total, out=shares, where=total > 0)
    return shares


def changed_cell(before: FloatArray, after: FloatArray) -> int:
    """Return the cell whose weights changed most compared with all other cells.

    In the first layer, the key of a cell depends only on its own pixels. If only these pixels
    change, the logits of all other cells stay equal, and only the normalisation of each row
    changes.

    Args:
        before: The weights [H, Q, N] of a layer.
        after: The weights of the layer after the change.
    """
    moved = np.log(after + 1e-30) - np.log(before + 1e-30)
    beside = np.abs(moved - np.median(moved, -1, keepdims=True))
    return int(np.median(beside, (0, 1)).argmax())
