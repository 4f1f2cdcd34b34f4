"""The page in words: what was asked and what came of it, how sure the model was, what is shown and
how to read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from areaviz.drawing.labels import readable, visible
from areaviz.publish.markup import Markup, element, escaped, joined
from areaviz.publish.payloads import Place
from areaviz.trace.record import Trace

UNSURE = (0.9, 0.7, 0.5, 0.3)
"""An item of the output is tinted where its probability is below the first of these, more below
each of the others.
"""
ROWS, OTHERS = 256, 3
"""Items listed with their probabilities, and other labels named beside each."""
READ = {
    "ribbon": (
        "Point at any part of either text. In the other text lights up what it attends to, or what"
        " attends to it: every head has a colour, its heaviest area is solid and tinted, lighter"
        " ones are thin. An area is one item or several neighbours that attention took as one; its"
        " percentage is the share of the head's attention it got."
    ),
    "grid": (
        "Point at a word or at the picture. A frame is an area of the picture that a head attends"
        " to, the head's number in its corner; the tint is the share of the attention that every"
        " cell received, all areas together."
    ),
}
KEYS = (
    "Click to keep something lit, with Shift or Ctrl to add to it. By keyboard: Tab to a text or"
    " picture, arrows to move, Enter to keep, Escape to let go."
)
CAVEAT = "Attention shows where a model looked, and not by itself why it said what it said."


def facts(trace: Trace, named: bool) -> str:
    """How the model was run, in one line; named: its name stands above already."""
    request = trace.request
    decoding = (
        "greedy decoding" if request.method == "greedy" else f"beam search of width {request.beam}"
    )
    sizes = sorted({(one.layers, one.heads) for one in trace.maps.values()})
    decoding = trace.details.get("decoding", decoding)
    shape = " or ".join(
        f"{_count(layers, 'layer')} of {_count(heads, 'head')}" for layers, heads in sizes
    )
    return " · ".join(
        filter(
            None,
            ("" if named else request.model, decoding if "history" in trace.fields else "", shape),
        )
    )


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'s' * (number != 1)}"


def given_text(trace: Trace) -> str:
    """The text the model was given, "" where there was none."""
    return trace.fields["source"].raw if "source" in trace.fields else trace.request.text


def has_output(trace: Trace) -> bool:
    """Whether the model said anything, be it no more than that it was at the end."""
    return len(trace.output.probabilities) > 0


def output_text(trace: Trace) -> Markup:
    """The output, what the model was unsure of tinted."""
    field, likely = trace.fields[trace.output.field], trace.output.probabilities.tolist()
    parts: list[str] = []
    done = 0
    for (start, end), probability in zip(
        field.anchors.tolist() if field.kind == "text" else (), likely, strict=False
    ):
        if start < done or start == end or not (level := _level(probability)):
            continue
        title = f"probability {probability:.0%}"
        parts += [
            field.raw[done:start],
            element("span", field.raw[start:end], class_=f"u{level}", title=title),
        ]
        done = end
    return joined([*parts, field.raw[done:]])


def _level(probability: float) -> int:
    """How unsure, 0 to 4."""
    return sum(probability < step for step in UNSURE)


def sureness(trace: Trace) -> str:
    """The mean probability of the output's items, of which there must be one, and the least sure of
    them, in words.
    """
    likely = trace.output.probabilities
    if len(likely) == 1:
        return f"Probability {likely[0]:.2f}."
    least = int(np.argmin(likely))
    mean = float(np.exp(np.log(np.maximum(likely, 1e-12)).mean()))
    label = visible(trace.fields[trace.output.field].labels[least])
    tinted = " Tinted: what it was less sure of." if float(likely[least]) < UNSURE[0] else ""
    return f"Mean probability {mean:.2f}, least sure of “{label}” ({likely[least]:.2f}).{tinted}"


def probabilities(trace: Trace) -> Markup:
    """A table of the output's items, with what the model would have said instead; nothing where
    there are none.
    """
    if not has_output(trace):
        return escaped("")
    head = ("Position", "Item", "Probability", "Other possibilities")
    rows = [element("tr", *(element("th", cell, scope="col") for cell in head)), *_rows(trace)]
    count = len(trace.output.probabilities)
    more = f" (the first {ROWS:,} of {count:,})" if count > ROWS else ""
    table = element("div", element("table", *rows), class_="scrolled")
    return element("details", element("summary", f"Probability of every item{more}"), table)


def _rows(trace: Trace) -> Iterator[Markup]:
    labels, output = trace.fields[trace.output.field].labels, trace.output
    for item, (label, likely) in enumerate(
        zip(labels[:ROWS], output.probabilities.tolist(), strict=False)
    ):
        others = [(other, share) for other, share in output.alternatives[item] if other != label][
            :OTHERS
        ]
        told = ",  ".join(f"{visible(other)} {share:.1%}" for other, share in others)
        sure = element("span", f"{likely:.1%}", class_=f"u{_level(likely)}")
        number = element("td", f"{item + 1}", class_="number")
        yield element(
            "tr",
            number,
            element("td", visible(label)),
            element("td", sure, class_="number"),
            element("td", told),
        )


def run_details(trace: Trace) -> Markup:
    """What is known of the run, as a table."""
    known = {name: value for name, value in trace.details.items() if value}
    rows = [
        element("tr", element("th", name, scope="row"), element("td", value))
        for name, value in known.items()
    ]
    return (
        element("details", element("summary", "About this run"), element("table", *rows))
        if rows
        else escaped("")
    )


def how_to_read(shown: Sequence[Place]) -> Markup:
    """What one sees, and what to do with it, in plain words."""
    kinds = dict.fromkeys(place.kind for place in shown)
    told = [*(READ[kind] for kind in kinds), *([KEYS] if kinds else []), CAVEAT]
    return element("div", *(element("p", sentence) for sentence in told), class_="aside")


def title_of(trace: Trace, title: str) -> str:
    """The title that was asked for, else the model's."""
    return readable(title.strip()) or f"What {trace.request.model} attended to"
