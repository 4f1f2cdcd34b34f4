"""The texts of a page: input, output and confidence, and how to read the maps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from areaviz.drawing.base import given_words
from areaviz.drawing.labels import escape_controls, show_invisibles
from areaviz.drawing.markup import Markup, element, joined
from areaviz.publish.kinds import KINDS
from areaviz.trace.record import Trace

UNSURE = (0.9, 0.7, 0.5, 0.3)
"""Output items are tinted below the first probability, and more strongly below each further one."""
ROWS, OTHERS = 256, 3
"""Number of items listed with probabilities, and of alternatives named for each item."""
KEYS = (
    "Click to pin what is shown, and Shift- or Ctrl-click to add more. With the keyboard, press Tab"
    " to enter a text or picture, the arrow keys to move, Enter to pin and Escape to clear."
)
CAVEAT = (
    "Attention shows where a model looked. It does not show by itself why the model"
    " chose its output."
)


def facts(trace: Trace, with_name: bool) -> str:
    """Describe in one line how the model was run.

    Args:
        trace: the trace.
        with_name: whether to include the model's name.
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
    """Return the input text of the model, "" if there was none."""
    return trace.fields["source"].raw if "source" in trace.fields else trace.request.text


def has_output(trace: Trace) -> bool:
    """Return whether the model produced any output, even only the end-of-sequence token."""
    return len(trace.output.probabilities) > 0


def output_text(trace: Trace) -> Markup:
    """Return the output with uncertain items tinted."""
    field = trace.fields[trace.output.field]
    likely = trace.output.probabilities.tolist()
    anchors = field.anchors.tolist() if field.is_text else []
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
    """Return the level of uncertainty, 0 to 4."""
    return sum(probability < step for step in UNSURE)


def sureness(trace: Trace) -> str:
    """Describe the mean probability of the output's items and the least certain items.

    The output must have at least one item.
    """
    likely = trace.output.probabilities
    if len(likely) == 1:
        return f"Probability {likely[0]:.2f}."
    least = int(np.argmin(likely))
    # The geometric mean. Limit it from below, because a probability of 0 has no logarithm.
    mean = float(np.exp(np.log(np.maximum(likely, 1e-12)).mean()))
    label = show_invisibles(trace.fields[trace.output.field].labels[least])
    tinted = " Tinted words are less certain." if float(likely[least]) < UNSURE[0] else ""
    return f"Mean probability {mean:.2f}. Least certain: “{label}” ({likely[least]:.2f}).{tinted}"


def probabilities(trace: Trace) -> Markup:
    """Return a table of the output's items with alternatives for each; "" without items."""
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
    others = [
        f"{show_invisibles(other)} {share:.1%}" for other, share in alternatives if other != label
    ]
    sure = element("span", f"{likely:.1%}", class_=f"u{_level(likely)}")
    return element(
        "tr",
        element("td", f"{position}", class_="number"),
        element("td", show_invisibles(label)),
        element("td", sure, class_="number"),
        element("td", ",  ".join(others[:OTHERS])),
    )


def run_details(trace: Trace) -> Markup:
    """Return a table of the details of the run."""
    rows = []
    for name, value in trace.details.items():
        if value:
            rows.append(element("tr", element("th", name, scope="row"), element("td", value)))
    if not rows:
        return Markup()
    return element("details", element("summary", "About this run"), element("table", *rows))


def how_to_read(kinds: Sequence[str]) -> Markup:
    """Explain what these components show and how to use them."""
    sentences = [KINDS[kind].how_to_read for kind in kinds if KINDS[kind].how_to_read]
    if "ribbon" in kinds or "grid" in kinds:
        sentences.append(KEYS)
    return element("div", *(element("p", text) for text in (*sentences, CAVEAT)), class_="aside")


def title_of(trace: Trace, title: str) -> str:
    """Return the title in the options, or a title with the model's name."""
    return escape_controls(title.strip()) or f"What {trace.request.model} attended to"
