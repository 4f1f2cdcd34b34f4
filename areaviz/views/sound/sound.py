"""The attention of output items to a sound: the view, and the data for the player."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from areaviz.draw.labels import Ticks, escape_controls, truncate
from areaviz.draw.marks import Axis, Cells, Frame, Image, Mark, Panel, Plot, Rule, Scale, Stroke
from areaviz.draw.pictures import Box, Pixels, encode_matrix, gray_to_rgb, to_data_uri
from areaviz.draw.select import fits_map
from areaviz.draw.theme import PRINT_EDGE, SECOND, Drawing, round_up_scale
from areaviz.draw.view import Row, Table, figure_caption, view_of_marks
from areaviz.media.sounds import compute_spectrogram
from areaviz.trace.areas import FloatArray
from areaviz.trace.record import Trace
from areaviz.trace.request import RATE, Focus, Sound

# View of the moments of a recording that each output item attends to.
#
# See Chorowski et al. 2015, Fig. 1, and Fig. 8 of the multimedia paper. Shapes: T target items, M
# items of the sound, F frames, E frequency bands.


GOLD_TIMES = "spoken from"
"""Key in `Trace.details` for the starts and ends of the spoken items, alternating, in seconds."""
SOUND_ROWS = 0.75
"""Height of the spectrogram as a share of all rows, and its minimum height in rows."""
LEAST_ROWS = 3.0
GAP = 0.3
"""Gap between the alignment and the spectrogram, in rows."""


@dataclass(frozen=True, slots=True, eq=False)
class SpeechAlignment(Drawing):
    """The alignment and the spectrogram to draw."""

    # Attention weights, float32 [T, M]. Row t belongs to the item with label t.
    weights: FloatArray
    labels: tuple[str, ...]
    # Probability of each item: float32 [T].
    probabilities: FloatArray
    # Spectrogram, uint8 [E, F], with the highest frequency first. Loud parts are dark.
    loud: Pixels
    # Duration of the recording in seconds.
    seconds: float
    # Start of each item of the sound in seconds, and the end of the last one: M + 1 values.
    edges: tuple[float, ...]
    # Indices of the framed rows.
    marked: tuple[int, ...]
    # Start and end of each spoken item in seconds, or () if they are unknown.
    spoken: tuple[tuple[float, float], ...]

    @property
    def rows(self) -> int:
        """Number of rows of the alignment."""
        return len(self.labels)

    @property
    def top(self) -> float:
        """Upper end of the colour scale."""
        return round_up_scale(float(self.weights.max()))

    @property
    def sound_box(self) -> Box:
        """Left, top, right and bottom of the spectrogram, in seconds and rows."""
        top = self.rows - 0.5 + GAP
        return 0.0, top, self.seconds, top + max(LEAST_ROWS, SOUND_ROWS * self.rows)

    @property
    def bottom(self) -> float:
        """Lower edge of the figure, in rows."""
        return self.sound_box[3]


def fits(trace: Trace, focus: Focus) -> bool:
    """Return whether the focused map attends to a sound."""
    return fits_map(trace, focus) and trace.fields[trace.maps[focus.site].memory].kind == "sound"


def find_spoken_intervals(trace: Trace) -> tuple[tuple[float, float], ...]:
    """Return the start and end of each spoken item in seconds, or () if unknown."""
    try:
        seconds = [float(one) for one in trace.details.get(GOLD_TIMES, "").split()]
    except ValueError:
        return ()
    return tuple(zip(seconds[::2], seconds[1::2], strict=False))


def find_alignment(trace: Trace, focus: Focus) -> SpeechAlignment:
    """Return the weights of all items over time, and the spectrogram of the sound."""
    attention, sound = trace.maps[focus.site], trace.request.sound
    assert sound is not None, "a field of a sound has a request with one"
    field, query = trace.fields[attention.memory], trace.fields[attention.query]
    known = find_spoken_intervals(trace)
    weights_TM = attention.weights[focus.layer].mean(0)
    if focus.head is not None:
        weights_TM = attention.weights[focus.layer, focus.head]
    loud_FE = compute_spectrogram(sound.samples.astype(np.float32) / np.float32(32768))
    low, high = np.percentile(loud_FE, [20.0, 99.5])
    shade_FE = 1 - np.clip((loud_FE - low) / max(high - low, 1e-6), 0, 1)
    starts = field.anchors[:, 0] / RATE
    lines = "; dashed: where each digit is said" if known else ""
    is_query = focus.side == "query"
    return SpeechAlignment(
        title=f"Heard: {truncate(escape_controls(query.raw), 60)}",
        note=(
            f"each row sums to 100%: attention over time for one digit; below: spectrogram{lines}"
        ),
        caption=figure_caption(trace, focus),
        weights=weights_TM,
        labels=tuple(escape_controls(label) for label in query.labels),
        probabilities=trace.output.probabilities,
        loud=(shade_FE.T[::-1] * 255).astype(np.uint8),
        seconds=sound.seconds,
        edges=(*starts.tolist(), float(field.anchors[-1, 1]) / RATE),
        marked=tuple(sorted(set(focus.items))) if is_query else (),
        spoken=known,
    )


def plot(drawn: SpeechAlignment) -> Plot:
    """Draw the alignment with hover text and the spectrogram below it."""
    marks: list[Mark] = [
        Cells(drawn.weights, _list_hovers(drawn), edges=drawn.edges),
        Image(gray_to_rgb(drawn.loud), drawn.sound_box, is_smooth=True),
    ]
    for second in sorted({one for pair in drawn.spoken for one in pair}):
        marks.append(Rule(second, Stroke(SECOND, (1, 0.7), "dot")))
    framed = Stroke(SECOND, (2, 1), print_colour=PRINT_EDGE)
    for row in drawn.marked:
        marks.append(Frame(0, row - 0.5, drawn.seconds, 1, framed))
    panel = Panel(
        marks=marks,
        across=Axis(title="seconds", ends=(0, drawn.seconds), has_ticks=True),
        down=Axis(
            title="output",
            ends=(drawn.bottom, -0.5),
            ticks=Ticks(tuple(range(drawn.rows)), drawn.labels),
        ),
    )
    bottom = drawn.bottom
    return Plot(
        drawing=drawn,
        panels=[panel],
        height=(float(np.clip(24 * bottom, 220, 620)), float(np.clip(0.16 * bottom, 1.6, 5.0))),
        below=44,
        scale=Scale(drawn.top, "weight"),
    )


def _list_hovers(drawn: SpeechAlignment) -> list[list[str]]:
    """Write the hover text of every weight."""
    times = [f"{start:.2f} to {end:.2f} s" for start, end in _iterate_items(drawn)]
    texts = []
    for label, weights in zip(drawn.labels, drawn.weights.tolist(), strict=True):
        texts.append([f"{label} → {t}\n{w:.1%}" for t, w in zip(times, weights, strict=True)])
    return texts


def _iterate_items(drawn: SpeechAlignment) -> Iterator[tuple[float, float]]:
    """Yield the start and end of every item of the sound, in seconds."""
    yield from zip(drawn.edges, drawn.edges[1:], strict=False)


def tabulate(drawn: SpeechAlignment) -> Table:
    """Return a table with a row per item: probability, top moment, and weight of this moment."""
    rows: list[Row] = []
    items = list(_iterate_items(drawn))
    for number, (label, weights) in enumerate(zip(drawn.labels, drawn.weights, strict=True)):
        heaviest = int(weights.argmax())
        start, end = items[heaviest]
        share, certain = float(weights[heaviest]), float(drawn.probabilities[number])
        known = drawn.spoken[number] if number < len(drawn.spoken) else ("", "")
        rows.append((number + 1, label, certain, start, end, share, *known))
    columns = ("item", "heard", "probability", "heaviest from, s", "to, s", "weight there")
    return Table((*columns, "said from, s", "said to, s"), rows).filled()


VIEW = view_of_marks(
    "listening",
    "Alignment over the sound",
    "Which part of the recording does each digit attend to?",
    fits,
    find_alignment,
    plot,
    tabulate,
    how_to_read=(
        "Each row is one output digit, and time runs left to right. Brighter means more"
        " attention. The spectrogram below has high frequencies at the top. A good alignment"
        " looks like a staircase whose steps match the spoken digits."
    ),
)


# Data of the hearing component: a sound to play, and the attention of every output item to it.
#
# The script in `areaviz/views/sound` draws them. Users can choose an item.


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
