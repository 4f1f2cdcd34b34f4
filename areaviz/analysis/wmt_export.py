"""Ratings of a dataset as JSON Lines in the format of the WMT human evaluation of 2025."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from areaviz.intake.rated_outputs import OWN
from areaviz.intake.wmt_ratings import SEPARATOR
from areaviz.notes.error_spans import OUTPUT, WHOLE, ErrorSpan, Judgement, convert_spans_to_json
from areaviz.samples.dataset import Dataset

Outputs = Mapping[str, Mapping[int, str]]
"""The outputs of each system, by the index of the example."""
# Names of metadata columns that contain the document of an example.
DOCUMENTS = ("doc", "document", "doc_id")


def to_wmt(judgements: Sequence[Judgement], dataset: Dataset, outputs: Outputs) -> bytes:
    """Return a line for each example, with its outputs, scores, raters and errors.

    Errors in the source or in a picture are in `other_errors1` and so on, which only areaviz reads.
    Ratings by programs, ratings of earlier outputs, and copies that differ from another rating are
    left out.

    Args:
        judgements: the ratings of the dataset.
        dataset: the dataset.
        outputs: the outputs of the systems.
    """
    by_output: dict[tuple[int, str], list[Judgement]] = {}
    for one in judgements:
        is_here = outputs.get(one.model, {}).get(one.example) == one.output
        if one.counts and is_here:
            by_output.setdefault((one.example, one.model), []).append(one)
    lines = []
    for place, example in enumerate(dataset.examples):
        scores = {}
        for system in outputs:
            if given := by_output.get((place, system)):
                scores[system] = _format_ratings(given)
        texts = {name: found[place] for name, found in outputs.items() if place in found}
        values = {
            "scores": scores,
            "src_text": example.text,
            "tgt_text": texts,
            "doc_id": _name_segment(dataset, place),
            OWN: {"dataset": dataset.digest, "number": place + 1},
        }
        lines.append(f"{json.dumps(values, ensure_ascii=False)}\n")
    return "".join(lines).encode("utf-8", "replace")


def _format_ratings(judgements: Sequence[Judgement]) -> dict[str, object]:
    """Return the ratings of one output, with a numbered round for each rater."""
    found: dict[str, object] = {}
    for number, one in enumerate(sorted(judgements, key=lambda one: one.rater), 1):
        if one.score is not None:
            found[f"human{number}"] = one.score
        found[f"annotator{number}"] = one.rater
        there = [span for span in one.spans if span.side in (OUTPUT, WHOLE)]
        others = [span for span in one.spans if span not in there]
        found[f"errors{number}"] = [_format_error(span) for span in there]
        if others:
            found[f"other_errors{number}"] = convert_spans_to_json(others)
    return found


def _format_error(span: ErrorSpan) -> dict[str, Any]:
    is_missing = span.side == WHOLE
    found: dict[str, Any] = {
        "start_i": "missing" if is_missing else span.start,
        "end_i": "missing" if is_missing else span.end - 1,
        "severity": span.severity,
    }
    more = {"category": span.category, "note": span.note}
    return found | {name: text for name, text in more.items() if text}


def _name_segment(dataset: Dataset, place: int) -> str:
    """Return languages, domain, document and segment as one name in WMT's form."""
    name = dataset.examples[place].name
    if SEPARATOR in name:
        return name
    document = document_of(dataset, place) or dataset.name
    langs = dataset.metadata.get("langs", {place: ""})[place] or "und"
    domain = dataset.metadata.get("domain", {place: ""})[place] or "unknown"
    return SEPARATOR.join((langs, domain, document, name))


def document_of(dataset: Dataset, place: int) -> str:
    """Return the document of an example by its metadata, or "" if there is none."""
    for column in DOCUMENTS:
        if column in dataset.metadata:
            return dataset.metadata[column][place]
    return ""
