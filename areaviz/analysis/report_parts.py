"""Building blocks of a report: tables, charts, and examples with marked errors."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

from areaviz.analysis.report_content import SystemOutputs
from areaviz.draw.charts import draw_bars_for_print
from areaviz.draw.labels import Markup, format_three_digits, join_markup, make_element
from areaviz.draw.view import encode_figure
from areaviz.notes.annotations import SEVERITIES
from areaviz.notes.error_spans import OUTPUT, SOURCE, ErrorSpan, Judgement
from areaviz.samples.dataset import Dataset, Example
from areaviz.show.grid.grid import encode_webp

MAX_REFERENCES = 3


def render_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Markup:
    """Return an HTML table with right-aligned numbers."""
    lines = [make_element("tr", *(make_element("th", head, scope="col") for head in columns))]
    for row in rows:
        cells = []
        for cell in row:
            is_number = isinstance(cell, int | float)
            text = format_three_digits(cell) if isinstance(cell, int | float) else str(cell)
            cells.append(make_element("td", text, class_="number" if is_number else "word"))
        lines.append(make_element("tr", *cells))
    return make_element("div", make_element("table", *lines), class_="scrolled")


def render_bar_chart(
    names: Sequence[str], values: Mapping[str, Sequence[float]], axes: tuple[str, str], title: str
) -> Markup:
    """Return a bar chart as an image in the page, or only its title if there is a single bucket."""
    if len(names) < 2:
        return make_element("h3", title)
    drawn = encode_figure(draw_bars_for_print(names, values, axes, title), "svg")
    source = f"data:image/svg+xml;base64,{base64.b64encode(drawn).decode()}"
    return make_element("img", class_="figure", alt=f"{title}, in the table below", src=source)


def render_example_card(
    dataset: Dataset, place: int, systems: Sequence[SystemOutputs], figures: Sequence[str]
) -> Markup:
    """Return an example: its input, every system's output with marked errors, and references.

    Args:
        dataset: the dataset with the example.
        place: the index of the example.
        systems: the systems with their outputs.
        figures: the metrics of each system as text.
    """
    example = dataset.examples[place]
    parts = [make_element("h3", f"Example {example.name}")]
    marks = [one for system in systems for one in system.judged.get(place, ())]
    if example.file:
        parts.append(_render_picture(dataset, example, marks))
    if example.text:
        parts += [
            make_element("p", "Source", class_="label"),
            make_element("p", example.text, class_="text"),
        ]
    for judgement in marks:
        if any(span.side == SOURCE for span in judgement.spans):
            parts.append(make_element("p", f"Source, by {judgement.rater}", class_="label"))
            parts.append(_render_marked_text(judgement.source, judgement.spans, SOURCE))
    for system, measured in zip(systems, figures, strict=True):
        parts += _render_output(system, place, measured)
    for reference in example.references[:MAX_REFERENCES]:
        parts.append(make_element("p", "Reference", class_="label"))
        parts.append(make_element("p", reference, class_="text"))
    return make_element("article", *parts, class_="example")


def _render_output(system: SystemOutputs, place: int, measured: str) -> list[Markup]:
    """Return the output of a system, once per rater if it was rated."""
    row = system.rows[place]
    parts = [make_element("p", f"{system.title} · {measured}", class_="label")]
    judged = system.judged.get(place, ())
    if not judged:
        return [*parts, make_element("p", row.output or row.error or "(nothing)", class_="text")]
    for one in judged:
        score = "" if one.score is None else f", score {format_three_digits(one.score)}"
        about = f"{one.rater}{score}, cost by MQM {format_three_digits(one.mqm)}"
        parts.append(make_element("p", about, class_="label"))
        parts.append(_render_marked_text(one.output, one.spans, OUTPUT))
        errors = [
            make_element("li", one.describe(span), class_=span.severity) for span in one.spans
        ]
        parts += [make_element("ul", *errors)] if errors else []
    return parts


def _render_marked_text(text: str, spans: Sequence[ErrorSpan], side: str) -> Markup:
    """Return a text with the errors of one side marked.

    Where errors overlap, the worst one is shown.
    """
    here = [span for span in spans if span.side == side]
    cuts = sorted({0, len(text), *(span.start for span in here), *(span.end for span in here)})
    parts: list[str] = []
    for start, end in zip(cuts, cuts[1:], strict=False):
        over = [span for span in here if span.start <= start and end <= span.end]
        if over:
            worst = max((span.severity for span in over), key=SEVERITIES.index)
            about = "; ".join(f"{span.severity} {span.category}".strip() for span in over)
            parts.append(make_element("mark", text[start:end], class_=worst, title=about))
        else:
            parts.append(text[start:end])
    return make_element("p", join_markup(parts), class_="text")


def _render_picture(dataset: Dataset, example: Example, marks: Sequence[Judgement]) -> Markup:
    """Return the picture with the boxes of marked errors."""
    picture = dataset.picture(example)
    if picture is None:
        return Markup()
    source = f"data:image/webp;base64,{base64.b64encode(encode_webp(picture).tobytes()).decode()}"
    image = make_element("img", alt=f"The picture of example {example.name}", src=source)
    boxes = []
    for span in (span for one in marks for span in one.spans):
        if span.box:
            left, top, right, bottom = span.box
            size = {"width": f"{right - left:.4f}", "height": f"{bottom - top:.4f}"}
            corner = {"x": f"{left:.4f}", "y": f"{top:.4f}"}
            boxes.append(make_element("rect", class_=span.severity, **corner, **size))
    drawn = make_element("svg", *boxes, viewBox="0 0 1 1", preserveAspectRatio="none")
    return make_element("div", image, drawn, class_="shown")
