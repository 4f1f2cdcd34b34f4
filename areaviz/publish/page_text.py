"""The words of a page: what was given, what came of it and how surely, and how to read it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from areaviz.drawing.base import given_words
from areaviz.drawing.labels import readable, visible
from areaviz.drawing.markup import Markup, element, joined
from areaviz.interactive.grid import TAKEAWAY as GRID
from areaviz.interactive.ribbon import TAKEAWAY as RIBBON
from areaviz.trace.record import Trace

UNSURE = (0.9, 0.7, 0.5, 0.3)
"""An item of the output is tinted below the first of these probabilities, more below the others."""
ROWS, OTHERS = 256, 3
"""Items listed with their probabilities, and other labels named beside each."""
READ = {one.name: one.how_to_read for one in (RIBBON, GRID)}
KEYS = (
    "Click to keep something lit, with Shift or Ctrl to add to it. By keyboard: Tab to a text or"
    " picture, arrows to move, Enter to keep, Escape to let go."
)
CAVEAT = "Attention shows where a model looked, and not by itself why it said what it said."


def facts(trace: Trace, with_name: bool) -> str:
    """How the model was run, in one line.

    Args:
        with_name: whether the model's name is part of it.
    """
    request = trace.request
    found = [request.model] if with_name else []
    if "history" in trace.fields:
        decoding = "greedy decoding"
        if request.method != "greedy":
            decoding = f"beam search of width {request.beam}"
        found.append(given_words(trace) or decoding)
    sizes = sorted({(one.layers, one.heads) for one in trace.maps.values()})
    shapes = []
    for layers, heads in sizes:
        shapes.append(f"{_count(layers, 'layer')} of {_count(heads, 'head')}")
    found.append(" or ".join(shapes))
    return " · ".join(filter(None, found))


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"


def given_text(trace: Trace) -> str:
    """The text the model was given, "" where there was none."""
    return trace.fields["source"].raw if "source" in trace.fields else trace.request.text


def has_output(trace: Trace) -> bool:
    """Whether the model said anything, be it no more than that it was at the end."""
    return len(trace.output.probabilities) > 0


def output_text(trace: Trace) -> Markup:
    """The output, what the model was unsure of tinted."""
    field = trace.fields[trace.output.field]
    likely = trace.output.probabilities.tolist()
    anchors = field.anchors.tolist() if field.kind == "text" else []
    parts: list[str] = []
    done = 0
    for (start, end), probability in zip(anchors, likely, strict=False):
        level = _level(probability)
        if start < done or start == end or not level:
            continue
        title = f"probability {probability:.0%}"
        tinted = element("span", field.raw[start:end], class_=f"u{level}", title=title)
        parts += [field.raw[done:start], tinted]
        done = end
    return joined([*parts, field.raw[done:]])


def _level(probability: float) -> int:
    """How unsure, 0 to 4."""
    return sum(probability < step for step in UNSURE)


def sureness(trace: Trace) -> str:
    """The mean probability of the output's items, and the least sure of them, in words.

    There must be an item.
    """
    likely = trace.output.probabilities
    if len(likely) == 1:
        return f"Probability {likely[0]:.2f}."
    least = int(np.argmin(likely))
    # The geometric mean; a probability of 0 has no logarithm.
    mean = float(np.exp(np.log(np.maximum(likely, 1e-12)).mean()))
    label = visible(trace.fields[trace.output.field].labels[least])
    tinted = " Tinted: what it was less sure of." if float(likely[least]) < UNSURE[0] else ""
    return f"Mean probability {mean:.2f}, least sure of “{label}” ({likely[least]:.2f}).{tinted}"


def probabilities(trace: Trace) -> Markup:
    """A table of the output's items, with the other possibilities of each; "" without items."""
    if not has_output(trace):
        return Markup()
    head = ("Position", "Item", "Probability", "Other possibilities")
    rows = [element("tr", *(element("th", cell, scope="col") for cell in head))]
    labels = trace.fields[trace.output.field].labels
    output = trace.output
    for item, likely in enumerate(output.probabilities[:ROWS].tolist()):
        rows.append(_row(item + 1, labels[item], likely, output.alternatives[item]))
    count = len(output.probabilities)
    more = f" (the first {ROWS:,} of {count:,})" if count > ROWS else ""
    table = element("div", element("table", *rows), class_="scrolled")
    return element("details", element("summary", f"Probability of every item{more}"), table)


def _row(
    position: int, label: str, likely: float, alternatives: Sequence[tuple[str, float]]
) -> Markup:
    others = [f"{visible(other)} {share:.1%}" for other, share in alternatives if other != label]
    sure = element("span", f"{likely:.1%}", class_=f"u{_level(likely)}")
    return element(
        "tr",
        element("td", f"{position}", class_="number"),
        element("td", visible(label)),
        element("td", sure, class_="number"),
        element("td", ",  ".join(others[:OTHERS])),
    )


def run_details(trace: Trace) -> Markup:
    """What is known of the run, as a table."""
    rows = []
    for name, value in trace.details.items():
        if value:
            rows.append(element("tr", element("th", name, scope="row"), element("td", value)))
    if not rows:
        return Markup()
    return element("details", element("summary", "About this run"), element("table", *rows))


def how_to_read(kinds: Sequence[str]) -> Markup:
    """What the reader sees in components of these kinds, and what to do with it."""
    sentences = [READ[kind] for kind in kinds]
    if kinds:
        sentences.append(KEYS)
    return element("div", *(element("p", text) for text in (*sentences, CAVEAT)), class_="aside")


def title_of(trace: Trace, title: str) -> str:
    """The title of the options, else one with the model's name."""
    return readable(title.strip()) or f"What {trace.request.model} attended to"
