"""Data of the hearing component: a sound to play, and the attention of every output item to it.

The script in `areaviz/components/hearing` draws them. Users can choose an item.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from areaviz.draw.pictures import encode_matrix, gray_to_rgb, to_data_uri
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Sound
from areaviz.views.sound_alignment import SpeechAlignment, find_alignment


def encode_sound_as_data_url(sound: Sound) -> str:
    """Return a sound as a data URL."""
    # Imported here, so that pages without sounds need no libraries for sounds.
    from areaviz.media.sounds import encode_flac

    return f"data:audio/flac;base64,{base64.b64encode(encode_flac(sound)).decode('ascii')}"


def make_hearing_payload(
    trace: Trace, focus: Focus, audio: Callable[[Sound], str] = encode_sound_as_data_url
) -> dict[str, dict[str, Any]]:
    """Return the sound and the weights in thousandths, with a digest as `header["id"]`.

    Args:
        trace: a trace in which the items of an output attend to a sound.
        focus: names the site, the layer, and a head if only one head is shown.
        audio: `encode_sound_as_data_url`, or a function that caches its results.
    """
    drawn, sound = find_alignment(trace, replace(focus, items=())), trace.request.sound
    assert sound is not None, "a field of a sound has a request with one"
    thousandths = (1000 * drawn.weights).round().astype(int)
    header = {
        "id": f"{sound.digest} {hashlib.sha256(thousandths.tobytes()).hexdigest()[:12]}",
        "label": f"{drawn.title}: the moments that were listened to for each item",
        "rows": list(drawn.labels),
        "lit": _choose_lit_row(drawn),
        "weights": thousandths.tolist(),
        "edges": list(drawn.edges),
        "seconds": drawn.seconds,
        "spoken": [list(pair) for pair in drawn.spoken],
        "alignment": encode_matrix(drawn.weights, drawn.top),
        "sound": to_data_uri(gray_to_rgb(drawn.loud)),
        "audio": audio(sound),
    }
    return {"header": header, "arrays": {}}


def _choose_lit_row(drawn: SpeechAlignment) -> int:
    """Return the index of the row with the largest weight at one moment, which is shown first.

    Special items, such as the end of the output, are chosen only if there are no other items.
    """
    most_T = drawn.weights.max(axis=1)
    is_special_T = [label.startswith("⟨") for label in drawn.labels]
    return int(np.where(is_special_T, most_T - 1, most_T).argmax())
