"""Runs of external models: options, size, attribution, maps of heads, and the trace.

`Options` and `ModelRun` are the main classes. The checks, the attribution and the maps come
before them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from math import prod
from numbers import Integral
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from areaviz.adapters.heads import (
    CROSS,
    DECODER,
    ENCODER,
    NO_SHARES,
    NOTHING_SAID,
    Heads,
    Probe,
    Site,
    Wanted,
    are_shares,
    with_nothing,
)
from areaviz.adapters.recording import RecordedRun
from areaviz.attention.gradients import (
    collect_embeddings,
    compute_gradient_times_input,
    describe_too_many,
)
from areaviz.trace.areas import AreaGrid, FloatArray
from areaviz.trace.arrays import AREA_SIZE, NO_OUTPUT, make_empty_output, make_text_field
from areaviz.trace.changes import Change
from areaviz.trace.derived import (
    AS_AREAS,
    GRADIENT,
    ROLLOUT,
    WAYS,
    AreaSoftmax,
    make_areas_map,
    make_gradient_maps,
    make_rollout_maps,
    make_sums_map,
)
from areaviz.trace.document import validate
from areaviz.trace.errors import (
    AREA_SIZES,
    InputError,
    InputErrorWithAdvice,
    check_attended,
    check_chosen,
    check_range,
    has_room,
)
from areaviz.trace.query import predict_bytes
from areaviz.trace.record import (
    AttentionMap,
    Field,
    LayeredWeights,
    Output,
    Trace,
    count_held_bytes,
)
from areaviz.trace.request import Picture, Request, check_options, make_model_name

# Checks of those options of `areaviz.attend` that do not depend on the model.


# A limit far above the number of examples in any real batch.
MAX_EXAMPLE = 10**6


def check_whole(name: str, value: Any, limits: tuple[int, int]) -> None:
    """Check that an option is a whole number between two limits.

    Raises:
        InputError: The option is not a whole number or is out of range.
    """
    check_range(name, value, limits)
    if not isinstance(value, Integral):
        raise InputError(f'"{name}" is {value} but must be a whole number.')


def check_reader(name: str, reader: Any) -> None:
    """Check that a tokenizer or processor can be used. None is always accepted.

    Raises:
        InputError: It cannot be called and does not belong to the library `tokenizers`.
    """
    if reader is None or callable(reader) or type(reader).__module__.startswith("tokenizers"):
        return
    raise InputError(
        f"The {name} is of type {type(reader).__name__}, which cannot read an input. Give the"
        f" model's own {name}."
    )


# Gradient times input of external models, an attribution method in addition to attention.
#
# It needs a field whose items are token embeddings or pixels, and a model that gives scores of
# classes or tokens. Otherwise `Attribution.why` states the reason. Shapes: B examples (always 1), T
# outputs, N items, V classes or tokens.


NO_SCORES = "left out: this model gives no scores of classes or tokens for its items"
NO_ITEMS = "left out: the items shown are neither single token embeddings nor parts of the pixels"


@dataclass(frozen=True, slots=True, eq=False)
class Attribution:
    """Gradient times input of a run."""

    # Float32 [T, N] for each field.
    rows: Mapping[str, FloatArray] = field(default_factory=dict)
    # The reason why it is missing. "" if it was not requested or is available.
    why: str = ""

    def over(self, field: str, kept: Tensor, outputs: bool = False) -> Attribution:
        """Return the attribution over some items of a field.

        Args:
            field: Name of the field.
            kept: bool [N], the items to keep.
            outputs: Whether the items of the field are also the outputs.
        """
        if field not in self.rows or bool(kept.all()):
            return self
        chosen, rows_TN = kept.numpy(), self.rows[field]
        rows_TN = rows_TN[:, chosen]
        return replace(self, rows={**self.rows, field: rows_TN[chosen] if outputs else rows_TN})


@dataclass(frozen=True, slots=True)
class Items:
    """A part of a model's input whose elements are the items of a field."""

    # Name of the input, such as "input_ids".
    name: str
    # Name of the field in the trace.
    field: str
    # Rows and columns of cells if the input is pixel values, [1, C, H, W].
    cells: tuple[int, int] | None = None


def compute_attribution(
    model: nn.Module,
    run: Callable[[Mapping[str, Any]], Tensor | None],
    given: Mapping[str, Any],
    items: Sequence[Items],
    chosen: Sequence[int] | None = None,
) -> Attribution:
    """Compute gradient times input of the log-probability of each output.

    Args:
        model: Model whose embeddings are searched.
        run: Function that returns the scores [T, V] for an input, or None.
        given: Inputs by name.
        items: The parts of the input that are items of fields.
        chosen: Class or token at each place. None for the most probable one.
    """
    with torch.enable_grad():
        placed, leaves = dict(given), dict[str, Tensor]()
        for one in items:
            if one.cells is not None:
                leaf = _cut_into_cells(given[one.name], one.cells)
                if leaf is None:
                    return Attribution(why=NO_ITEMS)
                leaves[one.field] = leaf
                placed[one.name] = _join_cells(leaf, one.cells)
        tables = [part for part in model.modules() if isinstance(part, nn.Embedding)]
        with collect_embeddings(tables) as seen:
            scores_TV = run(placed)
        if scores_TV is None:
            return Attribution(why=NO_SCORES)
        if why := describe_too_many(len(scores_TV)):
            return Attribution(why=why)
        for one in items:
            found = [leaf for ids, leaf in seen if _is_called_with(ids, given[one.name])]
            if one.cells is None and not found:
                return Attribution(why=NO_ITEMS)
            if one.cells is None:
                leaves[one.field] = found[0]
        wanted = scores_TV.argmax(-1) if chosen is None else torch.tensor(chosen)
        likely_TV = scores_TV.float().log_softmax(-1)
        scores_T = likely_TV[torch.arange(len(likely_TV)), wanted.to(likely_TV.device)]
        rows = compute_gradient_times_input(scores_T, list(leaves.values()))
    return Attribution(dict(zip(leaves, rows, strict=True)))


def _is_called_with(ids: object, given: Tensor) -> bool:
    """Return whether an embedding was called with these tokens, not with positions or segments."""
    return isinstance(ids, Tensor) and ids.shape == given.shape and bool((ids == given).all())


def _cut_into_cells(values: Tensor, cells: tuple[int, int]) -> Tensor | None:
    """Return pixel values [1, C, H, W] as a leaf [1, N, C, h, w], or None if cells do not fit."""
    rows, columns = cells
    if values.dim() != 4 or values.shape[2] % rows or values.shape[3] % columns:
        return None
    parts = values.detach().unflatten(2, (rows, -1)).unflatten(4, (columns, -1))
    leaf: Tensor = parts.permute(0, 2, 4, 1, 3, 5).flatten(1, 2).clone()
    return leaf.requires_grad_()


def _join_cells(leaf: Tensor, cells: tuple[int, int]) -> Tensor:
    """Return the pixel values of cells, with a graph that leads back to the leaf."""
    values: Tensor = leaf.unflatten(1, cells).permute(0, 3, 1, 4, 2, 5).flatten(4, 5).flatten(2, 3)
    return values


# The attention maps that are derived from the layers of an external model.
#
# Maps that fit in memory are arrays. Other maps are read one layer at a time. They are computed
# from queries and keys whenever a layer or a head is used, or read from weights in a temporary
# file.
#
# Shapes: L layers, H heads, Q queries, N memory items, A areas.


OVER_ITEMS, IN_HALF = "softmax over items", "softmax over items, kept in half precision"


def make_site_maps(
    site: str,
    query: str,
    memory: str,
    shape: tuple[int, int],
    layers: Sequence[Heads],
    area_size: int,
    taken: int = 0,
) -> list[AttentionMap]:
    """Return the map of a site, and the two derived maps if areas have more than one item.

    The area distribution is left out if the weights do not follow from known queries and keys. If
    weights in single precision do not fit in memory, the map uses their logarithms in half
    precision. If those do not fit either, layers are read one at a time.

    Args:
        site: Name of the site.
        query: Name of the field that attends.
        memory: Name of the field that is attended to.
        shape: Rows and columns of the memory, (1, N) for a text.
        layers: Heads of each layer.
        area_size: Largest number of items in an area, or of rows and columns.
        taken: Size in bytes of the maps of other sites and of all layers.

    Raises:
        InputError: Layers differ in their heads or items, a weight is not finite, or a layer is too
            large to be read at once.
    """
    check_layers(site, layers)
    items, grid = AreaGrid(*shape, 1, 1), AreaGrid.clamped(shape, (area_size, area_size))
    heads, query_count, count = layers[0].shape
    check_attended(len(layers), heads, query_count, count, grid.count)
    single = predict_bytes(len(layers), heads, query_count, items)
    derived, summed = grid != items, OVER_ITEMS
    if not has_room(taken + single // 2):
        weights_LHQN, logs_LHQN = _read_by_layer(layers, items)
    else:
        logs_LHQN = _compute_explained_logs(layers) if derived else None
        taken += 0 if logs_LHQN is None else logs_LHQN.nbytes
        if has_room(taken + single):
            weights_LHQN = _convert_to_single(layers)
        else:
            half_LHQN = _convert_to_half(layers) if logs_LHQN is None else logs_LHQN
            weights_LHQN, summed = cast(FloatArray, AreaSoftmax(half_LHQN, items)), IN_HALF
    attended = AttentionMap(site, query, memory, items, weights_LHQN, summed)
    maps = [attended]
    if derived and logs_LHQN is not None:
        maps.append(make_areas_map(attended, logs_LHQN, (area_size, area_size)))
    if derived:
        maps.append(make_sums_map(attended, (area_size, area_size)))
    return maps


def _compute_explained_logs(layers: Sequence[Heads]) -> FloatArray | None:
    """Return the logarithms [L, H, Q, N] of all layers' weights, or None.

    The result is None if queries and keys do not determine all weights.
    """
    logs_LHQN = cast(FloatArray, np.empty((len(layers), *layers[0].shape), np.float16))
    for place, layer in zip(logs_LHQN, layers, strict=True):
        logs_HQN = layer.logs()
        if logs_HQN is None:
            return None
        place[...] = logs_HQN
    return logs_LHQN


def _read_by_layer(
    layers: Sequence[Heads], items: AreaGrid
) -> tuple[FloatArray, FloatArray | None]:
    """Return the weights [L, H, Q, N] and their logarithms, if queries and keys give them all.

    Both objects behave like arrays. They take no memory beyond what the layers keep.
    """
    shape, kept = (len(layers), *layers[0].shape), sum(layer.nbytes for layer in layers)

    def weights(layer: int, first: int, last: int) -> FloatArray:
        return _normalise_rows(layers[layer].select_heads(range(first, last)).weights)

    def logs(layer: int, first: int, last: int) -> FloatArray:
        found_HQN = layers[layer].select_heads(range(first, last)).logs()
        assert found_HQN is not None
        return found_HQN.astype(np.float32)

    def all_heads(layer: int) -> FloatArray:
        return read(layer, 0, shape[1])

    is_explained = all(layer.are_given or layer.logs() is not None for layer in layers)
    read = logs if is_explained else weights
    found = cast(FloatArray, LayeredWeights(shape, all_heads, read, kept=kept))
    if is_explained:
        return cast(FloatArray, AreaSoftmax(found, items)), found
    return found, None


def _convert_to_single(layers: Sequence[Heads]) -> FloatArray:
    """Return the weights [L, H, Q, N] in single precision."""
    weights_LHQN = np.empty((len(layers), *layers[0].shape), np.float32)
    for place, layer in zip(weights_LHQN, layers, strict=True):
        place[...] = _normalise_rows(layer.weights)
    return weights_LHQN


def _convert_to_half(layers: Sequence[Heads]) -> FloatArray:
    """Return the logarithms [L, H, Q, N] of the weights in half precision."""
    logs_LHQN = cast(FloatArray, np.empty((len(layers), *layers[0].shape), np.float16))
    for place, layer in zip(logs_LHQN, layers, strict=True):
        place[...] = torch.from_numpy(_normalise_rows(layer.weights)).log().half().numpy()
    return logs_LHQN


def check_layers(site: str, layers: Sequence[Heads]) -> None:
    """Check that layers can be shown in one map.

    Raises:
        InputError: Their heads, queries or items differ, or weights are not finite.
    """
    shapes = {layer.shape for layer in layers}
    if len(shapes) > 1:
        found = ", ".join(" x ".join(map(str, shape)) for shape in sorted(shapes))
        raise InputError(
            f'The layers of "{site}" differ in heads x queries x items ({found}) and cannot'
            " be shown together. Give one part of the model."
        )
    # If queries and keys replace the weights, an earlier check has shown that the weights are
    # finite.
    if not all(layer.are_given or bool(layer.weights.isfinite().all()) for layer in layers):
        raise InputError(
            f'Attention weights of "{site}" are not finite. Check the model and its input.'
        )


def _normalise_rows(weights_HQN: Tensor) -> FloatArray:
    """Return rows divided by their sum, because half precision rounds the rows of some models."""
    total = weights_HQN.sum(-1, keepdim=True)
    return torch.where(total > 0.5, weights_HQN / total, torch.zeros_like(weights_HQN)).numpy()


# Runs of external models: their options, their results, and the conversion to a trace.
#
# Shapes: T target items, V vocabulary.


ALTERNATIVES = 5
MOST_NAMED = 4
"""Maximum number of tokens without a place that a detail names."""
CLASS_TOKEN = "class token"
# Detail that says that some layers mix items without weights.
NOT_ALL_LAYERS = "not all layers"
NOT_DERIVED = (
    "left out where queries and keys are not known, or do not give the weights by themselves"
)


@dataclass(frozen=True, slots=True)
class Options:
    """Options for running and showing a model, see `areaviz.attend`."""

    target: object = None
    steps: int = 64
    tokenizer: Any = None
    labels: Sequence[str] | None = None
    area_size: int = AREA_SIZE
    name: str = ""
    processor: Any = None
    probes: Mapping[str, Probe] | None = None
    layers: Sequence[int] | None = None
    heads: Sequence[int] | None = None
    sites: Sequence[str] | None = None
    example: int = 0
    attribution: bool = False
    # True if the user chose the example.
    is_chosen: bool = True
    # Beam width while a text is written. None uses the number in the model's configuration.
    beams: int | None = None
    # Function that is called while a text is written, with the number of tokens so far and the
    # maximum number.
    on_step: Callable[[int, int], None] | None = None
    # Changes to apply in the run.
    changes: Sequence[Change] = ()
    # Function that is called with the record of the run.
    on_seen: Callable[[RecordedRun], None] | None = None

    def __post_init__(self) -> None:
        check_whole("area_size", self.area_size, AREA_SIZES)
        check_whole("steps", self.steps, (1, 1024))
        check_whole("example", self.example, (0, MAX_EXAMPLE))
        check_chosen("layers", self.layers, int)
        check_chosen("heads", self.heads, int)
        check_chosen("sites", self.sites, str)
        check_reader("tokenizer", self.tokenizer)
        check_reader("processor", self.processor)

    def wanted(self, batches: Sequence[int] = (1,)) -> Wanted:
        """Return the parts of a run to keep.

        Args:
            batches: Allowed numbers of examples in a batch.
        """
        # Other sites, such as that of the class token, are parts of one of these three sites.
        is_known = self.sites is not None and set(self.sites) <= {ENCODER, DECODER, CROSS}
        sites = self.sites if is_known else None
        return Wanted(self.layers, self.heads, sites, self.example, batches)

    def of_batch(self, details: Mapping[str, str], batch: int) -> dict[str, str]:
        """Return details with the number of the read example, if the batch has several examples."""
        example = f"{self.example + 1} of a batch of {batch}"
        return {**details, "example": example} if batch > 1 else dict(details)


@dataclass(frozen=True, slots=True, eq=False)
class ModelRun:
    """One run of a model. Fields and sites are those of the trace."""

    fields: Sequence[Field]
    sites: Sequence[Site]
    # The input.
    text: str = ""
    picture: Picture | None = None
    # The output, or None if the model has none.
    output: Output | None = None
    details: Mapping[str, str] = field(default_factory=dict)
    # Attribution of the output, if requested.
    attributed: Attribution = Attribution()


def to_trace(run: ModelRun, model: object, options: Options) -> Trace:
    """Return the trace of a run of a model.

    Raises:
        InputError: The run has no attention, layers of a site differ or are not finite, or its maps
            would take too much memory.
    """
    run = _choose_sites(run, options)
    if not run.sites:
        hidden = run.details.get("not shown")
        seen = f"Only {hidden} were" if hidden else "No attention was"
        raise InputErrorWithAdvice(f"{seen} seen in this model", "probe", "arrays")
    request = Request(
        make_model_name(options.name or type(model).__name__),
        run.text,
        picture=run.picture,
        attribution=options.attribution,
    )
    check_options(request)
    maps: dict[str, AttentionMap] = {}
    details = dict(run.details)
    # Layers stay in memory while maps are made. They stay longer if maps are computed from them
    # later.
    in_layers = sum(heads.nbytes for site in run.sites for heads in site.layers)
    fields = {item.name: item for item in run.fields}
    for given in run.sites:
        if not are_shares(given.layers):
            details[given.name] = NO_SHARES
            continue
        site, fields = with_nothing(given, fields)
        if site.memory != given.memory:
            details["sinks"] = NOTHING_SAID
        sides = site.query, site.memory, site.shape
        taken = in_layers + count_held_bytes(maps.values())
        for attention in make_site_maps(site.name, *sides, site.layers, options.area_size, taken):
            maps[attention.site] = attention
        if options.area_size > 1 and site.name + AS_AREAS not in maps and prod(site.shape) > 1:
            details["as areas"] = NOT_DERIVED
    if not maps:
        raise InputError(f"The attention of this model is {NO_SHARES}.")
    if options.attribution:
        beside, said = _make_attribution(maps, run, options)
        maps |= beside
        details |= said
    if run.output is None:
        fields[NO_OUTPUT.field] = make_empty_output()
    details |= _describe_tokens_without_place(fields.values())
    trace = Trace(request, fields, run.output or NO_OUTPUT, maps, details)
    validate(trace)
    return trace


def _describe_tokens_without_place(fields: Iterable[Field]) -> dict[str, str]:
    """Return details that name the tokens without characters in the text, such as the end token."""
    said = {}
    for item in fields:
        if not item.is_text or not item.raw:
            continue
        is_empty = item.anchors[:, 0] == item.anchors[:, 1]
        names = [label for label, empty in zip(item.labels, is_empty, strict=True) if empty]
        if names:
            which = ", ".join(dict.fromkeys(names[:MOST_NAMED]))
            more = " and others" if len(names) > MOST_NAMED else ""
            count = f"{len(names):,} of {len(item):,} tokens"
            said[f"{item.name} places"] = f"no place in the text for {count}: {which}{more}"
    return said


def _choose_sites(run: ModelRun, options: Options) -> ModelRun:
    """Return the run with only the requested sites.

    A site includes the sites for single pictures. "encoder self" also selects "encoder self patches
    2".

    Raises:
        InputError: The run has none of them.
    """
    if options.sites is None:
        return run
    asked = ", ".join(f'"{name}"' for name in options.sites)
    if not run.sites and "not shown" not in run.details:
        raise InputError(
            f"No layer of this model has the site {asked}. Leave out sites= to list the sites."
        )
    if not run.sites:
        return run
    kept = []
    for site in run.sites:
        if any(site.name == name or site.name.startswith(f"{name} ") for name in options.sites):
            kept.append(site)
    if not kept:
        found = ", ".join(f'"{site.name}"' for site in run.sites)
        raise InputError(f"This model has no site {asked}. Its sites are: {found}.")
    used = {name for site in kept for name in (site.query, site.memory)}
    used |= {run.output.field} if run.output is not None else set()
    fields = [field for field in run.fields if field.name in used or field.name == "target"]
    return replace(run, sites=kept, fields=fields)


def _make_attribution(
    maps: Mapping[str, AttentionMap], run: ModelRun, options: Options
) -> tuple[dict[str, AttentionMap], dict[str, str]]:
    """Return the attribution maps, and details on why some are missing."""
    found, details = make_gradient_maps(maps, "target", run.attributed.rows), dict[str, str]()
    if not run.attributed.rows:
        details[WAYS[GRADIENT]] = run.attributed.why or NO_SCORES
    chosen = (options.layers, options.heads, options.sites)
    if any(part is not None for part in chosen) or NOT_ALL_LAYERS in run.details:
        details[WAYS[ROLLOUT]] = "left out: it follows attention through every layer and head"
    else:
        found = [*make_rollout_maps(maps), *found]
    return {one.site: one for one in found}, details


@contextmanager
def inference_mode(model: nn.Module) -> Iterator[None]:
    """Run a model without dropout and gradients, and restore the mode of every part afterwards."""
    training = {module: module.training for module in model.modules()}
    compiled = any(module._compiled_call_impl is not None for module in training)
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        if compiled:
            # Compiled code cannot be recorded, so the model runs without compilation.
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        try:
            model.eval()
            yield
        finally:
            for module, before in training.items():
                module.training = before


def make_most_probable(logits_TV: Tensor, label: Callable[[int], str]) -> tuple[Field, Output]:
    """Return the most probable class or token per place as the field "target", and the output."""
    chosen = logits_TV.argmax(-1).tolist()
    return make_text_field("target", [label(index) for index in chosen]), make_output(
        logits_TV, chosen, label
    )


def make_output(logits_TV: Tensor, chosen: Sequence[int], label: Callable[[int], str]) -> Output:
    """Return the probabilities of the chosen items for the field "target", and alternatives.

    Args:
        logits_TV: Scores of every class or token at each place.
        chosen: One class or token at each place.
        label: Returns the label of a class or token.

    Raises:
        InputError: A score is not finite.
    """
    likely_TV = logits_TV.detach().float().cpu().softmax(-1)
    if not bool(likely_TV.isfinite().all()):
        raise InputError(
            "The model's scores of its outputs are not finite. Check its weights for NaN, and"
            " the input."
        )
    best = likely_TV.topk(min(ALTERNATIVES, likely_TV.shape[-1]))
    alternatives = []
    for tokens, shares in zip(
        best.indices.tolist(), best.values.clamp_max(1).tolist(), strict=True
    ):
        alternatives.append(tuple(zip(map(label, tokens), shares, strict=True)))
    probabilities = likely_TV[torch.arange(len(chosen)), torch.tensor(chosen)]
    return Output("target", probabilities.numpy().astype(np.float32), tuple(alternatives))


# Prediction of the size of a run's attention before the run.
#
# The caller gives the number of queries and the memory. The model's configuration gives the numbers
# of layers and heads. A size that is unknown before the run is checked at the first layer.


# Names of the number of layers and of the number of heads in configurations.
_LAYERS = ("num_hidden_layers", "encoder_layers", "n_layer", "num_layers", "n_layers")
_HEADS = ("num_attention_heads", "encoder_attention_heads", "n_head", "num_heads", "n_heads")


@dataclass(frozen=True, slots=True)
class Stack:
    """The number of attention layers of a model, and of heads per layer, or None if unknown."""

    layers: int | None
    heads: int | None


def predict_stack(model: nn.Module, decoder: bool | None = None) -> Stack:
    """Return the size from the configuration of a model or of a part, or else from its modules.

    Args:
        model: Model of `transformers` or `timm`, or any module around one.
        decoder: Whether to return the size of the decoder of an encoder-decoder.
    """
    for part in model.modules():
        config: Any = getattr(part, "config", None)
        if hasattr(config, "get_text_config"):
            said = config.get_text_config(decoder=decoder)
            return Stack(_get_first(said, _LAYERS), _get_first(said, _HEADS))
    found = [getattr(part, "num_heads", None) for part in model.modules()]
    counts = [count for count in found if isinstance(count, int)]
    # The stages of a multi-stage model differ in their heads and items.
    return Stack(len(counts), counts[0]) if len(set(counts)) == 1 else Stack(None, None)


def _get_first(config: Any, names: Sequence[str]) -> int | None:
    found = next((getattr(config, name) for name in names if hasattr(config, name)), None)
    return found if isinstance(found, int) else None


def predict_cells(model: nn.Module, values: Tensor) -> tuple[int, int] | None:
    """Return rows and columns of a picture's cells before a model has read it, or None if unknown.

    They follow from the only convolution that reads colours, if its windows do not overlap. The
    result is None for other models, and for multi-stage models, which merge cells.

    Args:
        model: Model that reads the picture.
        values: Pixel values [B, C, H, W].
    """
    if values.dim() != 4 or len(values) != 1 or predict_stack(model).heads is None:
        return None
    _, colours, *sides = values.shape
    windows = set()
    for part in model.modules():
        if isinstance(part, nn.Conv2d) and part.in_channels == colours:
            windows.add((part.stride, part.kernel_size))
    if len(windows) != 1:
        return None
    [((high, wide), size)] = windows
    if (high, wide) != size:
        return None
    return sides[0] // high, sides[1] // wide


def check_size(
    model: nn.Module,
    shape: tuple[int, int] | None,
    options: Options,
    site: str = "",
    queries: int | None = None,
) -> None:
    """Check before a run that its attention is not too large.

    Args:
        model: Model whose layers attend. For an encoder-decoder, pass the part with these layers.
        shape: Rows and columns of the memory, (1, N) for a text. None if unknown.
        options: Options with the requested layers, heads, areas and sites.
        site: Site of the layers, if known.
        queries: Number of queries. None if the items attend to each other.

    Raises:
        InputError: A layer over areas, or all layers over items, are too large, or the input is so
            short that there are no items.
    """
    if shape is not None and min(shape) < 1:
        raise InputError("The input is too short for this model. Give a longer one.")
    if shape is None or (site and options.sites is not None and site not in options.sites):
        return
    stack, items = predict_stack(model, site in (DECODER, CROSS) or None), prod(shape)
    areas = AreaGrid.clamped(shape, (options.area_size, options.area_size)).count
    layers, heads = (
        _count_kept(stack.layers, options.layers),
        _count_kept(stack.heads, options.heads),
    )
    check_attended(layers, heads, items if queries is None else queries, items, areas)


def _count_kept(count: int | None, chosen: Sequence[int] | None) -> int:
    """Return the smallest possible number of kept parts, or 1 if the model's number is unknown."""
    return min(count or 1, count or 1 if chosen is None else len(chosen))
