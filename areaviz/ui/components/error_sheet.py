"""The sheet in which a rater marks errors in one output: texts, picture, errors and score."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from areaviz.app.components import get_component, get_report
from areaviz.notes.annotations import SEVERITIES
from areaviz.notes.error_spans import OUTPUT, SOURCE, Judgement
from areaviz.show.grid.grid import encode_webp
from areaviz.trace.request import Picture


@dataclass(frozen=True, slots=True)
class ErrorSheet:
    """The content of a sheet.

    Args:
        title: the displayed name of the system.
        judgement: the texts, and the errors marked so far.
        picture: the picture given with the source or in place of it.
        categories: the categories to offer. Raters can type others.
        mark: identifies this sheet, so that unsaved changes belong to it.
        replaces: the mark of the sheet saved last. The browser drops its changes.
    """

    title: str
    judgement: Judgement
    picture: Picture | None
    categories: Sequence[str]
    mark: str
    replaces: str = ""


def draw_error_sheet(sheet: ErrorSheet, *, key: str, on_save: Callable[[], None]) -> None:
    """Draw the sheet. `on_save` is called when the rater saves, see `read_saved_errors`."""
    judgement = sheet.judgement
    # Send the texts unchanged: escaping characters would shift the positions of errors.
    texts = [{"side": OUTPUT, "title": sheet.title, "text": judgement.output}]
    if judgement.source:
        texts.insert(0, {"side": SOURCE, "title": "Source", "text": judgement.source})
    picture = None
    if sheet.picture is not None:
        content = base64.b64encode(encode_webp(sheet.picture).tobytes()).decode()
        picture = {"title": "Picture", "source": f"data:image/webp;base64,{content}"}
    data = {
        "label": sheet.title,
        "texts": texts,
        "picture": picture,
        "spans": [asdict(span) for span in judgement.spans],
        "score": judgement.score,
        "version": judgement.version,
        "categories": list(sheet.categories),
        "severities": list(SEVERITIES),
        "mark": sheet.mark,
        "replaces": sheet.replaces,
    }
    get_component("judging")(key=key, data=data, on_saved_change=on_save)


def read_saved_errors(key: str) -> tuple[object, object]:
    """Return the errors and the score saved last, as the browser sent them; for `on_save`."""
    found = get_report(key, "saved")
    if not isinstance(found, Mapping):
        return [], None
    return found.get("spans"), found.get("score")
