"""Questions whose answers are read from runs of models, and the runs that they need.

The runs for the debate come first, then one section for each question. The last section stores
all runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.app.examples import EXAMPLES
from areaviz.app.key_forms import LETTERS_TABLE, TITLES, FormRow, read_forms
from areaviz.app.run import get_backend
from areaviz.backend.backend import Backend
from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS
from areaviz.draw.pictures import encode_matrix, to_data_uri
from areaviz.learn.question_data import (
    QuestionData,
    Texts,
    list_word_items,
    list_word_texts,
    make_bar,
    to_percent,
)
from areaviz.learn.tour import get_span_text, list_top_areas
from areaviz.measures.references import find_boundary_hits
from areaviz.samples.own_media import (
    SOUND_SAMPLES,
    find_scene_sample,
    get_picture_sample,
    get_sound_sample,
)
from areaviz.samples.paths import HERO
from areaviz.samples.scenes import Scene
from areaviz.trace import file
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.changes import Hide, Weigh
from areaviz.trace.errors import BackendError
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.trace.request import RATE, Request
from areaviz.views.message import SITE

# Three runs for the debate: unchanged, with an area banned, and with a word hidden.
#
# The changed runs are computed with the model of the sentence. No result is written down here.


DEBATED_TEXT = "A young woman in a blue dress is reading a book."
HIDDEN_WORD, DEBATED_LAYER = "young", 0
"""The word to hide, and the layer whose heads are compared."""


@dataclass(frozen=True, slots=True, eq=False)
class DebateRuns:
    """A translation as it is, with an area banned, and with a word hidden.

    Args:
        plain: the trace without a change.
        item: the output item whose area is banned, counted from 0.
        area: the area that most heads of the layer take for it.
        takers: the number of these heads.
        banned: the trace with the area banned at every layer and head of the site.
        hidden: the trace with the word hidden.
    """

    plain: Trace
    item: int
    area: Area
    takers: int
    banned: Trace
    hidden: Trace

    @property
    def word(self) -> str:
        """The output word whose area is banned."""
        return self.plain.fields[self.plain.output.field].labels[self.item].strip()

    @property
    def span(self) -> str:
        """The words of the banned area."""
        return get_span_text(self.plain.fields[self.plain.maps[SITE].memory], self.area)


def run_debate(backend: Backend, model: str) -> DebateRuns:
    """Run the three translations with a translator that attends to areas.

    Raises:
        InputError: the model cannot be changed in this way.
        BackendError: the model is missing.
    """
    request = Request(model, DEBATED_TEXT)
    plain = backend.trace(request)
    attention = plain.maps[SITE]
    memory = plain.fields[attention.memory]
    hidden_item = [label.strip() for label in memory.labels].index(HIDDEN_WORD)
    item, area, takers = _find_most_agreed_item(plain, hidden_item)
    ban = Weigh(SITE, areas=(area,))
    hide = Hide(attention.memory, (hidden_item,))
    banned = backend.trace(replace(request, changes=(ban,)))
    hidden = backend.trace(replace(request, changes=(hide,)))
    return DebateRuns(plain, item, area, takers, banned, hidden)


def get_output_text(trace: Trace) -> str:
    """Return the text that a trace's model wrote."""
    return trace.fields[trace.output.field].raw


def _find_most_agreed_item(trace: Trace, inside: int) -> tuple[int, Area, int]:
    """Return the item for which most heads take one area of several words with `inside` in it."""
    attention = trace.maps[SITE]
    found: Counter[tuple[int, Area]] = Counter()
    for item in range(len(trace.fields[attention.query])):
        for top in list_top_areas(attention, DEBATED_LAYER, item):
            area = top.area
            if area.width > 1 and area.left <= inside < area.left + area.width:
                found[item, area] += 1
    (item, area), takers = found.most_common(1)[0]
    return item, area, takers


# Question 1: which words does one head attend to as one area when the model writes a word?


def make_first_span_question(texts: Texts) -> QuestionData:
    """Ask which words one head attends to as one area when the model writes a word."""
    trace = file.load(HERO)
    found = trace.maps[SITE]
    written, read = trace.fields[found.query], trace.fields[found.memory]
    layer, head = EXAMPLES[0].focus.layer, EXAMPLES[0].focus.head or 0
    weights_QA = np.asarray(found.weights[layer, head], dtype=float)
    query = _find_clearest_phrase(weights_QA, found.grid, written, read)
    weights = weights_QA[query]
    number = int(weights.argmax())
    area = found.grid.area(number)
    words = list_word_items(read)
    within = set(range(area.left, area.left + area.width))
    held = [place for place, items in enumerate(words) if within & set(items)]
    texts_read = list_word_texts(read)
    asked = list_word_items(written)
    numbers = {
        "written": list_word_texts(written),
        "now": next(place for place, items in enumerate(asked) if query in items),
        "read": texts_read,
        "answer": [held[0], held[-1]],
        "captions": [texts["written"], texts["read"]],
    }
    return QuestionData(
        numbers,
        {
            "word": written.labels[query],
            "head": head + 1,
            "layer": layer + 1,
            "span": " ".join(texts_read[held[0] : held[-1] + 1]),
            "percent": to_percent(float(weights[number])),
            "areas": found.grid.count,
            "longest": found.grid.max_width,
            "pieces": texts["pieces"] if len(read.labels) > len(words) else "",
        },
        {"length": 4, "longest": 3},
    )


def _find_clearest_phrase(
    weights_QA: npt.NDArray[np.floating], grid: AreaGrid, written: Field, read: Field
) -> int:
    """Return the index of the written word whose top area has several words and most weight.

    Raises:
        ValueError: The top areas of all written words are single words.
    """
    found: list[tuple[float, int]] = []
    for items in list_word_items(written):
        query = items[0]
        number = int(weights_QA[query].argmax())
        area = grid.area(number)
        labels = read.labels[area.left : area.left + area.width]
        are_words = all(label.isalnum() for label in labels)
        if len(items) == 1 and written.labels[query].isalnum() and len(labels) > 1 and are_words:
            found.append((float(weights_QA[query, number]), query))
    if not found:
        raise ValueError("No word of the sentence on Home attends to several words as one.")
    return max(found)[1]


# Question 2: which rectangle of a picture does one head attend to when the model writes a word?


PICTURE = "scene-34"
"""The picture. The page Caption first shows it, with a right sentence."""


@dataclass(frozen=True, slots=True)
class Look:
    """A head whose top area for a word is a rectangle on the object that the word describes.

    Args:
        weight: the weight of the rectangle.
        layer, head, query: the indices of the layer, the head and the word's item, from 0.
        area: the rectangle.
    """

    weight: float
    layer: int
    head: int
    query: int
    area: Area


def make_rectangle_request() -> Request:
    """Return the request whose trace the question needs."""
    return Request(TASKS["caption"].opens, "", picture=get_picture_sample(PICTURE))


def make_rectangle_question(texts: Texts) -> QuestionData:
    """Ask which rectangle one head attends to when the model writes a word."""
    trace = get_backend().trace(make_rectangle_request())
    found = trace.maps[SITE]
    look = find_clearest_look(trace)
    area, grid = look.area, found.grid
    numbers = {
        "picture": to_data_uri(get_picture_sample(PICTURE).pixels),
        "rows": grid.height,
        "columns": grid.width,
        "most": [grid.max_height, grid.max_width],
        "answer": [area.top, area.left, area.height, area.width],
        "cell": texts["cell"],
        "alt": texts["alt"],
    }
    words = {
        "sentence": trace.fields[trace.output.field].raw,
        "word": trace.fields[found.query].labels[look.query].strip(),
        "head": look.head + 1,
        "layer": look.layer + 1,
        "percent": to_percent(look.weight),
        "high": area.height,
        "wide": area.width,
        "most_high": grid.max_height,
        "most_wide": grid.max_width,
        "rows": grid.height,
        "columns": grid.width,
        "areas": grid.count,
    }
    return QuestionData(numbers, words, {"height": 3, "width": 3, "tallest": 2, "widest": 2})


def find_clearest_look(trace: Trace) -> Look:
    """Return the head whose rectangle on the right object has the largest weight.

    Raises:
        ValueError: No head has such a rectangle as its top area.
    """
    scene = find_scene_sample(PICTURE)
    found = trace.maps[SITE]
    looks = list(_iterate_looks(found, trace.fields[found.query], scene)) if scene else []
    if not looks:
        raise ValueError("No head takes a rectangle on the thing that it writes of.")
    return max(looks, key=lambda look: look.weight)


def _iterate_looks(found: AttentionMap, written: Field, scene: Scene) -> Iterator[Look]:
    """Yield the heads whose top area has several rows and columns, all on the right object."""
    boxes = {}
    for thing in scene.objects:
        boxes[thing.colour] = thing.box
    for query, label in enumerate(written.labels):
        box = boxes.get(label.strip())
        if box is None:
            continue
        for layer in range(found.layers):
            for head in range(found.heads):
                weights = np.asarray(found.weights[layer, head, query], dtype=float)
                area = found.grid.area(int(weights.argmax()))
                if area.height > 1 and area.width > 1 and lies_on(area, found.grid, box):
                    yield Look(float(weights.max()), layer, head, query, area)


def lies_on(area: Area, grid: AreaGrid, box: tuple[float, float, float, float]) -> bool:
    """Return whether every cell of an area touches a box.

    Args:
        area: a rectangle of cells.
        grid: the cells.
        box: left, top, right, bottom as shares of the picture's sides.
    """
    left, top, right, bottom = box
    rows = area.top + 1 > top * grid.height and area.top + area.height - 1 < bottom * grid.height
    columns = area.left + 1 > left * grid.width and area.left + area.width - 1 < right * grid.width
    return rows and columns


# Question 8: which of four forms of attention learns best?


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


def make_worth_question(texts: Texts) -> QuestionData:
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


# Question 10: which of two speech recognisers with equal error rates attends to the spoken digit?
#
# The texts call such a model a listener.


SOUND = "digits-repeats"
LISTENERS = ("speech-content", "speech-hybrid")
"""The two models. They differ only in how they score a moment of the recording.

Both write the digits of the recording without an error.
"""


def list_listener_requests() -> list[Request]:
    """Return the requests whose traces the question needs."""
    return [Request(model, "", sound=get_sound_sample(SOUND)) for model in LISTENERS]


def make_listeners_question(texts: Texts) -> QuestionData:
    """Ask how often each listener attends to the digit that it writes."""
    traces = [get_backend().trace(request) for request in list_listener_requests()]
    hits = [sum(find_attended_digits(trace)) for trace in traces]
    digits = len(SOUND_SAMPLES[SOUND].text)
    numbers: dict[str, Any] = {
        "names": [texts["content"], texts["hybrid"]],
        "least": 0,
        "most": digits,
        "answer": hits,
        "strips": [_make_strip(trace, texts) for trace in traces],
    }
    words: dict[str, object] = {"digits": digits, "text": " ".join(SOUND_SAMPLES[SOUND].text)}
    for name, card, hit in zip(("content", "hybrid"), _read_cards(), hits, strict=True):
        test = card.figures["test"]
        words[f"{name}_hits"] = hit
        words[f"{name}_error"] = f"{100 * test['error']:.1f}"
        words[f"{name}_share"] = f"{100 * test['hit']:.1f}"
    heard = []
    for trace, strip in zip(traces, numbers["strips"], strict=True):
        heard.append({"name": strip["name"], "weights": _read_weights(trace).round(4).tolist()})
    deep = {
        "text": SOUND_SAMPLES[SOUND].text,
        "listeners": heard,
        "spoken": numbers["strips"][0]["spoken"],
    }
    return QuestionData(numbers, words, deep)


def find_attended_digits(trace: Trace) -> list[bool]:
    """Return for every written digit whether the moment with the largest weight is within it."""
    weights_TM = _read_weights(trace)
    sample = SOUND_SAMPLES[SOUND]
    bounds = [
        (round(RATE * start), round(RATE * end))
        for start, end in zip(sample.starts, sample.ends, strict=True)
    ]
    anchors = trace.fields[trace.maps[SITE].memory].anchors
    return find_boundary_hits(weights_TM, bounds, int(anchors[0][1] - anchors[0][0]))


def _read_weights(trace: Trace) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return the weights of M moments for each of T digits: [T, M].

    The output's end is left out.
    """
    weights = np.asarray(trace.maps[SITE].weights[0, 0], dtype=np.float32)
    return weights[: len(SOUND_SAMPLES[SOUND].text)]


def _make_strip(trace: Trace, texts: Texts) -> dict[str, object]:
    """Return a listener's weights as a picture, with the positions of the spoken digits below it.

    Positions are shares of the recording's length.
    """
    weights_TM = _read_weights(trace)
    anchors = trace.fields[trace.maps[SITE].memory].anchors
    length = float(anchors[-1][1]) / RATE
    sample = SOUND_SAMPLES[SOUND]
    spoken = []
    for digit, start, end in zip(sample.text, sample.starts, sample.ends, strict=True):
        spoken.append([digit, start / length, (end - start) / length])
    name = texts["content" if trace.request.model == LISTENERS[0] else "hybrid"]
    return {
        "name": name,
        "alt": texts["strip"].format(listener=name),
        "picture": encode_matrix(weights_TM, float(weights_TM.max())),
        "rows": list(sample.text),
        "spoken": spoken,
        "hits": find_attended_digits(trace),
    }


def _read_cards() -> Sequence[Card]:
    """Return the cards of the two listeners.

    Raises:
        BackendError: One of them is not installed.
    """
    known = get_backend().models()
    missing = [model for model in LISTENERS if model not in known]
    if missing:
        raise BackendError(f"The model {missing[0]} is not installed. Install areaviz again.")
    return [known[model] for model in LISTENERS]


# Question 13: is attention a reason for the output?
#
# The translator runs with an area banned, and with a word hidden.


def load_changed_runs() -> DebateRuns:
    """Return the translation unchanged, with an area banned, and with a word hidden."""
    return run_debate(get_backend(), TASKS["translation"].opens)


def make_reason_question(texts: Texts) -> QuestionData:
    """Ask what a translator writes if it must not attend to an area that many heads attend to.

    Raises:
        ValueError: The ban changes the output, or hiding the word does not change it.
    """
    found = load_changed_runs()
    plain, hidden = get_output_text(found.plain), get_output_text(found.hidden)
    if get_output_text(found.banned) != plain or hidden == plain:
        raise ValueError("The ban must keep the output, and hiding the word must change it.")
    options = [plain, hidden, texts["nothing"]]
    words = {
        "text": found.plain.request.text,
        "word": found.word,
        "span": found.span,
        "takers": found.takers,
        "heads": found.plain.maps[SITE].heads,
        "layer": DEBATED_LAYER + 1,
        "hidden_word": HIDDEN_WORD,
        "hidden": hidden,
        "sure": f"{100 * _get_probability(found.plain, found.item):.0f}",
        "banned_sure": f"{100 * _get_probability(found.banned, found.item):.0f}",
    }
    after = [
        make_bar(texts["as_it_is"].format(**words), _get_probability(found.plain, found.item), 2),
        make_bar(texts["with_ban"].format(**words), _get_probability(found.banned, found.item), 2),
    ]
    runs = {"nothing": found.plain, "ban": found.banned, "hide": found.hidden}
    deep = [
        {"name": texts[f"deep_{name}"].format(**words), "words": _list_pieces(trace)}
        for name, trace in runs.items()
    ]
    read = found.plain.fields[found.plain.maps[SITE].memory]
    within = set(range(found.area.left, found.area.left + found.area.width))
    banned = [place for place, items in enumerate(list_word_items(read)) if within & set(items)]
    numbers = {
        "read": list_word_texts(read),
        "banned": [banned[0], banned[-1]],
        "captions": [texts["read"], texts["written"]],
        "after": after,
        "answer": 0,
        "options": options,
    }
    return QuestionData(numbers, words, {"runs": deep})


def _get_probability(trace: Trace, item: int) -> float:
    """Return the probability of an output item."""
    return float(trace.output.probabilities[item])


def _list_pieces(trace: Trace) -> list[list[object]]:
    """Return the tokens of an output, each with its probability."""
    labels = trace.fields[trace.output.field].labels
    sure = trace.output.probabilities.tolist()
    return [[label.strip(), one] for label, one in zip(labels, sure, strict=True)]


# The runs of models that questions need. They are stored with the first views of the pages.


def list_stored_requests() -> list[Request]:
    """Return the requests that do not depend on another run."""
    translator = Request(TASKS["translation"].opens, DEBATED_TEXT)
    return [make_rectangle_request(), *list_listener_requests(), translator]


def store_runs(backend: Backend) -> None:
    """Run all requests that the questions need.

    Args:
        backend: a backend that stores its runs.
    """
    for request in list_stored_requests():
        backend.trace(request)
    run_debate(backend, TASKS["translation"].opens)
