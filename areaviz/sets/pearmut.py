"""Campaigns and annotations of Pearmut (https://github.com/zouharvi/pearmut), a tool for raters.

A campaign is a JSON file with the items to rate. It can also have errors that are marked before the
raters see the items. Downloaded annotations are JSON Lines, or JSON with one list per campaign.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from areaviz.sets.rated_outputs import (
    AUTOMATIC,
    OWN,
    Mark,
    RatedSegment,
    Rating,
    Segments,
    get_object,
    get_objects,
    get_text,
    own_place,
    parse_marks,
    score_in,
)
from areaviz.trace.errors import InputError, shorten

Entry = tuple[str, Any]
PREPARED = f"Pearmut{AUTOMATIC}"
"""Name of the rater for errors that a campaign marks beforehand."""
# Keys of an item that are not metadata of the example.
_OF_TOOL = frozenset(
    (
        *("item_id", "src", "ref", "tgt", "instructions", "error_spans", "validation"),
        *("skippable", OWN),
    )
)
# Prefixes of the ids of tutorials and attention checks.
_NOT_RATED = ("welcome_", "random_", "goodbye_")


def is_campaign(value: object) -> bool:
    """Return whether a JSON value is a campaign."""
    return isinstance(value, dict) and {"campaign_id", "data"} <= value.keys()


def is_annotations(value: object) -> bool:
    """Return whether a JSON value is one line of annotations, or lists of them by campaign."""
    if not isinstance(value, dict):
        return False
    if "annotation" in value and "user_id" in value:
        return True
    lists = list(value.values())
    firsts = [one[0] for one in lists if isinstance(one, list) and one]
    return (
        bool(firsts)
        and all(isinstance(one, list) for one in lists)
        and all(isinstance(one, dict) and "annotation" in one for one in firsts)
    )


def read_campaign(name: str, entries: Sequence[Entry]) -> list[RatedSegment]:
    """Return the segments of a campaign, with the errors that are marked beforehand.

    Tutorials and attention checks (`data_welcome`, `data_random`) are left out.

    Raises:
        InputError: the campaign has another form.
    """
    segments = Segments(name)
    for where, values in entries:
        info = get_object(where, values, "info")
        data = values.get("data")
        is_by_task = info.get("assignment", "task-based") == "task-based"
        tasks = _list_values(where, data) if is_by_task else [data]
        for number, task in enumerate(tasks, 1):
            of_task = f"{where}, task {number:,}" if is_by_task else where
            _add_documents(segments, of_task, task, f"{number}-" if len(tasks) > 1 else "")
    return list(segments.found.values())


def _list_values(where: str, data: object) -> list[Any]:
    """Return the tasks of a campaign.

    Args:
        where: the campaign, for error messages.
        data: a list of tasks, or an object with one task per rater if Pearmut stored the campaign.
    """
    if isinstance(data, dict):
        return list(data.values())
    if not isinstance(data, list):
        raise InputError(f'{where} has "data" that is not a list of tasks. Check the campaign.')
    return data


def _add_documents(segments: Segments, where: str, documents: object, prefix: str) -> None:
    """Add the documents of a task. The name of a document is the prefix and its number."""
    if not isinstance(documents, list) or not all(isinstance(one, list) for one in documents):
        raise InputError(f"{where} needs a list of documents, each a list of items. Correct it.")
    seen: Counter[str] = Counter()
    for number, document in enumerate(documents, 1):
        for item_number, item in enumerate(document, 1):
            of_item = f"{where}, document {number:,}, item {item_number:,}"
            if not isinstance(item, dict):
                raise InputError(f"{of_item} is not an object in braces. Correct it.")
            if "form" in item and "tgt" not in item:
                continue
            segment = _add_item(segments, of_item, item, seen, f"{prefix}{number}")
            _add_prepared(segments, segment, of_item, item)


def _add_item(
    segments: Segments, where: str, item: Mapping[str, Any], seen: Counter[str], document: str
) -> RatedSegment:
    """Add the texts of an item.

    Args:
        segments: the segments to which the item is added.
        where: the item, for error messages.
        item: the values of the item.
        seen: how often each source occurred before in the task, or for the rater.
        document: the name of the item's document, or "" if it is unknown.
    """
    source = get_text(where, item, "src", "")
    reference = get_text(where, item, "ref", "")
    seen[source] += 1
    given = item.get("item_id")
    name = "" if given is None else str(given)
    # An item without an id is identified by its source. Items with equal sources are expected in
    # the same order for every rater.
    key = (name, source) if name else (seen[source], source)
    metadata = {"doc": document} if document else {}
    for title, value in item.items():
        if title not in _OF_TOOL and isinstance(value, str | int | float):
            metadata[title] = str(value)
    about = {
        "name": name,
        "references": (reference,) if reference else (),
        "metadata": metadata,
        "origin": own_place(item),
    }
    segment = segments.add(key, where, source, **about)
    outputs = get_object(where, item, "tgt")
    for system in outputs:
        text = get_text(where, outputs, system)
        segments.add_output(segment, where, _restore_system_name(item, system), text)
    return segment


def _restore_system_name(item: Mapping[str, Any], system: str) -> str:
    """Return the name that a system had before this app wrote the campaign."""
    own = item.get(OWN)
    names = own.get("systems") if isinstance(own, dict) else None
    found = names.get(system) if isinstance(names, dict) else None
    return found if isinstance(found, str) else system


def _add_prepared(
    segments: Segments, segment: RatedSegment, where: str, item: Mapping[str, Any]
) -> None:
    """Add the errors that the campaign marks beforehand, unless the item already has them."""
    spans = get_object(where, item, "error_spans")
    for system in spans:
        name = _restore_system_name(item, system)
        if name not in segment.outputs:
            raise InputError(
                f'{where} has errors of the system "{shorten(system)}" but not its output. Add the'
                " output."
            )
        of_system = f'{where}, system "{shorten(system)}"'
        marks = parse_marks(of_system, spans, system, find_counted_places(segment.outputs[name]))
        if marks and all(one.rater != PREPARED for one in segment.ratings.get(name, [])):
            segments.add_rating(segment, name, Rating(PREPARED, None, marks))


def read_annotations(name: str, entries: Sequence[Entry]) -> list[RatedSegment]:
    """Return the segments that raters annotated.

    A later annotation of an item replaces an earlier one. Tutorials, attention checks and items
    that a rater skipped are left out.

    Raises:
        InputError: an annotation has another form.
    """
    segments = Segments(name)
    seen: dict[str, Counter[str]] = {}
    done: dict[tuple[str, str], Counter[str]] = {}
    for where, values in _iterate_annotations(entries):
        number = str(values.get("item_i", ""))
        if number.startswith(_NOT_RATED):
            continue
        rater = str(values.get("user_id", ""))
        # If a rater annotates an item again, count its sources as they were counted the first time.
        before = done.setdefault((rater, number), Counter(seen.setdefault(rater, Counter())))
        counted = Counter(before)
        items = get_objects(where, values, "item")
        annotations = values.get("annotation")
        if not isinstance(annotations, list) or len(annotations) != len(items):
            raise InputError(
                f"{where} does not have one annotation for each item. Download the annotations"
                " from Pearmut again."
            )
        for item, annotation in zip(items, annotations, strict=True):
            segment = _add_item(segments, where, item, counted, "")
            if isinstance(annotation, dict):
                _add_annotation(segments, (segment, item), where, (rater, annotation))
        seen[rater] |= counted
    return list(segments.found.values())


def _iterate_annotations(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield each annotation with its place for error messages.

    An entry is one annotation, or an object with a list of annotations per campaign.
    """
    for where, values in entries:
        if not is_annotations(values):
            raise InputError(f"{where} is not an annotation of Pearmut. Remove it.")
        if "annotation" in values:
            yield where, values
            continue
        for campaign in values:
            for number, one in enumerate(get_objects(where, values, campaign), 1):
                yield (f'{where}, campaign "{shorten(campaign)}", annotation {number:,}', one)


def _add_annotation(
    segments: Segments,
    about: tuple[RatedSegment, Mapping[str, Any]],
    where: str,
    said: tuple[str, Mapping[str, Any]],
) -> None:
    """Add a rater's annotations of the outputs of one item.

    Args:
        segments: the segments of the file, which limit the number of ratings.
        about: the segment, and the item from which it was made.
        where: the item, for error messages.
        said: the rater, and the annotations of the outputs.
    """
    (segment, item), (rater, annotation) = about, said
    for system in annotation:
        name = _restore_system_name(item, system)
        of_system = f'{where}, system "{shorten(system)}"'
        if name not in segment.outputs:
            raise InputError(f"{of_system} has an annotation, but no output. Add the output.")
        values = get_object(of_system, annotation, system)
        output = segment.outputs[name]
        marks = parse_marks(of_system, values, "error_spans", find_counted_places(output))
        comment = get_text(of_system, values, "textfield", "") if values.get("textfield") else ""
        if comment and comment != output:
            marks += (Mark(0, 0, "neutral", "", comment),)
        ratings = segment.ratings.setdefault(name, [])
        ratings[:] = [one for one in ratings if one.rater != rater]
        segments.add_rating(
            segment, name, Rating(rater, score_in(of_system, values, "score"), marks)
        )


def find_counted_places(text: str) -> list[int]:
    """Return the positions of the characters that Pearmut counts, followed by the text's length.

    Pearmut counts units of UTF-16, so an emoji counts twice. It does not count line breaks.
    """
    places = []
    for place, letter in enumerate(text):
        if letter != "\n":
            places += [place] * (2 if ord(letter) > 0xFFFF else 1)
    return [*places, len(text)]


def find_counted_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the first and last character of a span as Pearmut counts, or None for an empty span.

    Args:
        text: the output.
        start: the index of the span's first character in the output.
        end: the end of the span, exclusive.
    """
    inside = []
    for number, place in enumerate(find_counted_places(text)[:-1]):
        if start <= place < end:
            inside.append(number)
    return (inside[0], inside[-1]) if inside else None
