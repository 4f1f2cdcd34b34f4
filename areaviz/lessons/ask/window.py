"""Question 12: what happens to the output of a spatial transformer if its window shrinks?"""

from __future__ import annotations

import base64

from areaviz.lessons.ask.question_parts import QuestionData, Texts
from areaviz.samples.scenes import make_scene
from areaviz.trace.request import Picture

SCENE, SIDE, OUTPUT = 9, 40, 40
"""Number of the sample scene, and the sides of the picture and of the output in pixels."""
SMALL, CENTRE = 0.45, (-0.36, 0.02)
"""Half the side of the small window, and the centre of both windows (x, y).

The coordinates of the picture go from -1 to 1.
"""


def make_question(texts: Texts) -> QuestionData:
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
