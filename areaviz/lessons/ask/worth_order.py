"""Question 8: which of four forms of attention learns best?"""

from __future__ import annotations

from statistics import mean

from areaviz.app.key_forms import LETTERS_TABLE, TITLES, FormRow, read_forms
from areaviz.lessons.ask.question_parts import QuestionData, Texts, make_bar, to_percent
from areaviz.trace.errors import BackendError

FORMS = ("regular", "mean", "boundary", "convolution")
"""The forms of attention to put in order, in the order in which they are shown first."""
SITES = ("encoder self", "encoder-decoder")


def read_key_forms() -> dict[str, FormRow]:
    """Return the results of the four forms.

    Raises:
        BackendError: The table of results is missing.
    """
    rows = dict(zip(TITLES, read_forms(LETTERS_TABLE), strict=True))
    if not all(rows[form].losses for form in FORMS):
        raise BackendError(
            "The results of the character models are not installed. Install areaviz again."
        )
    return {form: rows[form] for form in FORMS}


def make_question(texts: Texts) -> QuestionData:
    """Ask for the order of four forms by their validation loss."""
    rows = read_key_forms()
    losses = {form: mean(row.losses) for form, row in rows.items()}
    best = sorted(FORMS, key=losses.__getitem__)
    numbers = {
        "options": [texts[form] for form in FORMS],
        "answer": [FORMS.index(form) for form in best],
        "place": texts["place"],
        "after": [make_bar(texts[form], losses[form], 3) for form in best],
    }
    words = {
        "seeds": min(len(row.losses) for row in rows.values()),
        "best": texts[best[0]],
        "convolution_less": f"{losses['regular'] - losses['convolution']:.3f}",
        "boundary_less": f"{losses['regular'] - losses['boundary']:.3f}",
        "mean_more": f"{losses['mean'] - losses['regular']:.3f}",
        "spans": to_percent(rows["boundary"].spans[SITES[1]].multi_share),
    }
    return QuestionData(
        numbers,
        words,
        {"forms": [_describe_losses(form, row, texts) for form, row in rows.items()]},
    )


def _describe_losses(form: str, row: FormRow, texts: Texts) -> dict[str, object]:
    """Return the losses of a form, and the share of queries whose top area is a span, by site."""
    shares = [row.spans[site].multi_share for site in SITES if site in row.spans]
    return {"name": texts[form], "losses": list(row.losses), "spans": shares or None}
