"""Generation of text by encoder-decoders, and the pass that shows the attention of the result.

The target is given, or the model generates it by the method in its configuration.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from areaviz.adapters.call_records import CROSS, DECODER, ENCODER, Found
from areaviz.adapters.failures import Failed, run_or_refuse
from areaviz.adapters.heads import Heads
from areaviz.adapters.model_run import Options, make_output
from areaviz.adapters.run_size import check_size
from areaviz.adapters.sinks import Site
from areaviz.adapters.texts import Texts, Tokens
from areaviz.adapters.transformers_run import (
    check_ids,
    choose_accepted_inputs,
    find_logits,
    move_to_model,
    place_of,
    watch,
    without_padding,
)
from areaviz.trace.errors import InputError, InputErrorWithAdvice
from areaviz.trace.record import Field, Output

START_LABEL = "⟨start⟩"
# Names of the number of a decoder's positions in configurations.
_PLACES = ("max_target_positions", "max_decoder_position_embeddings", "max_position_embeddings")


@dataclass(frozen=True, slots=True, eq=False)
class GeneratedText:
    """The text that an encoder-decoder wrote or was given, and the record of the pass over it."""

    target: Tokens
    output: Output | None
    found: Found
    details: dict[str, str]
    # Inputs of the model, including the start of the target.
    given: Mapping[str, Tensor]


def generate_text(
    model: Any, given: Mapping[str, Any], options: Options, source: tuple[int, int] | None
) -> GeneratedText:
    """Return the target, its probabilities and every site's heads, from one pass over the target.

    Args:
        model: An encoder-decoder.
        given: Its inputs. If they include `decoder_input_ids`, these are the target.
        options: Options of the run.
        source: Rows and columns of the input, if they are known before the run.
    """
    texts, given = Texts(options.tokenizer), choose_accepted_inputs(model, given)
    check_size(model.get_encoder(), source, options, ENCODER)
    fed = given.pop("decoder_input_ids", None)
    details = {"decoding": "given text"}
    if options.target is not None:
        target = texts.read(texts.target_ids(options.target), what="target")
    elif fed is not None:
        target = texts.read([*_read_fed_tokens(fed)[1:], _find_start_token(model)], what="target")
    else:
        target = texts.read(generate_tokens(model, given, options))
        details = _describe_decoding(model, options)
    written = len(target.ids)
    check_size(model, (1, written), options, DECODER)
    check_size(model, source, options, CROSS, written)
    start = (
        _find_start_token(model)
        if fed is None or options.target is not None
        else _read_fed_tokens(fed)[0]
    )
    check_ids(model, target.ids)
    row_1T = torch.tensor([[start, *target.ids[:-1]]], device=place_of(model))
    given = {**given, "decoder_input_ids": row_1T}
    seen = watch(model, given, options, (CROSS, ENCODER, DECODER))
    logits = find_logits(seen.outputs)
    if fed is not None and options.target is None and logits is not None:
        # The prediction after the last given token is kept, because the model made it.
        target = texts.read([*target.ids[:-1], int(logits[0, -1].argmax())])
    output = None if logits is None else make_output(logits[0], target.ids, texts.label)
    return GeneratedText(target, output, seen.found, details | dict(seen.details), given)


def _read_fed_tokens(fed: Any) -> list[int]:
    """Return the decoder's tokens of one example."""
    tokens = torch.as_tensor(fed)
    if tokens.dim() != 2 or len(tokens) != 1 or not tokens.numel() or tokens.is_floating_point():
        raise InputError(
            f"decoder_input_ids have the shape {tuple(tokens.shape)} but must be [1, tokens]."
            " Give one example, or the text as target=."
        )
    found: list[int] = tokens[0].tolist()
    return found


def _count_beams(model: Any, options: Options) -> int:
    """Return the number of beams: from the options, otherwise from the configuration."""
    said = getattr(getattr(model, "generation_config", None), "num_beams", None)
    return options.beams or (said if isinstance(said, int) and said > 0 else 1)


def _describe_decoding(model: Any, options: Options) -> dict[str, str]:
    """Return a detail about the decoding method, if it is not plain greedy search."""
    if options.beams is not None:
        return {}
    beams = _count_beams(model, options)
    if beams > 1:
        return {"decoding": f"beam search with {beams} beams, as the model's configuration asks"}
    if getattr(getattr(model, "generation_config", None), "do_sample", False):
        return {"decoding": "greedy search, although the model's configuration asks for sampling"}
    return {}


def generate_tokens(model: Any, given: Mapping[str, Any], options: Options) -> Sequence[int]:
    """Return the tokens that a model writes without a given target and without sampling.

    Raises:
        InputError: The model writes no text, or fails on this input.
    """
    if not model.can_generate():
        raise InputErrorWithAdvice(f"{type(model).__name__} writes no text by itself", "target")
    placed = move_to_model(model, given)
    steps = min(options.steps, _count_places_left(model, given))
    more: dict[str, Any] = {}
    ended: list[Exception] = []
    if options.on_step is not None:
        more["stopping_criteria"] = [_make_reporter(options.on_step, steps, ended)]

    def run() -> Any:
        return model.generate(
            **placed,
            max_new_tokens=steps,
            do_sample=False,
            num_beams=_count_beams(model, options),
            num_return_sequences=1,
            return_dict_in_generate=False,
            **more,
        )

    try:
        ids: list[int] = run_or_refuse(model, run)[0].tolist()
    except Failed:
        if ended:
            # The callback `on_step` ended the run.
            raise ended[0] from None
        raise
    written = ids
    if getattr(model.config, "is_encoder_decoder", False) and ids[:1] == [_find_start_token(model)]:
        written = ids[1:]
    if not written:
        raise InputErrorWithAdvice("The model wrote nothing", "target")
    return written


def _count_places_left(model: Any, given: Mapping[str, Any]) -> int:
    """Return the number of positions that a model has left after its first tokens.

    InputError: No positions are left.
        InputError: There are none left.
    """
    config = model.config.get_text_config(decoder=True)
    sizes = [getattr(config, name, None) for name in _PLACES]
    longest = next((size for size in sizes if isinstance(size, int) and size > 0), None)
    if longest is None:
        return sys.maxsize
    is_pair = getattr(model.config, "is_encoder_decoder", False)
    taken = 1 if is_pair or "input_ids" not in given else given["input_ids"].shape[1]
    if taken >= longest:
        raise InputError(
            f"The text has {taken:,} tokens, and the model has places for {longest:,} in all."
            " Shorten it."
        )
    return longest - taken


def _make_reporter(
    on_step: Callable[[int, int], None], most: int, ended: list[Exception]
) -> Callable[..., Tensor]:
    """Return a callback that `generate` calls after each token.

    It never stops the run by its result.

    Args:
        on_step: Gets the number of tokens so far, and may raise to end the run.
        most: Maximum number of tokens.
        ended: Gets the exceptions of `on_step`.
    """

    def report(ids_BN: Tensor, _: Any, **more: Any) -> Tensor:
        try:
            on_step(min(ids_BN.shape[1], most), most)
        except Exception as error:
            ended.append(error)
            raise
        return torch.zeros(len(ids_BN), dtype=torch.bool, device=ids_BN.device)

    return report


def _find_start_token(model: Any) -> int:
    """Return the token with which a decoder starts.

    Raises:
        InputError: The configuration does not name this token.
    """
    config = model.config
    places = [getattr(model, "generation_config", None), config]
    places += [getattr(config, part, None) for part in ("decoder", "text_config")]
    for name in ("decoder_start_token_id", "bos_token_id"):
        for place in places:
            if (token := getattr(place, name, None)) is not None:
                return int(token)
    raise InputError(
        "The model's configuration has no decoder_start_token_id. Set it to the token with"
        " which a text begins."
    )


def make_text_sites(written: GeneratedText, source: Tokens) -> list[Site]:
    """Return the sites of a text that was read, without its padding.

    Args:
        written: The output for this source.
        source: The text.
    """
    places = torch.nonzero(source.kept)[:, 0]
    sites = []
    if CROSS in written.found:
        across = [_select_items(heads, None, places) for heads in written.found[CROSS]]
        sites.append(Site(CROSS, "target", "source", (1, len(places)), across))
    if ENCODER in written.found:
        within = [without_padding(heads, source.kept) for heads in written.found[ENCODER]]
        sites.append(Site(ENCODER, "source", "source", (1, len(places)), within))
    return sites + make_history_site(written)


def _select_items(heads: Heads, queries: Tensor | None, items: Tensor) -> Heads:
    """Return heads over some items, or unchanged if these are all items."""
    if queries is None and len(items) == heads.shape[2]:
        return heads
    return heads.select_items(slice(None) if queries is None else queries, items)


def make_time_sites(written: GeneratedText, items: int) -> list[Site]:
    """Return the sites of a source with `items` items in sequence, such as times of a recording."""
    sites = []
    if CROSS in written.found:
        sites.append(Site(CROSS, "target", "source", (1, items), written.found[CROSS]))
    if ENCODER in written.found:
        sites.append(Site(ENCODER, "source", "source", (1, items), written.found[ENCODER]))
    return sites + make_history_site(written)


def make_history_site(written: GeneratedText) -> list[Site]:
    """Return the site of the target's attention to the earlier output."""
    if DECODER not in written.found:
        return []
    shape = (1, len(written.target.ids))
    return [Site(DECODER, "target", "history", shape, written.found[DECODER])]


def make_target_fields(target: Tokens) -> tuple[Field, Field]:
    """Return the fields "target" and "history", which has the item fed before each target item."""
    field = target.named("target")
    anchors = np.vstack([[[0, 0]], field.anchors[:-1]])
    return field, Field("history", "text", field.raw, (START_LABEL, *field.labels[:-1]), anchors)
