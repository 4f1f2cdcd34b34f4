"""The live page of the model that a page shows, written when the user asks for it."""

from __future__ import annotations

from pathlib import Path

from areaviz.cards.card import read_card
from areaviz.live.build import LiveModel, check_live, make_live_page
from areaviz.samples.paths import find_checkpoints_folder
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.app.markdown import escape_markdown

CHANGED_REFUSAL = "A live page opens with a run without changes. Undo your changes to download it."


def explain_live_refusal(trace: Trace) -> str:
    """Return why there is no live page of a trace's model as Markdown, "" if there is one."""
    if trace.request.changes:
        return CHANGED_REFUSAL
    folder = _find_folder(trace)
    if folder is None:
        name = escape_markdown(trace.request.model) or "this model"
        return f"The app does not have the files of {name}, so it cannot write a live page."
    try:
        check_live(read_card(folder / "card.json"))
    except (InputError, BackendError) as error:
        return escape_markdown(str(error))
    return ""


def build_live_html(trace: Trace, focus: Focus) -> bytes:
    """Return the live page of a trace's model, which opens with the trace."""
    folder = _find_folder(trace)
    assert folder is not None
    model = LiveModel.load(folder, read_card(folder / "card.json"))
    picture = trace.request.picture
    pictures = [] if picture is None else [picture]
    try:
        html = make_live_page(model, trace, focus, pictures=pictures)
    except InputError:
        # The page cannot open with this selection.
        html = make_live_page(model, trace, pictures=pictures)
    return html.encode("utf-8", "replace")


def _find_folder(trace: Trace) -> Path | None:
    """Return the folder of a trace's model. Check the name, because a file can contain any name."""
    name = trace.request.model
    folder = find_checkpoints_folder() / name
    if not name or Path(name).name != name or not (folder / "card.json").is_file():
        return None
    return folder
