"""The texts of a page: input, output, confidence, and an explanation of the maps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from areaviz.draw.labels import Markup, escape_controls, join_markup, make_element, show_invisibles
from areaviz.draw.view import describe_given_text
from areaviz.publish.options import PageOptions
from areaviz.show.views import KINDS
from areaviz.texts.catalogue import ENGLISH, message, translate, use_decimal_mark
from areaviz.trace.record import Trace

UNSURE = (0.9, 0.7, 0.5, 0.3)
"""Probabilities below which output items are tinted.

The tint is stronger below each further one.
"""
ROWS, OTHERS = 256, 3
"""Maximum number of items in the table of probabilities, and of alternatives for each item."""
KEYS = message(
    "Click to pin what is shown, and Shift- or Ctrl-click to add more. With the keyboard, press Tab"
    " to enter a text or picture, the arrow keys to move, Enter to pin and Escape to clear."
)
CAVEAT = message(
    "Attention shows where a model looked. It does not show by itself why the model"
    " chose its output."
)


def describe_run(trace: Trace, with_name: bool, language: str) -> str:
    """Describe in one line how the model was run.

    Args:
        trace: the trace.
        with_name: whether to include the model's name.
        language: the language of the text.
    """
    request = trace.request
    found = [request.model] if with_name else []
    if "history" in trace.fields:
        decoding = translate("greedy decoding", language)
        if request.method != "greedy":
            decoding = translate("beam search of width {width}", language, width=request.beam)
        found.append(describe_given_text(trace) or decoding)
    sizes = sorted({(one.layers, one.heads) for one in trace.maps.values()})
    shapes = []
    for layers, heads in sizes:
        shapes.append(
            translate(
                "{layers} of {heads}",
                language,
                layers=_format_count(
                    layers, message("{count} layer"), message("{count} layers"), language
                ),
                heads=_format_count(
                    heads, message("{count} head"), message("{count} heads"), language
                ),
            )
        )
    found.append(translate(" or ", language).join(shapes))
    return " · ".join(filter(None, found))


def _format_count(number: int, one: str, several: str, language: str) -> str:
    return translate(one if number == 1 else several, language, count=f"{number:,}")


def get_given_text(trace: Trace) -> str:
    """Return the input text of the model, or "" if there was none."""
    return trace.fields["source"].raw if "source" in trace.fields else trace.request.text


def has_output(trace: Trace) -> bool:
    """Return whether the model produced any output, even only the end-of-sequence token."""
    return len(trace.output.probabilities) > 0


def render_output_text(trace: Trace, language: str = ENGLISH) -> Markup:
    """Return the output with uncertain items tinted."""
    field = trace.fields[trace.output.field]
    likely = trace.output.probabilities.tolist()
    anchors = field.anchors.tolist() if field.is_text else []
    parts: list[str] = []
    done = 0
    for (start, end), probability in zip(anchors, likely, strict=False):
        level = _find_uncertainty_level(probability)
        if start < done or start == end or not level:
            continue
        title = translate("probability {share}", language, share=f"{probability:.0%}")
        tinted = make_element("span", field.raw[start:end], class_=f"u{level}", title=title)
        parts += [field.raw[done:start], tinted]
        done = end
    return join_markup([*parts, field.raw[done:]])


def _find_uncertainty_level(probability: float) -> int:
    """Return the level of uncertainty, 0 to 4."""
    return sum(probability < step for step in UNSURE)


def describe_confidence(trace: Trace, language: str = ENGLISH) -> str:
    """Describe the mean probability of the output's items and the least certain items.

    The output must have at least one item.
    """
    likely = trace.output.probabilities
    if len(likely) == 1:
        share = use_decimal_mark(f"{likely[0]:.2f}", language)
        return translate("Probability {share}.", language, share=share)
    least = int(np.argmin(likely))
    # The geometric mean. Limit it from below, because a probability of 0 has no logarithm.
    mean = float(np.exp(np.log(np.maximum(likely, 1e-12)).mean()))
    label = show_invisibles(trace.fields[trace.output.field].labels[least])
    said = translate(
        "Mean probability {mean}. Least certain: “{label}” ({share}).",
        language,
        mean=use_decimal_mark(f"{mean:.2f}", language),
        label=label,
        share=use_decimal_mark(f"{likely[least]:.2f}", language),
    )
    if float(likely[least]) >= UNSURE[0]:
        return said
    return f"{said} {translate('Tinted words are less certain.', language)}"


def render_probabilities(trace: Trace, language: str) -> Markup:
    """Return a collapsed table of the output's items and alternatives, or "" without items."""
    if not has_output(trace):
        return Markup()
    head = [
        make_element("th", translate(cell, language), scope="col")
        for cell in (
            message("Position"),
            message("Item"),
            message("Probability"),
            message("Other possibilities"),
        )
    ]
    rows = [make_element("tr", *head)]
    labels = trace.fields[trace.output.field].labels
    output = trace.output
    for item, likely in enumerate(output.probabilities[:ROWS].tolist()):
        rows.append(
            _render_row(item + 1, labels[item], likely, output.alternatives[item], language)
        )
    count = len(output.probabilities)
    title = translate("Probability of every item", language)
    if count > ROWS:
        title += " " + translate(
            "(the first {shown} of {count})", language, shown=ROWS, count=count
        )
    table = make_element("div", make_element("table", *rows), class_="scrolled")
    return make_element("details", make_element("summary", title), table)


def _render_row(
    position: int,
    label: str,
    likely: float,
    alternatives: Sequence[tuple[str, float]],
    language: str,
) -> Markup:
    others = [
        f"{show_invisibles(other)} {use_decimal_mark(f'{share:.1%}', language)}"
        for other, share in alternatives
        if other != label
    ]
    sure = make_element(
        "span",
        use_decimal_mark(f"{likely:.1%}", language),
        class_=f"u{_find_uncertainty_level(likely)}",
    )
    return make_element(
        "tr",
        make_element("td", f"{position}", class_="number"),
        make_element("td", show_invisibles(label)),
        make_element("td", sure, class_="number"),
        make_element("td", ",  ".join(others[:OTHERS])),
    )


def run_details(trace: Trace, language: str) -> Markup:
    """Return a table of the details of the run."""
    rows = []
    for name, value in trace.details.items():
        if value:
            rows.append(
                make_element("tr", make_element("th", name, scope="row"), make_element("td", value))
            )
    if not rows:
        return Markup()
    return make_element(
        "details",
        make_element("summary", translate("About this run", language)),
        make_element("table", *rows),
    )


def explain_components(kinds: Sequence[str], language: str) -> Markup:
    """Explain what these components show and how to use them."""
    sentences = [KINDS[kind].how_to_read for kind in kinds if KINDS[kind].how_to_read]
    if "ribbon" in kinds or "grid" in kinds:
        sentences.append(KEYS)
    said = [make_element("p", translate(text, language)) for text in (*sentences, CAVEAT)]
    return make_element("div", *said, class_="aside")


def make_title(trace: Trace, options: PageOptions) -> str:
    """Return the title in the options, or a title with the model's name."""
    if title := escape_controls(options.title.strip()):
        return title
    what = message("What {model} attended to")
    return translate(what, options.language, model=trace.request.model)
