"""Why to doubt what a model wrote: what it was asked, and how sure it was, beside what it knows."""

from __future__ import annotations

import numpy as np

from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS
from areaviz.data.clip_samples import SAMPLES as CLIPS
from areaviz.data.language import reads_as_german
from areaviz.data.sound_samples import SAMPLES as RECORDINGS
from areaviz.trace.query import is_one_text
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.forms.model_choice import mismatch

UNSURE = 0.5
"""A mean probability below it is said to be unsure."""
SURPRISED = 5.0
"""How many times less probable than held-out texts a text is, piece by piece, to be told of."""
LEAST_ADVANTAGE = 0.05
"""How much more often a head has to point right than fixed places do, not to be warned of."""


def doubts(card: Card | None, trace: Trace) -> list[str]:
    """One sentence for each reason to doubt a run; of a model without a card, what can be said."""
    reasons = []
    if card is not None:
        reasons += [mismatch(card, trace.request.picture), attention_doubt(card)]
        if is_strange(trace.request):
            reasons.append(card.limits)
    reads_english = card is None or card.recipe.get("source", "en") == "en"
    if reads_english and reads_as_german(trace.request.text):
        reasons.append("This reads like German, but the model reads English.")
    if len(trace.output.probabilities) and (unsure := _unsure(card, trace)):
        knows = f" {first_sentence(card.limits)}" if card and card.limits not in reasons else ""
        reasons.append(f"{unsure}{knows}")
    return [reason for reason in reasons if reason]


def _unsure(card: Card | None, trace: Trace) -> str:
    """A sentence where a model finds its output, or the text it reads, improbable; "" else.

    No text is probable to a language model, piece by piece: what counts is what others have.
    """
    likely = mean_probability(trace)
    if not is_one_text(trace):
        if likely >= UNSURE:
            return ""
        return f"The model is unsure: its mean probability is below {UNSURE}."
    figures = card.figures.get(TASKS[card.task].headline, {}) if card else {}
    usual = figures.get("perplexity")
    if usual is None or likely * usual * SURPRISED >= 1:
        return ""
    return (
        "This text is unlike what the model knows: the mean probability of a piece is"
        f" {likely:.4f}, of held-out texts {1 / usual:.3f}."
    )


def is_strange(request: Request) -> bool:
    """Whether it has a sound or a clip of the reader's own, of which nothing is known."""
    sound, clip = request.sound, request.clip
    is_own_sound = sound is not None and sound.name not in RECORDINGS
    return is_own_sound or (clip is not None and clip.name not in CLIPS)


def mean_probability(trace: Trace) -> float:
    """The geometric mean of the probabilities of the output's items."""
    likely = np.maximum(trace.output.probabilities, 1e-12)
    return float(np.exp(np.log(likely).mean()))


def first_sentence(text: str) -> str:
    """What stands before the first full stop, with it."""
    before, stop, _ = text.partition(". ")
    return before + stop.strip()


def attention_doubt(card: Card) -> str:
    """A sentence where attention points no better than fixed places do; else ""."""
    measured = card.attention.get("encoder-decoder, test", {})
    if not {"pointing", "pointing_position", "words"} <= measured.keys():
        return ""
    own, fixed = measured["pointing"], measured["pointing_position"]
    middle = measured.get("pointing_middle", 0.0)
    if own - max(fixed, middle) >= LEAST_ADVANTAGE:
        return ""
    doubt = (
        f"The maps of this model do not show where it found a word. Over {int(measured['words']):,}"
        f" words of held-out {card.pictures or 'pictures'}, its best head points at what the word"
        f" names for {own:.0%} of them; the same places, whatever the picture, do so for"
        f" {fixed:.0%}"
    )
    return doubt + (f", the middle of the picture for {middle:.0%}." if middle else ".")
