"""A watcher of people and held-out films in, the figures of its card out.

Nobody knows when in a film a word is told, so attention is measured by what it is worth: how much
less probable a person's sentence becomes without the frames that have most of it.
Shapes: F frames, T words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from areaviz.data.grounding import FUNCTION_WORDS
from areaviz.data.jhmdb import Film, read_films, read_frames
from areaviz.evaluation.measure import Measured, Options
from areaviz.metrics.captions import caption_scores
from areaviz.metrics.told_actions import ToldActions
from areaviz.models.recurrent import SITE
from areaviz.models.writing import WritingModel
from areaviz.trace.clip import Clip
from areaviz.trace.interventions import Hide
from areaviz.trace.query import item_shares, query_dependence
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

TAKEN = 3
"""How many frames are taken away."""
DRAWS = 3
"""How often as many are picked by chance, for each film."""


def evaluate_films(model: WritingModel, data: Path, split: str, options: Options) -> Measured:
    """Measure a watcher of people on "val" or "test".

    Figures are those of `scores`; the same with `_common` are those of the sentence that stands
    most often in training, with `_other` those of what is written of the next film of another
    action. "nats": of a known token of the person's sentence; "nats_other": with that film's
    frames.
    "action_reference": how often the persons' own sentences tell the action by the same rule.
    """
    films = read_films(data, split)
    clips = [Clip.of("film", pixels) for pixels in read_frames(data, films)]
    name, how = model.card.name, (options.method, options.beam)
    written = model.outputs([Request(name, "", *how, clip=clip) for clip in clips])
    trained = read_films(data, "train")
    told = ToldActions([film.text for film in trained], [film.action for film in trained])
    common = Counter(film.text for film in trained).most_common(1)[0][0]
    others = next_of_another_action(films)
    figures = {
        **scores(written, films, told),
        **_named(scores([common] * len(films), films, told), "_common"),
        **_named(scores([written[other] for other in others], films, told), "_other"),
        "action_reference": scores([film.text for film in films], films, told)["action"],
        "clips": len(films),
    }
    given = []
    for film, clip in zip(films, clips, strict=True):
        given.append(Request(name, "", clip=clip, target=film.text))
    traces = _one_by_one(model, given)
    swapped = [replace(one, clip=clips[other]) for one, other in zip(given, others, strict=True)]
    figures["nats"] = -_likely(traces)
    figures["nats_other"] = -_likely(_one_by_one(model, swapped))
    attention = {}
    if model.network.config.layers and options.traces:
        attention[f"{SITE}, {split}"] = attention_figures(model, traces[: options.traces])
    return Measured(figures, attention, outputs=written)


def scores(written: Sequence[str], films: Sequence[Film], told: ToldActions) -> dict[str, float]:
    """Those of `caption_scores` that count, and two of our own.

    "words": how many telling words of the persons' sentences stand in ours, anywhere. "action": how
    many of our sentences tell the action that is done, by their words.
    """
    scored = caption_scores(written, [(film.text,) for film in films])
    found = {name: float(scored[name]) for name in ("bleu_1", "bleu_4", "rouge_l", "cider_d")}
    right, actions = [], []
    for text, film in zip(written, films, strict=True):
        own = set(text.split())
        right += [word in own for word in film.text.split() if word not in FUNCTION_WORDS]
        actions.append(told.told(text) == film.action)
    return {**found, "words": float(np.mean(right)), "action": float(np.mean(actions))}


def next_of_another_action(films: Sequence[Film]) -> list[int]:
    """For each film the number of the next one whose action is another, the last before the first.

    Where all do the same, the film itself.
    """
    found = []
    for number, film in enumerate(films):
        after = [*range(number + 1, len(films)), *range(number)]
        others = [other for other in after if films[other].action != film.action]
        found.append(others[0] if others else number)
    return found


def attention_figures(model: WritingModel, traces: Sequence[Trace]) -> dict[str, float]:
    """What the frames with most attention are worth to persons' sentences, given word by word.

    "fall": how far the log-probability of a token falls, in nats, when the `TAKEN` frames with most
    attention over the whole sentence are hidden; "fall_random": as many picked by chance;
    "fall_least": those with least. "multi_share": words whose heaviest area has several frames.
    "dependence": bits that the frame tells of the word.
    """
    rng = np.random.default_rng(0)
    most, least, chance, bits, multi = [], [], [], [], []
    for trace in traces:
        attention = trace.maps[SITE]
        shares_TF = item_shares(attention, 0, None)
        order = np.argsort(-shares_TF.mean(0), kind="stable").tolist()
        most.append(_without(trace, order[:TAKEN]))
        least.append(_without(trace, order[-TAKEN:]))
        for _ in range(DRAWS):
            chance.append(_without(trace, rng.choice(len(order), TAKEN, replace=False).tolist()))
        bits.append(query_dependence(shares_TF)[0])
        heaviest_T = attention.weights[0].mean(0).argmax(1).tolist()
        multi += [attention.grid.area(area).width > 1 for area in heaviest_T]
    base = _likely(traces)
    return {
        "fall": base - _likely(_one_by_one(model, most)),
        "fall_random": base - _likely(_one_by_one(model, chance)),
        "fall_least": base - _likely(_one_by_one(model, least)),
        "taken": TAKEN,
        "multi_share": float(np.mean(multi)),
        "dependence": float(np.mean(bits)),
        "clips": len(traces),
    }


def _one_by_one(model: WritingModel, requests: Sequence[Request]) -> list[Trace]:
    """Their traces; together a model runs only requests with the same changes."""
    return [model.trace([request])[0] for request in requests]


def _without(trace: Trace, frames: Sequence[int]) -> Request:
    return replace(trace.request, changes=(Hide("clip", tuple(sorted(frames))),))


def _likely(traces: Sequence[Trace]) -> float:
    """The mean log-probability of a token, in nats: over a film's tokens, then over films.

    Words that training never had are left out: no network writes them, whatever it sees.
    """
    found = []
    for trace in traces:
        likely_T = trace.output.probabilities.astype(np.float64)
        found.append(float(np.log(likely_T[likely_T > 0]).mean()))
    return float(np.mean(found))


def _named(figures: Mapping[str, float], suffix: str) -> dict[str, float]:
    return {f"{name}{suffix}": value for name, value in figures.items()}
