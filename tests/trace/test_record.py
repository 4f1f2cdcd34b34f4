"""Validation of traces: every inconsistency between the parts is reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from areaviz.trace.areas import AreaGrid, IntArray
from areaviz.trace.document import check_focus, validate
from areaviz.trace.errors import InputError
from areaviz.trace.record import VERSION, AttentionMap, Field, Gaze, Output, Trace
from areaviz.trace.request import Focus, Request
from tests import fakes
from tests.trace.strategies import SOME, traces

SITE = "encoder-decoder"


def test_fake_trace_is_valid() -> None:
    validate(fakes.trace())


@SOME
@given(traces())
def test_any_consistent_trace_is_valid(trace: Trace) -> None:
    validate(trace)


def with_map(change: Callable[[AttentionMap], AttentionMap]) -> Trace:
    trace = fakes.trace()
    return replace(trace, maps=dict(trace.maps) | {SITE: change(trace.maps[SITE])})


def with_weight(value: float) -> Trace:
    """Return a trace with one weight of the map replaced."""

    def change(attention: AttentionMap) -> AttentionMap:
        weights = attention.weights.copy()
        weights[1, 2, 3, 4] = value
        return replace(attention, weights=weights)

    return with_map(change)


def with_source(change: Callable[[Field], Field]) -> Trace:
    trace = fakes.trace()
    return replace(trace, fields=dict(trace.fields) | {"source": change(trace.fields["source"])})


def with_anchor(start: int, end: int) -> Trace:
    def change(field: Field) -> Field:
        anchors = field.anchors.copy()
        anchors[2] = start, end
        return replace(field, anchors=anchors)

    return with_source(change)


def with_output(change: Callable[[Output], Output]) -> Trace:
    trace = fakes.trace()
    return replace(trace, output=change(trace.output))


def refiled(part: str, old: str, new: str) -> Trace:
    """Return a trace that stores a field or a map under a wrong name."""
    trace = fakes.trace()
    entries = {new if name == old else name: entry for name, entry in getattr(trace, part).items()}
    return replace(trace, fields=entries) if part == "fields" else replace(trace, maps=entries)


def with_cells(change: Callable[[Field], Field]) -> Trace:
    """Return a caption trace whose picture field is changed."""
    trace = fakes.caption_trace()
    return replace(trace, fields={**trace.fields, "picture": change(trace.fields["picture"])})


def with_chosen(change: Callable[[IntArray], IntArray]) -> Trace:
    """Return a caption trace by hard attention whose choices are changed."""
    trace = fakes.caption_trace(hard=True)
    attention = trace.maps[SITE]
    assert attention.chosen is not None
    return replace(
        trace, maps={**trace.maps, SITE: replace(attention, chosen=change(attention.chosen))}
    )


def with_gaze(change: Callable[[Gaze], Gaze]) -> Trace:
    """Return a trace of glimpses that are changed."""
    trace = fakes.gaze_trace()
    return replace(trace, gazes={"glimpses": change(trace.gazes["glimpses"])})


@pytest.mark.parametrize(
    ("trace", "sentence"),
    [
        (replace(fakes.trace(), version=VERSION + 1), f"version {VERSION + 1}"),
        (refiled("fields", "source", "input"), 'filed under "input"'),
        (refiled("maps", SITE, "cross"), 'filed under "cross"'),
        (with_source(lambda field: replace(field, kind="smell")), "smell"),
        (with_source(lambda field: replace(field, labels=field.labels[:-1])), "17 labels"),
        (with_source(lambda field: replace(field, labels=(*field.labels[:-1], 3))), "not text"),  # type: ignore[arg-type]
        (
            with_source(lambda field: replace(field, anchors=field.anchors.astype(np.int32))),
            "int32",
        ),
        (with_source(lambda field: replace(field, raw=field.raw[:-1])), "outside its 16"),
        (with_anchor(-1, 2), "outside"),
        (with_anchor(3, 2), "outside"),
        (with_anchor(3, 99), "outside"),
        (with_output(lambda output: replace(output, field="sound")), "sound"),
        (
            with_output(lambda output: replace(output, probabilities=output.probabilities[1:])),
            r"\(23,\) for 24",
        ),
        (
            with_output(lambda output: replace(output, probabilities=output.probabilities + 1)),
            "outside 0 to 1",
        ),
        (
            with_output(
                lambda output: replace(
                    output, probabilities=output.probabilities * np.float32("nan")
                )
            ),
            "0 to 1",
        ),
        (
            with_output(
                lambda output: replace(
                    output, probabilities=output.probabilities.astype(np.float64)
                )
            ),
            "not float32",
        ),
        (
            with_output(lambda output: replace(output, alternatives=output.alternatives[1:])),
            "23 of 24",
        ),
        (with_output(lambda output: replace(output, alternatives=((("a", 1.5),),) * 24)), "0 to 1"),
        (with_map(lambda item: replace(item, query="sound")), "lacks: sound"),
        (with_map(lambda item: replace(item, memory="target")), "18 items over a memory of 24"),
        (with_map(lambda item: replace(item, query="source")), "must be layers x heads x 18 x 80"),
        (
            with_map(lambda item: replace(item, grid=AreaGrid(1, 18, 1, 4))),
            "must be layers x heads x 24 x 66",
        ),
        (with_map(lambda item: replace(item, weights=item.weights[0])), "of shape"),
        (with_map(lambda item: replace(item, weights=item.weights[:0])), "of shape"),
        (
            with_map(lambda item: replace(item, weights=np.repeat(item.weights, 513, 0))),
            "more than 1,024 layers",
        ),
        (
            with_map(lambda item: replace(item, weights=np.repeat(item.weights, 257, 1))),
            "more than 1,024 layers, or",
        ),
        (with_map(lambda item: replace(item, weights=item.weights.astype(np.float16))), "float16"),
        (
            with_map(lambda item: replace(item, weights=item.weights * np.float32(0.99))),
            "neither 1 nor 0",
        ),
        (with_weight(-0.001), "below 0"),
        (with_weight(float("nan")), "not a number"),
        (with_weight(float("inf")), "neither 1 nor 0"),
        (replace(fakes.caption_trace(), request=Request("captioner", "x")), "the request has none"),
        (
            with_cells(lambda cells: replace(cells, anchors=cells.anchors + 40)),
            "outside its 96 x 64 pixels",
        ),
        (
            with_cells(lambda cells: replace(cells, anchors=cells.anchors[:, :2])),
            r"anchors of shape \(16, 2\)",
        ),
        (with_chosen(lambda chosen: chosen + 36), "choices that are not areas"),
        (with_chosen(lambda chosen: chosen[:1]), r"choices of shape \(1, 4, 5\)"),
        (
            with_map(lambda item: replace(item, strength=item.weights.max(3)[:1])),
            r"strengths of shape \(1, 4, 24\)",
        ),
        (with_map(lambda item: replace(item, strength=-item.weights.max(3))), "strengths below 0"),
        (with_gaze(lambda gaze: replace(gaze, memory="target")), "a field that is not a picture"),
        (with_gaze(lambda gaze: replace(gaze, corners=gaze.corners[:2])), "for 3 steps"),
        (
            with_gaze(lambda gaze: replace(gaze, corners=gaze.corners * np.float32("nan"))),
            "not numbers",
        ),
        (with_gaze(lambda gaze: replace(gaze, seen=gaze.seen[:, :1])), "patches of shape"),
    ],
)
def test_inconsistent_trace_is_refused(trace: Trace, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as refusal:
        validate(trace)
    assert str(refusal.value).endswith(".")


@pytest.mark.parametrize("name", ["Source", "a/b", "a.b", "", "x" * 41, "a\x00b"])
def test_field_and_site_names_are_restricted(name: str) -> None:
    trace = fakes.trace()
    source, attention = (
        replace(trace.fields["source"], name=name),
        replace(trace.maps[SITE], site=name),
    )
    with pytest.raises(ValueError, match="small letters"):
        validate(replace(trace, fields=dict(trace.fields) | {name: source}))
    with pytest.raises(ValueError, match="small letters"):
        validate(replace(trace, maps=dict(trace.maps) | {name: attention}))


def test_masked_rows_and_small_rounding_are_valid() -> None:
    def masked(attention: AttentionMap) -> AttentionMap:
        weights = attention.weights * np.float32(1.0005)
        weights[:, :, 0] = 0
        return replace(attention, weights=weights)

    validate(with_map(masked))


@pytest.mark.parametrize(
    "focus",
    [
        Focus(SITE),
        Focus(SITE, 1, 3, "query", (0, 23)),
        Focus(SITE, 0, None, "memory", (17,)),
        Focus("decoder self", side="memory", items=(23,)),
    ],
)
def test_focus_inside_the_trace_passes(focus: Focus) -> None:
    check_focus(fakes.trace(), focus)


@pytest.mark.parametrize(
    ("focus", "sentence"),
    [
        (
            Focus("encoder"),
            'no site "encoder". Choose one of: encoder self, decoder self, encoder-decoder',
        ),
        (Focus(SITE, layer=2), "2 layers but the link asks for layer 3. Choose another layer"),
        (Focus(SITE, head=4), "4 heads but the link asks for head 5"),
        (Focus(SITE, items=(1, 24)), "24 items but the link asks for item 25"),
        (Focus(SITE, side="memory", items=(18,)), "18 items but the link asks for item 19"),
        (Focus(SITE, layer=-1), "layer 0"),
    ],
)
def test_focus_outside_the_trace_is_refused(focus: Focus, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        check_focus(fakes.trace(), focus)
