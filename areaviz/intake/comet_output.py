"""Reading of the lines that `comet-score` prints, one for each segment of each file of outputs."""

from __future__ import annotations

import re
from pathlib import PurePosixPath, PureWindowsPath

from areaviz.intake.columns import MAX_ROWS, SCORE, Cell, Column, make_too_many_error
from areaviz.intake.comet_json import METRIC
from areaviz.intake.texts import iterate_plain_lines
from areaviz.trace.errors import InputError, shorten

_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_LINE = re.compile(rf"(.*?)\t(?:Segment (\d{{1,9}})\t)?score: ({_NUMBER}|nan)\s*")
_SEGMENT = re.compile(rb"[^\r\n]*\tSegment \d+\tscore: ")


def is_comet_output(start: bytes) -> bool:
    """Return whether a file starts like the output of `comet-score`."""
    return _SEGMENT.match(start) is not None


def read_comet_output(name: str, data: bytes) -> tuple[Column, ...]:
    """Read one column of scores per system, named by the system's file of outputs.

    Lines with the mean of a file are ignored.

    Raises:
        InputError: a line has another form, a segment is missing or occurs twice, or systems differ
            in the number of segments.
    """
    scores: dict[str, dict[int, str]] = {}
    for number, line in enumerate(iterate_plain_lines(name, data), 1):
        if not line.strip():
            continue
        found = _LINE.fullmatch(line)
        if not found:
            raise InputError(
                f'Line {number:,} of "{shorten(name)}" is not a line of comet-score. Keep only the'
                ' lines "FILE, Segment N, score: …".'
            )
        if found[2] is None:
            continue
        segment, of_file = int(found[2]), scores.setdefault(found[1], {})
        if segment in of_file:
            raise InputError(
                f'Line {number:,} of "{shorten(name)}" scores segment {segment:,} of'
                f' "{shorten(found[1])}" for the second time. Remove one of the lines.'
            )
        of_file[segment] = found[3]
        if len(of_file) > MAX_ROWS:
            raise make_too_many_error(name, MAX_ROWS, "segments")
    return _make_columns(name, scores)


def _make_columns(name: str, scores: dict[str, dict[int, str]]) -> tuple[Column, ...]:
    count = max((max(one) + 1 for one in scores.values()), default=0)
    columns = []
    for path, of_file in scores.items():
        if len(of_file) < count:
            missing = next(segment for segment in range(count) if segment not in of_file)
            raise InputError(
                f'"{shorten(name)}" has no score for segment {missing:,} of "{shorten(path)}".'
                " Score all segments of all systems."
            )
        cells: tuple[Cell, ...] = tuple(of_file[segment] for segment in range(count))
        system = PurePosixPath(PureWindowsPath(path).as_posix()).name
        columns.append(Column(METRIC, cells, SCORE, system, file=name))
    return tuple(columns)
