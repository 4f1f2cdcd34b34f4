"""Question 2: which rectangle of a picture does one head attend to when the model writes a word?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from areaviz.app.run import get_backend
from areaviz.cards.tasks import TASKS
from areaviz.draw.pictures import to_data_uri
from areaviz.lessons.ask.question_parts import QuestionData, Texts, to_percent
from areaviz.samples.own_media import find_scene_sample, get_picture_sample
from areaviz.samples.scenes import Scene
from areaviz.show.message import SITE
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.trace.request import Request

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


def make_request() -> Request:
    """Return the request whose trace the question needs."""
    return Request(TASKS["caption"].opens, "", picture=get_picture_sample(PICTURE))


def make_question(texts: Texts) -> QuestionData:
    """Ask which rectangle one head attends to when the model writes a word."""
    trace = get_backend().trace(make_request())
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
