"""Files of marked errors in the formats of areaviz, Marot and `areaviz/intake/rated_files.py`."""

from __future__ import annotations

from collections.abc import Sequence

from areaviz.intake.rated_files import read_rated
from areaviz.intake.rated_outputs import Mark, RatedSegment, Rating
from areaviz.intake.roles import find_system
from areaviz.intake.texts import read_bytes
from areaviz.media.formats import get_extension
from areaviz.notes.annotations import SEVERITIES
from areaviz.notes.error_spans import OUTPUT, WHOLE, ErrorSpan, Judgement, parse_spans
from areaviz.notes.judgement_files import check_count, check_size, from_jsonl, is_own_jsonl
from areaviz.notes.marot import parse_judgements
from areaviz.notes.marot_rows import read_rows
from areaviz.notes.segment_places import SegmentPlaces, match_system
from areaviz.samples.dataset import Dataset, Files
from areaviz.trace.errors import InputError, shorten

FORMATS = (
    "Errors that were exported here (.jsonl), Marot's TSV, human evaluations of WMT (.jsonl),"
    " annotations or a campaign of Pearmut (.json, .jsonl), and what comet-score --to_json writes"
    " with xCOMET (.json)."
)
"""The formats of marked errors that can be read, for users."""


def read_judgements(
    name: str, data: bytes, dataset: Dataset, systems: Sequence[str]
) -> list[Judgement]:
    """Return the ratings in a file of one of the `FORMATS`, for the examples of a dataset.

    Args:
        name: the name of the file.
        data: the content of the file.
        dataset: the rated dataset.
        systems: the names of the systems in areaviz. A name in the file may differ in its
            extension.

    Raises:
        InputError: the file has an unknown format, or does not fit the dataset.
    """
    ending = get_extension(name)
    check_size(data)
    if ending == ".tsv":
        return parse_judgements(read_rows(data, name), dataset, systems)
    if ending == ".jsonl" and is_own_jsonl(data):
        return from_jsonl(data)
    segments = read_rated(name, data) if ending in (".json", ".jsonl", ".ndjson") else None
    if segments is None:
        raise InputError(
            f'"{shorten(name)}" is not a file of marked errors. Choose one of: {FORMATS}'
        )
    return _convert_segments(segments, dataset, systems)


def read_judgements_of_set(
    files: Files, dataset: Dataset, systems: Sequence[str], known: Sequence[Judgement] = ()
) -> list[Judgement]:
    """Return the ratings in the files of a dataset, after the known ones.

    A rating that was imported earlier and then changed in areaviz keeps the change.

    Args:
        files: the files of the dataset that contain ratings or marked errors.
        dataset: the dataset.
        systems: the names of the systems in areaviz.
        known: the ratings of this dataset that areaviz already has.

    Raises:
        InputError: a file does not fit the dataset.
    """
    found = list(known)
    seen = {(one.example, one.model, one.rater, one.output) for one in known}
    for name, content in files.items():
        for one in read_judgements(name, read_bytes(name, content), dataset, systems):
            is_known = (one.example, one.model, one.rater, one.output) in seen
            if one.dataset == dataset.digest and not is_known:
                found.append(one)
    return found


def _convert_segments(
    segments: Sequence[RatedSegment], dataset: Dataset, systems: Sequence[str]
) -> list[Judgement]:
    check_count(sum(len(ratings) for one in segments for ratings in one.ratings.values()))
    places = SegmentPlaces(dataset)
    found = []
    for number, segment in enumerate(segments):
        if not any(segment.ratings.values()):
            places.pass_over(segment.source)
            continue
        place = _own_place(segment, dataset)
        if place is None:
            place = places.find(segment.where, (number,), segment.source)
        for system, ratings in segment.ratings.items():
            model = match_system(system, systems)
            model = model if model in systems else find_system(system, systems) or model
            for rating in ratings:
                output = segment.outputs[system]
                bare = Judgement(dataset.digest, place, model, "", segment.source, output)
                found.append(_convert_rating(segment.where, bare, rating))
    return found


def _own_place(segment: RatedSegment, dataset: Dataset) -> int | None:
    """Return the index that areaviz wrote into the file, or None if it is for another dataset."""
    if segment.origin is None:
        return None
    digest, place = segment.origin
    is_here = digest == dataset.digest and 0 <= place < len(dataset.examples)
    return place if is_here and dataset.examples[place].text == segment.source else None


def _convert_rating(where: str, bare: Judgement, rating: Rating) -> Judgement:
    try:
        spans = tuple(map(_convert_mark, rating.marks)) + parse_spans(list(rating.other_marks))
        return Judgement(
            bare.dataset,
            bare.example,
            bare.model,
            rating.rater,
            bare.source,
            bare.output,
            spans,
            rating.score,
        ).checked()
    except InputError as error:
        raise InputError(f"{where} cannot be imported: {error}") from error


def _convert_mark(mark: Mark) -> ErrorSpan:
    """Return a mark as an error. A mark of unknown severity costs nothing."""
    given = mark.severity.lower()
    severity = given if given in SEVERITIES else SEVERITIES[0]
    side = OUTPUT if mark.start < mark.end else WHOLE
    return ErrorSpan(side, mark.start, mark.end, None, mark.category, severity, mark.note)
