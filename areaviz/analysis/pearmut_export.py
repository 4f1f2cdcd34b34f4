"""A dataset and the outputs of systems as a campaign of Pearmut, where raters annotate outputs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from areaviz.analysis.wmt_export import Outputs, document_of
from areaviz.data.raters import is_automatic
from areaviz.intake.pearmut import find_counted_span
from areaviz.intake.rated_outputs import OWN
from areaviz.notes.error_spans import OUTPUT, Judgement
from areaviz.samples.dataset import Dataset
from areaviz.trace.errors import InputError, check_choice

PROTOCOLS = ("ESA", "MQM", "DA")
"""The protocols: errors and a score (ESA), errors with categories (MQM), or a score alone (DA)."""
MAX_RATERS = 50


def to_campaign(
    dataset: Dataset,
    outputs: Outputs,
    judgements: Sequence[Judgement] = (),
    *,
    protocol: str = PROTOCOLS[0],
    raters: int = 1,
) -> bytes:
    """Return a campaign in which each rater gets all outputs, one document at a time.

    Errors from programs, such as xCOMET, are marked beforehand. Each item carries the digest of the
    dataset and the number of its example. An import uses them to find the example of an annotation.

    Args:
        dataset: the dataset, whose examples are texts.
        outputs: the outputs of each system.
        judgements: the ratings of the dataset.
        protocol: one of `PROTOCOLS`.
        raters: the number of raters, 1 to `MAX_RATERS`.

    Raises:
        InputError: an argument is out of range, there are no outputs, or sources are not texts.
    """
    check_choice("protocol", protocol, PROTOCOLS)
    if not 1 <= raters <= MAX_RATERS:
        raise InputError(f"A campaign has 1 to {MAX_RATERS} raters. Choose a number of them.")
    if dataset.files:
        raise InputError(
            "A campaign has texts alone, but this set has pictures, sounds or clips. Choose a set"
            " of texts."
        )
    names = _make_safe_names(outputs)
    prepared = _prepare_errors(judgements, outputs)
    unique = len({one.name for one in dataset.examples}) == len(dataset.examples)
    documents: list[list[dict[str, Any]]] = []
    earlier = None
    for place, example in enumerate(dataset.examples):
        texts = {name: found[place] for name, found in outputs.items() if place in found}
        if not texts:
            continue
        item: dict[str, Any] = {
            "item_id": example.name if unique else str(place + 1),
            "src": example.text,
            **({"ref": example.references[0]} if example.references else {}),
            "tgt": {names[system]: text for system, text in texts.items()},
            OWN: {
                "dataset": dataset.digest,
                "number": place + 1,
                "systems": {names[system]: system for system in texts},
            },
        }
        spans = {names[name]: prepared[place, name] for name in texts if (place, name) in prepared}
        if spans and protocol != "DA":
            item["error_spans"] = spans
        document = document_of(dataset, place)
        if document:
            item["doc"] = document
        if not document or document != earlier:
            documents.append([])
        documents[-1].append(item)
        earlier = document
    if not documents:
        raise InputError("No system has an output, so there is nothing to annotate. Add outputs.")
    campaign = {
        "info": {
            "assignment": "task-based",
            "protocol": protocol,
            "shuffle": all(map(_has_same_systems, documents)),
        },
        "campaign_id": f"{_make_safe_name(dataset.name)}_{dataset.digest[:8]}",
        "data": [documents] * raters,
    }
    return json.dumps(campaign, ensure_ascii=False, indent=1).encode("utf-8", "replace")


def _has_same_systems(document: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether all items of a document have the same systems. Pearmut can then shuffle it."""
    return len({tuple(item["tgt"]) for item in document}) == 1


def _make_safe_names(systems: Iterable[str]) -> dict[str, str]:
    """Return for each system a name that Pearmut accepts: letters, digits, "_" and "-".

    Pearmut refuses names that consist of digits, and uses names in the ids of its page.
    """
    found: dict[str, str] = {}
    for system in systems:
        name, number = _make_safe_name(system), 2
        while name in found.values():
            name, number = f"{_make_safe_name(system)}_{number}", number + 1
        found[system] = name
    return found


def _make_safe_name(text: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", text)
    return f"system_{name}" if not name.strip("_") or name.isdigit() else name


def _prepare_errors(
    judgements: Sequence[Judgement], outputs: Outputs
) -> dict[tuple[int, str], list[dict[str, Any]]]:
    """Return the errors from programs in Pearmut's format, by example and system."""
    found: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for one in judgements:
        is_here = outputs.get(one.model, {}).get(one.example) == one.output
        if not is_here or one.differs or not is_automatic(one.rater):
            continue
        for span in one.spans:
            place = find_counted_span(one.output, span.start, span.end)
            if span.side == OUTPUT and place is not None:
                error = {
                    "start_i": place[0],
                    "end_i": place[1],
                    "severity": "major" if span.severity == "critical" else span.severity,
                    "category": span.category or None,
                }
                found.setdefault((one.example, one.model), []).append(error)
    return found
