"""Reasons to doubt an output: unusual input and low confidence, compared with the model's card."""

from __future__ import annotations

import numpy as np

from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS
from areaviz.data.language_detection import is_probably_german
from areaviz.samples.own_media import CLIP_SAMPLES as CLIPS
from areaviz.samples.own_media import SOUND_SAMPLES as RECORDINGS
from areaviz.trace.query import is_one_text
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.forms.model_choice import warn_of_picture_type

LOW_CONFIDENCE = 0.5
"""Warn if the mean probability is below this value."""
HIGH_SURPRISE = 5.0
"""Warn if the mean token probability is this many times lower than on held-out text."""
MIN_POINTING_ADVANTAGE = 0.05
"""Warn if a head's share of correct pointing exceeds that of fixed places by less than this."""


def list_output_warnings(card: Card | None, trace: Trace) -> list[str]:
    """Return one sentence per reason to doubt a run. A model without a card allows fewer checks."""
    reasons = []
    if card is not None:
        reasons += [
            warn_of_picture_type(card, trace.request.picture),
            explain_attention_doubt(card),
        ]
        if is_user_upload(trace.request):
            reasons.append(card.limits)
    reads_english = card is None or card.recipe.get("source", "en") == "en"
    if reads_english and is_probably_german(trace.request.text):
        reasons.append("This reads like German, but the model reads English.")
    if len(trace.output.probabilities) and (unsure := _warn_of_low_confidence(card, trace)):
        knows = f" {get_first_sentence(card.limits)}" if card and card.limits not in reasons else ""
        reasons.append(f"{unsure}{knows}")
    return [reason for reason in reasons if reason]


def _warn_of_low_confidence(card: Card | None, trace: Trace) -> str:
    """Return a sentence if the model gives its output, or its input text, a low probability, or "".

    A language model gives the tokens of every text low probabilities. So a text is compared with
    held-out texts.
    """
    likely = compute_mean_probability(trace)
    if not is_one_text(trace):
        if likely >= LOW_CONFIDENCE:
            return ""
        return f"The model is unsure: its mean probability is below {LOW_CONFIDENCE}."
    figures = card.figures.get(TASKS[card.task].headline, {}) if card else {}
    usual = figures.get("perplexity")
    if usual is None or likely * usual * HIGH_SURPRISE >= 1:
        return ""
    return (
        "This text is unlike what the model knows: the mean probability of a piece is"
        f" {likely:.4f}, of held-out texts {1 / usual:.3f}."
    )


def is_user_upload(request: Request) -> bool:
    """Return whether the request has an uploaded sound or clip, about which nothing is known."""
    sound, clip = request.sound, request.clip
    is_own_sound = sound is not None and sound.name not in RECORDINGS
    return is_own_sound or (clip is not None and clip.name not in CLIPS)


def compute_mean_probability(trace: Trace) -> float:
    """Return the geometric mean of the probabilities of the output's items."""
    likely = np.maximum(trace.output.probabilities, 1e-12)
    return float(np.exp(np.log(likely).mean()))


def get_first_sentence(text: str) -> str:
    """Return the text up to and including the first full stop."""
    before, stop, _ = text.partition(". ")
    return before + stop.strip()


def explain_attention_doubt(card: Card) -> str:
    """Return a sentence if attention points no better than fixed places, or ""."""
    measured = card.attention.get("encoder-decoder, test", {})
    if not {"pointing", "pointing_position", "words"} <= measured.keys():
        return ""
    own, fixed = measured["pointing"], measured["pointing_position"]
    middle = measured.get("pointing_middle", 0.0)
    if own - max(fixed, middle) >= MIN_POINTING_ADVANTAGE:
        return ""
    doubt = (
        f"The maps of this model do not show where it found a word. Over {int(measured['words']):,}"
        f" words of held-out {card.pictures or 'pictures'}, its best head points at what the word"
        f" names for {own:.0%} of them. Fixed places, the same in every picture, do so for"
        f" {fixed:.0%}"
    )
    return doubt + (f", the middle of the picture for {middle:.0%}." if middle else ".")
