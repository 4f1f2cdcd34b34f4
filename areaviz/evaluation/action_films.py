"""Evaluation of video captioners on held-out films of people, for the figures of their cards.

The data does not say when in a film a word applies. Attention is therefore judged by its effect:
how much less probable a given sentence becomes without the frames that have most attention. Shapes:
F frames, T words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from areaviz.data.jhmdb import Film, read_films, read_frames
from areaviz.evaluation.measure import Measured, Options
from areaviz.metrics.action_classifier import ActionClassifier
from areaviz.models.generation import GenerationModel
from areaviz.models.recurrent import RECURRENT_SITE
from areaviz.samples.dataset import FUNCTION_WORDS
from areaviz.trace.changes import Hide
from areaviz.trace.query import item_shares, query_dependence
from areaviz.trace.record import Trace
from areaviz.trace.request import Clip, Request

HIDDEN_FRAMES = 3
"""Number of frames that are hidden at once."""
RANDOM_DRAWS = 3
"""Number of random choices of frames per film."""


def evaluate_films(model: GenerationModel, data: Path, split: str, options: Options) -> Measured:
    """Measure a video captioner of people on "val" or "test".

    The figures are those of `score_sentences`. With the suffix `_common` they are the scores of the
    most frequent training sentence. With `_other` they are the scores of the sentence that the
    model wrote for the next film with another action. "nats" is the loss per known token of the
    reference sentence. "nats_other" is this loss with the frames of the other film.
    "action_reference" is how often the reference sentences name the right action by the classifier
    that judges the model.
    """
    films = read_films(data, split)
    clips = [Clip.of("film", pixels) for pixels in read_frames(data, films)]
    name, how = model.card.name, (options.method, options.beam)
    written = model.generate_outputs([Request(name, "", *how, clip=clip) for clip in clips])
    trained = read_films(data, "train")
    told = ActionClassifier([film.text for film in trained], [film.action for film in trained])
    common = Counter(film.text for film in trained).most_common(1)[0][0]
    others = find_next_of_another_action(films)
    figures = {
        **score_sentences(written, films, told),
        **_add_suffix(score_sentences([common] * len(films), films, told), "_common"),
        **_add_suffix(score_sentences([written[other] for other in others], films, told), "_other"),
        "action_reference": score_sentences([film.text for film in films], films, told)["action"],
        "clips": len(films),
    }
    given = []
    for film, clip in zip(films, clips, strict=True):
        given.append(Request(name, "", clip=clip, target=film.text))
    traces = _trace_one_by_one(model, given)
    swapped = [replace(one, clip=clips[other]) for one, other in zip(given, others, strict=True)]
    figures["nats"] = -_average_log_probability(traces)
    figures["nats_other"] = -_average_log_probability(_trace_one_by_one(model, swapped))
    attention = {}
    if model.network.config.layers and options.traces:
        attention[f"{RECURRENT_SITE}, {split}"] = measure_attention(model, traces[: options.traces])
    return Measured(figures, attention, outputs=written)


def score_sentences(
    written: Sequence[str], films: Sequence[Film], told: ActionClassifier
) -> dict[str, float]:
    """Return the scores of `score_captions` that are reported, and two further ones.

    "words" is the share of content words of the references that occur anywhere in the output.
    "action" is the share of outputs from which a classifier reads the right action.
    """
    from areaviz.measures.references import score_captions

    scored = score_captions(written, [(film.text,) for film in films])
    found = {name: float(scored[name]) for name in ("bleu_1", "bleu_4", "rouge_l", "cider_d")}
    right, actions = [], []
    for text, film in zip(written, films, strict=True):
        own = set(text.split())
        right += [word in own for word in film.text.split() if word not in FUNCTION_WORDS]
        actions.append(told.told(text) == film.action)
    return {**found, "words": float(np.mean(right)), "action": float(np.mean(actions))}


def find_next_of_another_action(films: Sequence[Film]) -> list[int]:
    """Return for each film the index of the next film with another action.

    The search continues at the start of the list. If all films have one action, the index is that
    of the film itself.
    """
    found = []
    for number, film in enumerate(films):
        after = [*range(number + 1, len(films)), *range(number)]
        others = [other for other in after if films[other].action != film.action]
        found.append(others[0] if others else number)
    return found


def measure_attention(model: GenerationModel, traces: Sequence[Trace]) -> dict[str, float]:
    """Measure the effect of hiding frames on given reference sentences.

    "fall" is the fall of a token's log-probability in nats if the `HIDDEN_FRAMES` frames with most
    attention over the whole sentence are hidden. "fall_random" hides random frames and "fall_least"
    those with least attention. "multi_share" is the share of words whose top area has several
    frames. "dependence" is the mutual information of word and frame in bits.
    """
    rng = np.random.default_rng(0)
    most, least, chance, bits, multi = [], [], [], [], []
    for trace in traces:
        attention = trace.maps[RECURRENT_SITE]
        shares_TF = item_shares(attention, 0, None)
        order = np.argsort(-shares_TF.mean(0), kind="stable").tolist()
        most.append(_remove_frames(trace, order[:HIDDEN_FRAMES]))
        least.append(_remove_frames(trace, order[-HIDDEN_FRAMES:]))
        for _ in range(RANDOM_DRAWS):
            chance.append(
                _remove_frames(trace, rng.choice(len(order), HIDDEN_FRAMES, replace=False).tolist())
            )
        bits.append(query_dependence(shares_TF)[0])
        heaviest_T = attention.weights[0].mean(0).argmax(1).tolist()
        multi += [attention.grid.area(area).width > 1 for area in heaviest_T]
    base = _average_log_probability(traces)
    return {
        "fall": base - _average_log_probability(_trace_one_by_one(model, most)),
        "fall_random": base - _average_log_probability(_trace_one_by_one(model, chance)),
        "fall_least": base - _average_log_probability(_trace_one_by_one(model, least)),
        "taken": HIDDEN_FRAMES,
        "multi_share": float(np.mean(multi)),
        "dependence": float(np.mean(bits)),
        "clips": len(traces),
    }


def _trace_one_by_one(model: GenerationModel, requests: Sequence[Request]) -> list[Trace]:
    """Trace requests one by one, because a batch may only have requests with the same changes."""
    return [model.trace([request])[0] for request in requests]


def _remove_frames(trace: Trace, frames: Sequence[int]) -> Request:
    return replace(trace.request, changes=(Hide("clip", tuple(sorted(frames))),))


def _average_log_probability(traces: Sequence[Trace]) -> float:
    """Return the mean log-probability of a token in nats, over a film's tokens and then over films.

    Words that do not occur in training are left out, because no network can write them.
    """
    found = []
    for trace in traces:
        likely_T = trace.output.probabilities.astype(np.float64)
        found.append(float(np.log(likely_T[likely_T > 0]).mean()))
    return float(np.mean(found))


def _add_suffix(figures: Mapping[str, float], suffix: str) -> dict[str, float]:
    return {f"{name}{suffix}": value for name, value in figures.items()}
