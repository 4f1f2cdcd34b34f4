"""Whether the parts of a trace agree with each other, as docs/trace.md says, and whether a focus
points into it.

Shapes: as in `areaviz/trace/record.py`.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from areaviz.trace.errors import InputError
from areaviz.trace.kinds import KINDS
from areaviz.trace.layered import LayeredWeights
from areaviz.trace.record import (
    MOST,
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
        ValueError: the first disagreement found, in one sentence.
    """
    _require(
        trace.version == VERSION,
        f"The trace has version {trace.version}; this code writes {VERSION}.",
    )
    for name, item in trace.fields.items():
        _require(name == item.name, f'The field "{item.name}" is filed under "{name}".')
        _check_field(trace, item)
    _check_output(trace)
    for site, gaze in trace.gazes.items():
        _require(site == gaze.site, f'The gaze of "{gaze.site}" is filed under "{site}".')
        _check_gaze(trace, gaze)
    for site, attention in trace.maps.items():
        _require(site == attention.site, f'The map of "{attention.site}" is filed under "{site}".')
        _check_map(trace, attention)


def check_focus(trace: Trace, focus: Focus) -> None:
    """Check that a focus, which may come from a link, points into this trace.

    Raises:
        InputError: it names a site, layer, head or item the trace does not have.
    """
    attention = trace.maps.get(focus.site)
    if attention is None:
        raise InputError(
            f'This result has no site "{focus.site}"; choose one of: {", ".join(trace.maps)}.'
        )
    items = attention.weights.shape[2] if focus.side == "query" else attention.grid.items
    parts = [("layer", focus.layer, attention.layers), ("head", focus.head or 0, attention.heads)]
    for name, value, count in [*parts, *(("item", item, items) for item in focus.items)]:
        if not 0 <= value < count:
            raise InputError(
                f"This result has {count:,} {name}{'s' if count > 1 else ''} but the link asks for "
                f"{name} {value + 1:,}; choose another {name}."
            )


def check_rows(weights: FloatArray, called: str) -> None:
    """Check that weights [..., A] are distributions, or nothing but 0, of what is `called` so; else
    ValueError.
    """
    _require(bool(weights.min() >= 0), f"{called} has weights below 0 or not a number.")
    for weights_QA in weights.reshape(-1, *weights.shape[-2:]):
        # One head after the other: where areas are few, the sums take as much memory as the
        # weights.
        sums_Q = weights_QA.sum(-1)
        summed = np.minimum(np.abs(sums_Q - 1), sums_Q) <= TOLERANCE
        _require(bool(summed.all()), f"{called} has rows of weights that sum to neither 1 nor 0.")


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise ValueError(sentence)


def _check_field(trace: Trace, item: Field) -> None:
    called = f'The field "{item.name}"'
    _require(
        bool(_NAME.fullmatch(item.name)),
        f"{called} may only have small letters, digits, blanks and hyphens.",
    )
    _require(item.kind in KINDS, f'{called} is of the unknown kind "{item.kind}".')
    _require(
        all(isinstance(label, str) for label in item.labels),
        f"{called} has labels that are no text.",
    )
    anchors, kind = item.anchors, KINDS[item.kind]
    _require(anchors.dtype == np.int64, f"{called} has anchors of type {anchors.dtype}, not int64.")
    _require(
        anchors.shape == (len(item), kind.anchor),
        f"{called} has {len(item)} labels but anchors of shape {anchors.shape}.",
    )
    problem = kind.problem(item, trace.request)
    _require(not problem, f"{called} {problem}.")


def _check_gaze(trace: Trace, gaze: Gaze) -> None:
    called = f'The gaze of "{gaze.site}"'
    _require(
        bool(_NAME.fullmatch(gaze.site)),
        f"{called} may only have small letters, digits, blanks and hyphens.",
    )
    missing = [name for name in (gaze.query, gaze.memory) if name not in trace.fields]
    _require(not missing, f"{called} names a field that the trace lacks: {', '.join(missing)}.")
    _require(
        trace.fields[gaze.memory].kind == "picture",
        f"{called} looks at a field that is no picture.",
    )
    steps, scales = (
        len(trace.fields[gaze.query]),
        gaze.corners.shape[1] if gaze.corners.ndim > 1 else 0,
    )
    fits = gaze.corners.dtype == np.float32 and gaze.corners.shape == (steps, scales, 4, 2)
    _require(fits, f"{called} has corners of shape {gaze.corners.shape} for {steps} steps.")
    _require(bool(np.isfinite(gaze.corners).all()), f"{called} has corners that are no numbers.")
    fits = (
        gaze.seen.dtype == np.uint8
        and gaze.seen.ndim == 4
        and gaze.seen.shape[:2] == (steps, scales)
    )
    _require(
        fits,
        f"{called} has patches of shape {gaze.seen.shape} for {steps} steps at {scales} scales.",
    )


def _check_output(trace: Trace) -> None:
    output = trace.output
    _require(
        output.field in trace.fields,
        f'The output names a field "{output.field}" that the trace lacks.',
    )
    count, shape = len(trace.fields[output.field]), output.probabilities.shape
    _require(shape == (count,), f"The output has probabilities of shape {shape} for {count} items.")
    _require(
        output.probabilities.dtype == np.float32,
        "The output has probabilities that are not float32.",
    )
    _require(_shares(output.probabilities), "The output has probabilities outside 0 to 1.")
    _require(
        len(output.alternatives) == count,
        f"The output has alternatives for {len(output.alternatives)} of {count} items.",
    )
    likely = np.array(
        [share for options in output.alternatives for _, share in options], dtype=np.float64
    )
    _require(_shares(likely), "The output has alternatives with probabilities outside 0 to 1.")


def _check_map(trace: Trace, attention: AttentionMap) -> None:
    called, weights_LHQA = f'The map of "{attention.site}"', attention.weights
    _require(
        bool(_NAME.fullmatch(attention.site)),
        f"{called} may only have small letters, digits, blanks and hyphens.",
    )
    missing = [name for name in (attention.query, attention.memory) if name not in trace.fields]
    _require(not missing, f"{called} names a field that the trace lacks: {', '.join(missing)}.")
    items, grid = len(trace.fields[attention.memory]), attention.grid
    _require(
        grid.items == items, f"{called} has a grid of {grid.items} items over a memory of {items}."
    )
    _require(
        weights_LHQA.dtype == np.float32,
        f"{called} has weights of type {weights_LHQA.dtype}, not float32.",
    )
    shape = (len(trace.fields[attention.query]), grid.count)
    fits = weights_LHQA.ndim == 4 and weights_LHQA.size > 0 and weights_LHQA.shape[2:] == shape
    _require(
        fits,
        f"{called} has weights of shape {weights_LHQA.shape} but must be layers x heads x"
        f" {shape[0]} x {shape[1]}.",
    )
    _require(
        max(weights_LHQA.shape[:2]) <= MOST,
        f"{called} has more than {MOST:,} layers, or heads of a layer.",
    )
    if not isinstance(weights_LHQA, LayeredWeights):
        check_rows(weights_LHQA, called)
    if attention.chosen is not None:
        chosen = attention.chosen
        fits = chosen.dtype == np.int64 and chosen.shape == weights_LHQA.shape[:3]
        _require(fits, f"{called} has choices of shape {chosen.shape} and type {chosen.dtype}.")
        _require(
            bool(np.all((chosen >= 0) & (chosen < grid.count))),
            f"{called} has choices that are no areas.",
        )
    if attention.strength is not None:
        strength = attention.strength
        fits = strength.dtype == np.float32 and strength.shape == weights_LHQA.shape[:3]
        _require(
            fits, f"{called} has strengths of shape {strength.shape} and type {strength.dtype}."
        )
        finite = bool(np.isfinite(strength).all() and strength.min() >= 0)
        _require(finite, f"{called} has strengths below 0 or not a number.")


def _shares(values: npt.NDArray[np.floating]) -> bool:
    """Whether all values lie in 0..1, but for rounding; NaN does not."""
    return bool(np.all((values >= 0) & (values <= 1 + TOLERANCE)))
