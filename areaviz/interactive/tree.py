"""Data of the tree component: the brackets over the words, and every head's top area at each step.

The script in `areaviz/components/tree` draws the tree. Users can let it grow step by step.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from areaviz.draw.select import find_top_span, find_touched_runs, get_word_text, list_spoken_words
from areaviz.interactive.message import serialise_message
from areaviz.trace.kinds import read_tree
from areaviz.trace.record import AttentionMap, Trace
from areaviz.trace.request import Focus


def make_tree_payload(trace: Trace, focus: Focus) -> dict[str, Any]:
    """Return the tree, its words and the top areas of the heads.

    `header["id"]` is a hash of the content.

    Args:
        trace: a trace in which the tokens of a tree attend to a sentence.
        focus: the selection: a site, a layer, and a head if only one head is shown.
    """
    attention = trace.maps[focus.site]
    source, query = trace.fields[attention.memory], trace.fields[attention.query]
    runs = list_spoken_words(source)
    tokens = [query.raw[start:end].strip() for start, end in query.anchors.tolist()]
    nodes = [
        [one.label, one.first, one.behind, one.depth, one.opening]
        for one in read_tree(tokens).nodes
    ]
    heads = range(attention.heads) if focus.head is None else [focus.head]
    header = {
        "words": [get_word_text(source, run) for run in runs],
        "tokens": tokens,
        "nodes": nodes,
        "heads": list(heads),
        "tops": [
            [_find_top(attention, focus.layer, head, step, runs) for head in heads]
            for step in range(len(tokens))
        ],
    }
    digest = hashlib.sha256(serialise_message(header, {})).hexdigest()[:16]
    return {"header": {"id": digest, **header}, "arrays": {}}


def _find_top(
    attention: AttentionMap, layer: int, head: int, step: int, runs: list[tuple[int, int]]
) -> list[float]:
    """Return the first word, the end (exclusive) and the weight of a head's top area at one step.

    If the area touches no word, the first word and the end are 0.
    """
    span, weight = find_top_span(attention, layer, head, step)
    return [*find_touched_runs(span, runs), round(float(weight), 4)]


def choose_first_step(header: Mapping[str, Any]) -> int:
    """Return the step that is shown first.

    At this step, the last phrase of the first two thirds opens.
    """
    steps = len(header["tokens"])
    opening = [node[-1] for node in header["nodes"] if node[-1] <= 2 * steps / 3]
    return int(opening[-1]) if opening else steps - 1
