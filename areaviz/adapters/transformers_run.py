"""A pass of a `transformers` model, with checks of its inputs and with its layers filed by site."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from areaviz.adapters.attention_recording import RecordedRun, record_attention
from areaviz.adapters.call_records import (
    CROSS,
    DECODER,
    ENCODER,
    SiteOf,
    is_causal,
    names_cross_attention,
)
from areaviz.adapters.failures import describe_reason
from areaviz.adapters.gradient_attribution import Attribution, Items, compute_attribution
from areaviz.adapters.heads import Heads
from areaviz.adapters.model_run import NOT_ALL_LAYERS, Options
from areaviz.adapters.run_size import predict_stack
from areaviz.adapters.texts import Tokens
from areaviz.trace.errors import InputError

_VISION = re.compile(r"(^|\.)(vision|visual|image_encoder|img_encoder)")
_TEXT_TOWER = re.compile(r"(^|\.)text_model\.")
# Modules between the vision tower and the language model, whose items are neither cells nor words.
_BETWEEN = re.compile(r"(^|\.)(qformer|perceiver|resampler|abstractor|image_to_text_projection)")
TEXT_TOWER = "text self"
_DECIDED_HERE = {"labels", "use_cache", "return_dict", "output_attentions", "output_hidden_states"}
_OTHER_INPUTS = ("input_features", "input_values", "pixel_values")


def watch(
    model: Any,
    given: Mapping[str, Any],
    options: Options,
    needed: Sequence[str] = (),
    site_of: SiteOf | None = None,
    is_apart: Callable[[str], bool] | None = None,
) -> RecordedRun:
    """Run a model on named inputs, with and without recording.

    Args:
        model: Model to run.
        given: Its inputs. Inputs that it does not take are left out.
        options: Options with the parts to keep.
        needed: Sites that have to be seen.
        site_of: Returns the site of a layer. By default that of a model of stacks.
        is_apart: Returns whether a layer reads each of several pictures separately. None if no
            layer does.
    """
    placed = move_to_device(model, given)
    if "use_cache" in list_input_names(model) and not getattr(
        model.config, "is_encoder_decoder", False
    ):
        # This is the last pass, so a cache of keys and values would only take memory. Some
        # encoder-decoders, such as FSMT, run differently without a cache.
        placed["use_cache"] = False
    site_of = site_of or make_site_namer_of_stacks(model)
    wanted = replace(options.wanted(), is_apart=is_apart)
    seen = record_attention(model, lambda: model(**placed), site_of, wanted, needed)
    if options.on_seen is not None:
        options.on_seen(seen)
    return replace(seen, details={**seen.details, **_describe_other_layers(model, seen)})


def move_to_device(model: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs that a model takes, on its device and in its precision."""
    return move_to_model(model, choose_accepted_inputs(model, given))


def compute_attribution_of(
    model: Any,
    given: Mapping[str, Any],
    options: Options,
    items: Sequence[Items],
    chosen: Sequence[int] | None = None,
) -> Attribution:
    """Return the attribution of the outputs if it was requested, see `compute_attribution`."""
    if not options.attribution:
        return Attribution()

    def run(placed: Mapping[str, Any]) -> Tensor | None:
        logits = find_logits(model(**placed))
        if logits is None or logits.dim() not in (2, 3):
            return None
        return logits[0] if logits.dim() == 3 else logits

    try:
        return compute_attribution(model, run, move_to_device(model, given), items, chosen)
    except RuntimeError as error:
        # Some layers, such as quantised ones, do not support a backward pass.
        return Attribution(why=f"left out: the model gives no gradients ({describe_reason(error)})")


def move_to_model(model: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return inputs on the device of a model and in its floating-point type."""
    placed = dict(given)
    for name, value in given.items():
        if isinstance(value, Tensor):
            kind = model.dtype if value.is_floating_point() else value.dtype
            placed[name] = value.to(place_of(model), kind)
    return placed


def place_of(model: nn.Module) -> torch.device:
    """Return the device on which a model takes its inputs.

    The weights of an offloaded model are on another device until a layer runs. `accelerate` records
    the device on which the model runs.
    """
    for part in model.modules():
        device = getattr(getattr(part, "_hf_hook", None), "execution_device", None)
        if device is not None:
            return torch.device(device)
    found: torch.device = next((one.device for one in model.parameters()), torch.device("cpu"))
    return found


def _describe_other_layers(model: Any, seen: RecordedRun) -> dict[str, str]:
    """Return a detail with the number of shown layers, if some layers mix items without weights."""
    whole = predict_stack(model).layers
    if len(seen.names) != 1 or getattr(model.config, "is_encoder_decoder", False):
        return {}
    [(site, names)] = seen.names.items()
    if whole is None or len(names) >= whole:
        return {}
    numbers = [found[0] for name in names if (found := re.findall(r"\d+", name))]
    which = f" (layers {', '.join(str(int(one) + 1) for one in numbers)})" if numbers else ""
    return {NOT_ALL_LAYERS: f"{len(names)} of {whole} layers have weights of {site}{which}"}


def list_input_names(model: Any) -> Mapping[str, inspect.Parameter]:
    """Return the named inputs of a model."""
    return inspect.signature(model.forward).parameters


def choose_accepted_inputs(model: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs that a model takes, from inputs that a tokenizer returned.

    Options of the call are set elsewhere, and labels for a loss are left out.
    """
    taken = list_input_names(model)
    any_name = any(one.kind is one.VAR_KEYWORD for one in taken.values())
    kept = {}
    for name, value in given.items():
        if name in _DECIDED_HERE:
            continue
        if name in taken or (any_name and name not in ("token_type_ids",)):
            kept[name] = value
    return kept


def name_main_input(model: Any) -> str:
    """Return the name of a model's main input.

    Many models declare "input_ids" without taking it.
    """
    taken = list_input_names(model)
    for name in (model.main_input_name, "input_ids", *_OTHER_INPUTS):
        if name in taken:
            return str(name)
    return str(model.main_input_name)


def make_site_namer_of_stacks(model: Any, kept: Tensor | None = None) -> SiteOf:
    """Return a function that names sites, by the layer's name and by its place in the model.

    A layer of a model with one stack belongs to a decoder if no query attends to later items.

    Args:
        model: Model that is recorded.
        kept: bool [N], False where a token is padding, whose attention has no meaning.
    """
    pair = getattr(model.config, "is_encoder_decoder", False)
    encoder = model.get_encoder() if pair else None
    names = {module: name for name, module in model.named_modules()}
    prefix = names.get(encoder, "") if encoder is not None else ""

    def site(name: str, module: nn.Module, heads: Heads, said: str) -> str:
        if said:
            return said
        if prefix and (name == prefix or name.startswith(f"{prefix}.")):
            return ENCODER
        if prefix and is_in_tower(name):
            # The vision tower of an encoder of words and cells has items of its own.
            return ""
        if names_cross_attention(name.removeprefix(prefix)):
            return CROSS
        plain = without_padding(heads, kept)
        causal = is_causal(plain, bool(getattr(module, "is_causal", False)))
        return DECODER if prefix or causal else ENCODER

    return site


def make_site_namer_of_both(model: Any, kept: Tensor | None = None) -> SiteOf:
    """Return a function that names the sites of a model that reads words and pictures.

    The layers of the vision tower are "encoder self".

    Args:
        model: Model that is recorded.
        kept: bool [N], False where a token is padding.
    """
    towers = hasattr(model, "text_model") and hasattr(model, "vision_model")

    def site(name: str, module: nn.Module, heads: Heads, said: str) -> str:
        if _BETWEEN.search(name):
            return ""
        if _VISION.search(name):
            # The query of a pooling layer is a separate learned item.
            return ENCODER if heads.shape[1] == heads.shape[2] else ""
        if said:
            return said
        if towers and _TEXT_TOWER.search(f"{name}."):
            return TEXT_TOWER
        if names_cross_attention(name):
            return CROSS
        is_decoder = model.can_generate() or is_causal(without_padding(heads, kept))
        return DECODER if is_decoder else TEXT_TOWER

    return site


def without_padding(heads: Heads, kept: Tensor | None) -> Heads:
    """Return the heads without padding, for queries and items of one text.

    Args:
        heads: Heads of one layer.
        kept: bool [N], False where a token is padding. None without padding.
    """
    if kept is None or bool(kept.all()):
        return heads
    places = torch.nonzero(kept)[:, 0]
    _, queries, items = heads.shape
    whole = slice(None)
    return heads.select_items(
        places if queries == len(kept) else whole, places if items == len(kept) else whole
    )


def is_in_tower(name: str) -> bool:
    """Return whether a layer with this name reads pictures."""
    return bool(_VISION.search(name))


def has_resampler(model: nn.Module) -> bool:
    """Return whether a model has a module that mixes the cells of a picture into new items."""
    return any(_BETWEEN.search(name) for name, _ in model.named_modules())


def find_vision_part(model: Any) -> nn.Module | None:
    """Return the vision part of a model of words and pictures, or None."""
    parts = (part for name, part in model.named_modules() if _VISION.search(name))
    return next(parts, None)


def make_token_batch(tokens: Tokens | Sequence[int], model: Any) -> Tensor:
    """Return token ids as a batch of one on the model's device.

    Raises:
        InputError: The model has no position, or no embedding, for one of them.
    """
    ids = tokens.ids if isinstance(tokens, Tokens) else tokens
    longest = getattr(model.config, "max_position_embeddings", None)
    if isinstance(longest, int) and 0 < longest < len(ids):
        raise InputError(
            f"The input has {len(ids):,} tokens but the model takes at most {longest:,}."
            " Shorten it."
        )
    check_ids(model, ids)
    return torch.tensor([list(ids)], device=place_of(model))


def check_ids(model: Any, ids: Sequence[int]) -> None:
    """Check that a model has an embedding for every token id.

    Raises:
        InputError: An id is below 0 or above the last one.
    """
    try:
        size = getattr(model.get_input_embeddings(), "num_embeddings", None)
    except (NotImplementedError, AttributeError):
        size = None
    if size is not None and not 0 <= min(ids) <= max(ids) < size:
        raise InputError(
            f"Token ids must be between 0 and {size - 1}, but the input has {min(ids)} to"
            f" {max(ids)}. Give ids of this model, or its own tokenizer."
        )


def make_class_namer(model: Any) -> Callable[[int], str]:
    """Return a function that returns the name of a class."""
    names = getattr(model.config, "id2label", None) or {}
    return lambda index: str(names.get(index, index))


def find_logits(outputs: Any) -> Tensor | None:
    """Return the scores of classes or tokens, whatever their name in the model, or None."""
    for name in ("logits", "prediction_logits"):
        scores = outputs.get(name) if isinstance(outputs, Mapping) else None
        if isinstance(scores, Tensor):
            return scores
    return None
