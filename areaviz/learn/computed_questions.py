"""Questions whose answers follow from arithmetic alone.

Each section makes the data of one question. No model is run.
"""

from __future__ import annotations

import base64

import numpy as np

from areaviz.learn import arithmetic
from areaviz.learn.arithmetic import (
    REWARDS,
    SCORES,
    Choice,
    compute_area_means,
    compute_area_sums,
    compute_baseline_variance,
    format_number,
    list_areas,
    select_items,
)
from areaviz.learn.question_data import QuestionData, Texts, make_bar
from areaviz.samples.scenes import make_scene
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.request import Picture

# Question 3: what are the key and the value of an area?


ITEMS = (2, 3, 5, 6)
MEMORY = [[1, 2, 3], [4, 5, 6]]
MAX_VALUE = 20
"""The largest number on the line on which readers mark their answer."""


def make_key_and_value_question(texts: Texts) -> QuestionData:
    """Ask for the mean and the sum of an area."""
    items_HWD = np.array(ITEMS, dtype=float)[None, :, None]
    grid = AreaGrid(1, len(ITEMS), 1, len(ITEMS))
    whole = grid.index(Area(0, 0, 1, len(ITEMS)))
    mean = float(compute_area_means(items_HWD, grid)[whole, 0])
    total = float(compute_area_sums(items_HWD, grid)[whole, 0])
    given = [str(item) for item in ITEMS]
    numbers = {
        "given": given,
        "names": [texts["key"], texts["value"]],
        "least": 0,
        "most": MAX_VALUE,
        "answer": [mean, total],
    }
    words = {"items": ", ".join(given), "mean": format_number(mean), "sum": format_number(total)}
    return QuestionData(numbers, words, {"memory": MEMORY})


# Question 4: what is the sum of the shares of attention that the items receive?


QUERY, LONGEST = (1.0, 0.0), 3


def make_shares_question(texts: Texts) -> QuestionData:
    """Ask for the sum of the shares of attention that the items receive."""
    found = arithmetic.attend_spans(np.array(QUERY), LONGEST)
    before = []
    for area, weight in zip(list_areas(found.grid), found.weights, strict=True):
        key = "item" if area.width == 1 else "items"
        place = {"number": area.left + 1, "first": area.left + 1, "last": area.left + area.width}
        before.append(make_bar(texts[key].format(**place), float(weight), 3))
    after = []
    for number, share in enumerate(found.coverage, start=1):
        after.append(make_bar(texts["item"].format(number=number), float(share), 3))
    total = float(found.coverage.sum())
    numbers = {
        "names": [texts["sum"]],
        "least": 0,
        "most": 2,
        "step": 0.05,
        "near": 0.15,
        "before": before,
        "after": after,
        "answer": [total],
    }
    deep = {
        "keys": arithmetic.KEYS_ND.tolist(),
        "values": arithmetic.VALUES_ND.tolist(),
        "query": list(QUERY),
        "longest": LONGEST,
    }
    return QuestionData(numbers, {"sum": f"{total:.3f}", "longest": LONGEST}, deep)


# Question 5: several areas have an equal mean. In which of them do the items differ most?


MEAN = 2.5


def get_key_weights() -> dict[str, list[list[float]]]:
    """Return the weights of the richer key. They were invented for the lesson."""
    return {
        "heights": arithmetic.HEIGHTS.tolist(),
        "widths": arithmetic.WIDTHS.tolist(),
        "mean": arithmetic.W_MEAN.tolist(),
        "deviation": arithmetic.W_DEVIATION.tolist(),
        "shape": arithmetic.W_SHAPE.tolist(),
        "out": arithmetic.W_OUT.tolist(),
    }


def make_spread_question(texts: Texts) -> QuestionData:  # noqa: ARG001 - all questions have this signature
    """Ask which of the areas with an equal mean has the largest standard deviation."""
    names, deviations, areas = [], [], []
    for area in list_areas(arithmetic.FEATURES_GRID):
        numbers = select_items(arithmetic.MEMORY_HWD, area)[:, 0]
        if area.size > 1 and numbers.mean() == MEAN:
            names.append(", ".join(format_number(float(number)) for number in numbers))
            deviations.append(float(numbers.std()))
            areas.append([area.top, area.left, area.height, area.width])
    answer = int(np.argmax(deviations))
    after = [
        make_bar(name, deviation, 2) for name, deviation in zip(names, deviations, strict=True)
    ]
    drawn = {
        "memory": [
            [format_number(number) for number in row] for row in arithmetic.MEMORY_HWD[..., 0]
        ],
        "areas": areas,
        "after": after,
        "answer": answer,
        "options": names,
    }
    most = format_number(deviations[answer], 2)
    words = {"mean": format_number(MEAN), "widest": names[answer], "most": most}
    return QuestionData(
        drawn, words, {"memory": arithmetic.MEMORY_HWD.tolist(), "learned": get_key_weights()}
    )


# Question 6: which score can put a span on top?


def make_end_or_start_question(texts: Texts) -> QuestionData:
    """Ask whether a score of the first or of the last item lets a span win."""
    item, span = Area(0, 1, 1, 1), Area(0, 1, 1, 2)
    words = {"first": arithmetic.BOUNDARY_WORDS[1], "last": arithmetic.BOUNDARY_WORDS[2]}
    scores = [step / 10 for step in range(1, 11)]
    starts = [
        score for score in scores if _is_heaviest(span, arithmetic.attend_boundaries(0, score, 0))
    ]
    ends = [
        score for score in scores if _is_heaviest(span, arithmetic.attend_boundaries(0, 0, score))
    ]
    if starts or not ends:
        raise ValueError("Question 6 needs a start score that never lets the span win.")
    after = []
    for key, score, found in (
        ("with_start", scores[-1], arithmetic.attend_boundaries(0, scores[-1], 0)),
        ("with_end", ends[0], arithmetic.attend_boundaries(0, 0, ends[0])),
    ):
        for area in (item, span):
            name = texts[key].format(score=format_number(score), words=arithmetic.list_words(area))
            after.append(make_bar(name, _get_weight(area, found), 3))
    plainly = arithmetic.attend_boundaries(0, 0, 0)
    before = [
        make_bar(f"“{arithmetic.list_words(area)}”", _get_weight(area, plainly), 3)
        for area in (item, span)
    ]
    words |= {"item": arithmetic.list_words(item), "span": arithmetic.list_words(span)}
    words |= {"item_percent": f"{100 * _get_weight(item, plainly):.1f}"}
    words |= {
        "span_percent": f"{100 * _get_weight(span, plainly):.1f}",
        "score": format_number(ends[0]),
    }
    options = [option.format(**words) for option in texts["options"]]
    deep = {
        "words": list(arithmetic.BOUNDARY_WORDS),
        "logits": arithmetic.ITEM_LOGITS.tolist(),
        "longest": arithmetic.BOUNDARY_GRID.max_width,
        "begins": arithmetic.BEGINS,
        "ends": arithmetic.ENDS,
    }
    numbers = {
        "words": list(arithmetic.BOUNDARY_WORDS),
        "span": [span.left, span.left + span.width - 1],
        "before": before,
        "after": after,
        "answer": 1,
        "options": options,
    }
    return QuestionData(numbers, words, deep)


def _get_weight(area: Area, found: arithmetic.Boundary) -> float:
    return float(found.weights[arithmetic.BOUNDARY_GRID.index(area)])


def _is_heaviest(area: Area, found: arithmetic.Boundary) -> bool:
    return arithmetic.find_heaviest_area(found) == arithmetic.BOUNDARY_GRID.index(area)


# Question 7: how many times as much work as regular attention does area attention need?


GRID = AreaGrid(1, 256, 1, 5)


def make_work_question(texts: Texts) -> QuestionData:
    """Ask for the work of area attention as a multiple of the work of regular attention."""
    counts = arithmetic.count_operations(GRID)
    built = counts["built areas"] / counts["regular"]
    factored = counts["factored"] / counts["regular"]
    numbers = {
        "names": [texts["guess"]],
        "least": 1,
        "most": 10,
        "step": 0.5,
        "near": 0.5,
        "answer": [built],
        "after": [
            make_bar(texts["regular"], 1, 2),
            make_bar(texts["built"], built, 2),
            make_bar(texts["factored"], factored, 2),
        ],
    }
    words = {
        "items": GRID.items,
        "longest": GRID.max_width,
        "areas": f"{GRID.count:,}",
        "built_times": f"{built:.2f}",
        "factored_times": f"{factored:.2f}",
    }
    deep = {"items": GRID.items, "longest": GRID.max_width, "depth": arithmetic.COST_DEPTH}
    return QuestionData(numbers, words, deep)


# Question 9: which entries of the table give the sum of a rectangle?


AREA = Area(1, 1, 2, 2)


def make_corners_question(texts: Texts) -> QuestionData:
    """Ask for the entries of the table from which the sum of a rectangle is computed."""
    i1, i2, i3, i4 = arithmetic.get_corners(AREA)
    total = arithmetic.TABLE_MEMORY[
        AREA.top : AREA.top + AREA.height, AREA.left : AREA.left + AREA.width
    ].sum()
    rows, columns = arithmetic.compute_table().shape
    places = arithmetic.locate_corners(AREA)
    numbers = {
        "memory": arithmetic.TABLE_MEMORY.tolist(),
        "table": arithmetic.compute_table().tolist(),
        "area": [AREA.top, AREA.left, AREA.height, AREA.width],
        "answer": sorted(row * columns + column for row, column in places),
        "rows": rows,
        "columns": columns,
        "cell": texts["cell"],
        "captions": [texts["memory"], texts["table"]],
    }
    words = {"i1": f"{i1:g}", "i2": f"{i2:g}", "i3": f"{i3:g}", "i4": f"{i4:g}"}
    deep = {"memory": arithmetic.TABLE_MEMORY.tolist()}
    return QuestionData(numbers, words | {"sum": f"{total:g}", "size": AREA.size}, deep)


# Question 11: how much does a baseline reduce the variance of hard attention's gradient?
#
# Hard attention chooses one item at random, so its gradient can only be estimated.


CHOICE = Choice(SCORES["Leaning to item 2"], REWARDS["Log-likelihood"])


def make_hard_choice_question(texts: Texts) -> QuestionData:
    """Ask which share of the variance remains if the mean reward is the baseline."""
    without = compute_baseline_variance(CHOICE, 1, "None")
    calmer = compute_baseline_variance(CHOICE, 1, "Mean reward")
    ratio = without / calmer
    weights = [
        make_bar(
            texts["item"].format(
                number=number, reward=format_number(float(reward)).replace("-", "−")
            ),
            float(weight),
            2,
        )
        for number, (weight, reward) in enumerate(
            zip(CHOICE.weights, CHOICE.rewards, strict=True), start=1
        )
    ]
    numbers = {
        "names": [texts["left"]],
        "least": 0,
        "most": 100,
        "step": 5,
        "near": 5,
        "before": weights,
        "after": [make_bar(texts["without"], without, 2), make_bar(texts["with"], calmer, 2)],
        "answer": [100 / ratio],
    }
    words = {"ratio": f"{ratio:.1f}", "left": f"{100 / ratio:.0f}"}
    words |= {"reward": format_number(CHOICE.expected, 2).replace("-", "−")}
    deep = {"scores": CHOICE.scores.tolist(), "rewards": CHOICE.rewards.tolist()}
    return QuestionData(numbers, words, deep)


# Question 12: what happens to the output of a spatial transformer if its window shrinks?


SCENE, SIDE, OUTPUT = 9, 40, 40
"""Number of the sample scene, and the sides of the picture and of the output in pixels."""
SMALL, CENTRE = 0.45, (-0.36, 0.02)
"""Half the side of the small window, and the centre of both windows (x, y).

The coordinates of the picture go from -1 to 1.
"""


def make_window_question(texts: Texts) -> QuestionData:
    """Ask whether objects in the output grow or shrink as the window shrinks."""
    picture = Picture.of("scene", make_scene("samples", SCENE).pixels(SIDE))
    # The output always has the same size, so a part of the picture fills more of it.
    growth = 1 / SMALL
    numbers = {
        "picture": {
            "height": SIDE,
            "width": SIDE,
            "rgb": base64.b64encode(picture.pixels.tobytes()).decode(),
        },
        "side": OUTPUT,
        "small": SMALL,
        "centre": list(CENTRE),
        # The windows of the three pictured answers: small, the whole picture, and larger.
        "zooms": [SMALL, 1, growth],
        "answer": 0 if growth > 1 else 2,
        "options": texts["options"],
        "captions": [texts["input"], texts["output"], texts["outputs"]],
        "size": texts["size"],
    }
    deep = {"picture": numbers["picture"], "side": OUTPUT}
    deep |= {"captions": [texts["input"], texts["output"]]}
    return QuestionData(numbers, {"times": f"{growth:.1f}"}, deep | {"theta": [SMALL, *CENTRE]})
