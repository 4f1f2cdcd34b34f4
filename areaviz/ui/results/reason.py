"""The answer of a reasoning model, compared with the right answer, and its attention."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from areaviz.draw.labels import pluralise
from areaviz.samples.reasoning import STORIES
from areaviz.trace.kinds import EXPECTED, GOLD, read_tree
from areaviz.trace.record import Trace
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.results.result_page import draw_traces


def add_gold_facts(trace: Trace) -> Trace:
    """Add to a trace of a sample story its right answer and the facts from which it follows."""
    for story in STORIES:
        if story.text == trace.request.text:
            numbers = " ".join(str(fact + 1) for fact in story.gold)
            known = {GOLD: numbers, EXPECTED: story.answer}
            return replace(trace, details={**trace.details, **known})
    return trace


def describe_answer(trace: Trace) -> str:
    """Return a sentence about a tree, or "" for a story or points, whose picture says it."""
    return "" if "question" in trace.fields or "points" in trace.fields else _describe_tree(trace)


def _describe_tree(trace: Trace) -> str:
    """Describe whether the tree is complete, and its size."""
    source = next(iter(trace.maps.values())).memory
    words = len(trace.fields[source].raw.split())
    tree = read_tree(trace.fields[trace.output.field].raw.split())
    if tree.problem:
        return f"What the model wrote is no tree: {escape_markdown(tree.problem)}"
    if not tree.nodes:
        return "What the model wrote is no tree: it has no bracket."
    if not tree.is_closed:
        return "What the model wrote is no tree: a bracket stays open."
    if tree.words != words:
        return (
            f"The model wrote a tree of {pluralise(tree.words, 'word')}, and the sentence has"
            f" {words}. Punctuation counts as words."
        )
    levels = 1 + max(node.depth for node in tree.nodes)
    return (
        f"The model wrote a whole tree: {pluralise(len(tree.nodes), 'bracket')} around"
        f" {pluralise(words, 'word')}, {pluralise(levels, 'level')} deep."
    )


draw_answers = partial(draw_traces, say=describe_answer, complete=add_gold_facts)
"""Run the requests, show the answers, and explore their attention."""
