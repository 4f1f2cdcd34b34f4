"""Lesson 8: what areas are worth, by what six forms of attention learned from the same sentences.

The figures are those of `checkpoints/tables/letters.json`, read when the page runs.
"""

from __future__ import annotations

from statistics import mean

import streamlit as st
from plotly.graph_objects import Figure

from areaviz.drawing.base import Row, Table
from areaviz.drawing.numbers import number_text
from areaviz.evaluation.form_tables import LETTERS_TABLE, TITLES
from areaviz.evaluation.forms import FormRow, missing, read_forms
from areaviz.lessons.page_parts import as_table, columns, picture
from areaviz.lessons.pictures import BLUE, GREEN, GREY, ORANGE, VERMILION, axes_layout, dots, lines
from areaviz.ui.shell.frame import page_link

SHORT = {
    "regular": "regular",
    "convolution": "convolution",
    "mean": "areas: mean keys",
    "features": "areas: features",
    "boundary": "areas: boundary keys",
    "convolution-boundary": "boundary + convolution",
}
"""What a form is called beside an axis."""
CHANGES = {
    "mean": "areas that have mean keys",
    "boundary": "areas that have boundary keys",
    "convolution": "no areas, but a convolution of five neighbours over keys and values",
    "convolution-boundary": "both boundary keys and the convolution",
}
"""What a form has that regular attention has not."""
SITES = {"encoder self": BLUE, "encoder-decoder": ORANGE}
"""Where spans are counted, and the colour of each."""


@st.fragment
def show() -> None:
    """The losses and the spans of all forms, and what they say together."""
    rows = read_forms(LETTERS_TABLE)
    if not any(row.seeds for row in rows):
        st.info("The figures of this lesson come with the repository and are not installed here.")
        return
    forms = dict(zip(TITLES, rows, strict=True))
    left, right = columns()
    with left:
        question = "Which form learns best? Validation loss of every run, a dot a seed."
        picture(loss_figure(forms), "worth-loss", question)
        question = "Does a span win? The share of queries with two letters or more on top."
        picture(span_figure(forms), "worth-spans", question)
    with right:
        st.markdown(
            "**Six networks for letters** of one size, taught by the same sentences for equally"
            " long. They differ in their keys alone. Two questions, two answers."
        )
        st.markdown(learns(forms))
        st.markdown(shows(forms))
        st.markdown(
            "So areas are worth what one can **see** with them: with keys that let a span win, a"
            " map shows spans, and over subwords phrases. To learn faster, mixing neighbours does"
            " as well without any area, and costs less."
        )
        st.caption(missing(LETTERS_TABLE, rows))
        page_link("pages/models.py", "The whole table")
    as_table(table(forms), "worth")


def learns(forms: dict[str, FormRow]) -> str:
    """What the losses say: each form against regular attention, seed by seed."""
    parts = ["**Do they learn faster?** Against regular attention with the same seed, the loss is"]
    for form, words in CHANGES.items():
        differences = forms[form].differences
        if differences:
            seeds = f"{len(differences)} seed{'s' if len(differences) > 1 else ''}"
            change = number_text(mean(differences), "+.3f")
            parts.append(f"- **{change}** with {words} ({seeds})")
    return "\n".join(parts)


def shows(forms: dict[str, FormRow]) -> str:
    """What is on top: with mean keys, and with boundary keys."""
    spans = forms["boundary"].spans
    words = "**Do spans show?** With mean keys never: no span is on top of any query (lesson 6)."
    if set(SITES) <= set(spans):
        one, two = (spans[site] for site in SITES)
        words += (
            f" With boundary keys, in one head of the encoder, for {one.multi_share:.0%} of the"
            f" queries; between encoder and decoder for {two.multi_share:.0%}, and there these"
            f" spans are exactly a word {two.exact_lift:.1f} times as often as by chance."
        )
    return words


def loss_figure(forms: dict[str, FormRow]) -> Figure:
    """Which form learns best? A dot for each seed, a line for the mean, lower is better."""
    data = []
    for place, form in enumerate(forms):
        losses, colour = forms[form].losses, _colour(form)
        data.append(dots(list(losses), [place] * len(losses), SHORT[form], colour, 9))
        if losses:
            middle = [mean(losses)] * 2
            data.append(lines(middle, [place - 0.3, place + 0.3], colour, 2, hoverinfo="skip"))
    layout = axes_layout(250, "nats a letter, lower is better", "", 0)
    return _by_form(Figure(data=data, layout=layout), forms)


def span_figure(forms: dict[str, FormRow]) -> Figure:
    """Does a span win? A bar for each site, 0 where no head has spans on top."""
    data = []
    for site, colour in SITES.items():
        shares = []
        for row in forms.values():
            shares.append(100 * row.spans[site].multi_share if site in row.spans else 0)
        bar = {
            "type": "bar",
            "orientation": "h",
            "name": site,
            "x": shares,
            "y": list(range(len(forms))),
            "marker": {"color": colour},
            "text": ["" if share else "never" for share in shares],
            "textposition": "outside",
            "hovertemplate": f"{site}: %{{x:.0f}} %<extra></extra>",
        }
        data.append(bar)
    layout = axes_layout(280, "queries with a span on top (%)", "")
    figure = Figure(data=data, layout=layout | {"barmode": "group"})
    return _by_form(figure.update_xaxes(range=[0, 100]), forms)


def _by_form(figure: Figure, forms: dict[str, FormRow]) -> Figure:
    """The forms down the left side, the first on top."""
    names = [SHORT[form] for form in forms]
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=names,
        range=[len(names) - 0.5, -0.5],
        automargin=True,
    )
    return figure.update_layout(showlegend=figure.layout.barmode == "group")


def _colour(form: str) -> str:
    colours = {"regular": GREY, "convolution": VERMILION, "convolution-boundary": GREEN}
    return colours.get(form, BLUE)


def table(forms: dict[str, FormRow]) -> Table:
    """One line a form: its seeds, losses, and the share of queries with a span on top."""
    rows: list[Row] = []
    for row in forms.values():
        shares = [
            f"{row.spans[site].multi_share:.0%}" if site in row.spans else "–" for site in SITES
        ]
        losses = ", ".join(f"{loss:.3f}" for loss in row.losses)
        rows.append((row.title, len(row.seeds), losses, *shares))
    return Table(("form", "seeds", "validation losses", *SITES), rows)
