"""Checks that the parts of a trace agree, as docs/trace.md says, and that a focus points into it.

Shapes: as in `areaviz/trace/record.py`.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.trace.errors import InputError
from areaviz.trace.kinds import KINDS
from areaviz.trace.layered_weights import LayeredWeights
from areaviz.trace.record import (
    MAX_LAYERS_AND_HEADS,
    TOLERANCE,
    VERSION,
    AttentionMap,
    Field,
    FloatArray,
    Gaze,
    Trace,
)
from areaviz.trace.request import Focus

_NAME = re.compile(r"[a-z][a-z0-9 -]{0,39}")


def validate(trace: Trace) -> None:
    """Check that the parts of a trace agree with each other, as docs/trace.md says.

    Raises:
        ValueError: The first disagreement found, in one sentence.
    """
    _check_condition(
        trace.version == VERSION,
        f"The trace has version {trace.version}; this code writes {VERSION}.",
    )
    for name, item in trace.fields.items():
        _check_condition(name == item.name, f'The field "{item.name}" is filed under "{name}".')
        _check_field(trace, item)
    _check_output(trace)
    for site, gaze in trace.gazes.items():
        _check_condition(site == gaze.site, f'The gaze of "{gaze.site}" is filed under "{site}".')
        _check_gaze(trace, gaze)
    for site, attention in trace.maps.items():
        _check_condition(
            site == attention.site, f'The map of "{attention.site}" is filed under "{site}".'
        )
        _check_map(trace, attention)


def check_focus(trace: Trace, focus: Focus) -> None:
    """Check that a focus, which may come from a link, points into this trace.

    Raises:
        InputError: The focus names a site, layer, head or item that the trace does not have.
    """
    attention = trace.maps.get(focus.site)
    if attention is None:
        raise InputError(
            f'This result has no site "{focus.site}". Choose one of: {", ".join(trace.maps)}.'
        )
    items = attention.weights.shape[2] if focus.side == "query" else attention.grid.items
    parts = [("layer", focus.layer, attention.layers), ("head", focus.head or 0, attention.heads)]
    parts += [("item", item, items) for item in focus.items]
    for name, value, count in parts:
        if not 0 <= value < count:
            raise InputError(
                f"This result has {count:,} {name}{'s' if count > 1 else ''} but the link"
                f" asks for {name} {value + 1:,}. Choose another {name}."
            )


def check_rows(weights: FloatArray, called: str) -> None:
    """Check that rows of weights [..., A] sum to 1, or to 0 if everything is masked.

    Raises:
        ValueError: A weight is below 0 or NaN, or a row has another sum.
    """
    _check_condition(bool(weights.min() >= 0), f"{called} has weights below 0 or not a number.")
    for weights_QA in weights.reshape(-1, *weights.shape[-2:]):
        # Check one head at a time. With few areas, the sums would take as much memory as the
        # weights.
        sums_Q = weights_QA.sum(-1)
        summed = np.minimum(np.abs(sums_Q - 1), sums_Q) <= TOLERANCE
        _check_condition(
            bool(summed.all()), f"{called} has rows of weights that sum to neither 1 nor 0."
        )


def _check_condition(holds: bool, sentence: str) -> None:
    if not holds:
        raise ValueError(sentence)


def _check_name(called: str, name: str) -> None:
    _check_condition(
        bool(_NAME.fullmatch(name)),
        f"{called} may only have small letters, digits, blanks and hyphens.",
    )


def _check_sides(trace: Trace, called: str, part: AttentionMap | Gaze) -> None:
    """Check the name and the fields of a map or gaze."""
    _check_name(called, part.site)
    missing = [name for name in (part.query, part.memory) if name not in trace.fields]
    _check_condition(
        not missing, f"{called} names a field that the trace lacks: {', '.join(missing)}."
    )


def _check_array(
    what: str, array: npt.NDArray[Any], dtype: npt.DTypeLike, shape: tuple[int, ...]
) -> None:
    _check_condition(array.dtype == dtype, f"{what} of type {array.dtype}, not {np.dtype(dtype)}.")
    _check_condition(array.shape == shape, f"{what} of shape {array.shape}, not {shape}.")


def _check_field(trace: Trace, item: Field) -> None:
    called = f'The field "{item.name}"'
    _check_name(called, item.name)
    _check_condition(item.kind in KINDS, f'{called} is of the unknown kind "{item.kind}".')
    texts = all(isinstance(label, str) for label in item.labels)
    _check_condition(texts, f"{called} has labels that are not text.")
    count, kind = len(item), KINDS[item.kind]
    shape = (count, kind.anchor)
    _check_array(f"{called} has {count} labels but anchors", item.anchors, np.int64, shape)
    problem = kind.problem(item, trace.request)
    _check_condition(not problem, f"{called} {problem}.")


def _check_gaze(trace: Trace, gaze: Gaze) -> None:
    called = f'The gaze of "{gaze.site}"'
    _check_sides(trace, called, gaze)
    kind = trace.fields[gaze.memory].kind
    _check_condition(kind == "picture", f"{called} looks at a field that is not a picture.")
    steps, scales = len(trace.fields[gaze.query]), (*gaze.corners.shape, 0, 0)[1]
    _check_array(
        f"{called} has corners for {steps} steps", gaze.corners, np.float32, (steps, scales, 4, 2)
    )
    _check_condition(
        bool(np.isfinite(gaze.corners).all()), (f"{called} has corners that are not numbers.")
    )
    sides = gaze.seen.shape[2:]
    _check_condition(len(sides) == 2, f"{called} has patches of shape {gaze.seen.shape}.")
    _check_array(f"{called} has patches", gaze.seen, np.uint8, (steps, scales, *sides))


def _check_output(trace: Trace) -> None:
    output = trace.output
    _check_condition(
        output.field in trace.fields,
        f'The output names a field "{output.field}" that the trace lacks.',
    )
    count, found = len(trace.fields[output.field]), output.probabilities
    _check_condition(
        found.shape == (count,),
        f"The output has probabilities of shape {found.shape} for {count} items.",
    )
    _check_array("The output has probabilities", found, np.float32, (count,))
    _check_condition(_are_shares(found), "The output has probabilities outside 0 to 1.")
    _check_condition(
        len(output.alternatives) == count,
        f"The output has alternatives for {len(output.alternatives)} of {count} items.",
    )
    likely = [share for options in output.alternatives for _, share in options]
    _check_condition(
        _are_shares(np.array(likely, np.float64)),
        "The output has alternatives with probabilities outside 0 to 1.",
    )


def _check_map(trace: Trace, attention: AttentionMap) -> None:
    called, weights_LHQA = f'The map of "{attention.site}"', attention.weights
    _check_sides(trace, called, attention)
    queries, items = len(trace.fields[attention.query]), len(trace.fields[attention.memory])
    grid = attention.grid
    _check_condition(
        grid.items == items, f"{called} has a grid of {grid.items} items over a memory of {items}."
    )
    shape = weights_LHQA.shape
    _check_condition(
        len(shape) == 4 and min(shape) > 0 and shape[2:] == (queries, grid.count),
        f"{called} has weights of shape {shape} but must be layers x heads x"
        f" {queries} x {grid.count}.",
    )
    _check_array(f"{called} has weights", weights_LHQA, np.float32, shape)
    _check_condition(
        max(shape[:2]) <= MAX_LAYERS_AND_HEADS,
        f"{called} has more than {MAX_LAYERS_AND_HEADS:,} layers, or heads of a layer.",
    )
    # Weights that are stored elsewhere are checked by the code that fetches them.
    if not isinstance(weights_LHQA, LayeredWeights):
        check_rows(weights_LHQA, called)
    chosen, strength = attention.chosen, attention.strength
    if chosen is not None:
        _check_array(f"{called} has choices", chosen, np.int64, shape[:3])
        inside = bool(((chosen >= 0) & (chosen < grid.count)).all())
        _check_condition(inside, f"{called} has choices that are not areas.")
    if strength is not None:
        _check_array(f"{called} has strengths", strength, np.float32, shape[:3])
        finite = bool(np.isfinite(strength).all() and strength.min() >= 0)
        _check_condition(finite, f"{called} has strengths below 0 or not a number.")


def _are_shares(values: npt.NDArray[np.floating]) -> bool:
    """Return whether all values are in 0..1, up to rounding. NaN is not."""
    return bool(np.all((values >= 0) & (values <= 1 + TOLERANCE)))
