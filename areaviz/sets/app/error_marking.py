"""Marking of errors in the open example, and blind rating of systems.

The blind order comes first. Errors found by programs and the sheet for one output follow, and
the last section joins them.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import partial

import pandas as pd
import streamlit as st

from areaviz.app.components import get_component, get_report
from areaviz.app.run import get_user_digest
from areaviz.app.texts import draw_text_table, escape_markdown, shorten_line, show_deferred
from areaviz.draw.labels import escape_controls, format_three_digits
from areaviz.samples.dataset import Dataset
from areaviz.sets.app.notes import AUTHOR_KEY, keep_save_error, list_offered_categories
from areaviz.sets.app.state import AnalysePage, Systems, can_write, list_judgements, open_note_store
from areaviz.sets.notes.notes import (
    OUTPUT,
    SEVERITIES,
    SOURCE,
    Judgement,
    check_length,
    compute_judgement_id,
    parse_spans,
)
from areaviz.sets.notes.records import Stale
from areaviz.sets.notes.store import LONGEST_NAME
from areaviz.sets.rated_outputs import AUTOMATIC, is_automatic
from areaviz.sets.table import list_measures
from areaviz.trace.errors import InputError
from areaviz.trace.request import Picture
from areaviz.views.grid.grid import encode_webp

# Blind rating, in which each rater sees the systems without names and in a personal order.
#
# The order depends on the dataset, the rater's name and the names of the systems. A returning rater
# sees the systems in an unchanged order, and anyone who knows these three values can identify the
# systems.


def shuffle_systems(dataset: str, rater: str, systems: Sequence[str]) -> list[int]:
    """Return the indices of the systems in the order in which a rater sees them.

    The order does not depend on the order of `systems`, unless two systems share a name.

    Args:
        dataset: the digest of the dataset.
        rater: the rater's name.
        systems: the names of the systems.
    """

    def key(place: int) -> tuple[bytes, int]:
        named = "\0".join((dataset, rater, systems[place]))
        return hashlib.sha256(named.encode("utf-8", "surrogatepass")).digest(), place

    return sorted(range(len(systems)), key=key)


def name_alias(number: int) -> str:
    """Return the name that raters see for the system at this position of their order, from 0."""
    return f"System {number + 1}"


def build_key_table(
    dataset: str, raters: Sequence[str], systems: Sequence[str]
) -> list[tuple[str, ...]]:
    """Return a row for each rater: the rater's name, then the system behind each alias.

    Args:
        dataset: the digest of the dataset.
        raters: the names of the raters.
        systems: the names of the systems.
    """
    rows = []
    for rater in raters:
        order = shuffle_systems(dataset, rater, systems)
        rows.append((rater, *(systems[place] for place in order)))
    return rows


# Blind rating: the page hides the names of systems, and the key reveals them afterwards.


# The key of the widget for the rater's name.
RATER_NAME_KEY = "rater_name"
# Largest number of raters in the key.
MAX_RATERS = 100


def draw_rater_input(on_change: Callable[[], None] | None = None) -> str:
    """Draw the field for the rater's name, and return the name.

    Args:
        on_change: called when the name changes, before the page is drawn.
    """
    st.session_state.setdefault(RATER_NAME_KEY, st.session_state.get(AUTHOR_KEY) or "")
    name: str = st.text_input(
        "Your name as a rater",
        key=RATER_NAME_KEY,
        max_chars=LONGEST_NAME,
        width=190,
        persist_state="session",
        on_change=on_change,
    )
    return name.strip()


def read_rater_name() -> str:
    """Return the name that the rater has entered, "" for none."""
    return str(st.session_state.get(RATER_NAME_KEY) or "").strip()


def draw_blind_rating(
    page: AnalysePage, systems: Systems, is_fixed: bool = False
) -> Systems | None:
    """Draw the switch for blind rating, and return the systems as the page shows them.

    Args:
        page: its state says whether rating is blind.
        systems: the systems.
        is_fixed: whether a shared link has decided it, so that there is no switch.

    Returns:
        The systems unchanged, or shuffled with aliases as titles. None if rating is blind and the
        rater has not entered a name yet.
    """
    if len(systems) < 2:
        page.set(is_blind=False)
        return systems

    def forget_judged() -> None:
        # The system judged last would reveal which alias it has now.
        page.set(judged="")

    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        is_blind = page.state.is_blind if is_fixed else _draw_switch(page, forget_judged)
        rater = draw_rater_input(forget_judged) if is_blind else ""
    if not is_blind:
        return systems
    if not rater:
        st.info("Type your name to begin. It decides the order in which you see the systems.")
        return None
    st.caption(
        "Click a row, and rate each output below. The systems have no names and no scores here."
    )
    return _shuffle_with_aliases(rater, systems)


def _draw_switch(page: AnalysePage, on_change: Callable[[], None]) -> bool:
    is_blind: bool = page.draw_widget(
        st.toggle,
        "Blind rating",
        "is_blind",
        after_change=on_change,
        help="Hides the names and scores of the systems and shuffles the systems for each rater."
        " Marks are saved under the true names. Turn it off to see the key.",
    )
    return is_blind


def _shuffle_with_aliases(rater: str, systems: Systems) -> Systems:
    """Return the systems in the rater's order, with aliases as titles."""
    names, found, runs = systems.names, [], []
    for number, place in enumerate(shuffle_systems(systems.dataset.digest, rater, names)):
        one = systems.analyses[place]
        found.append(replace(one, title=name_alias(number), name=names[place]))
        runs.append(systems.runs[place])
    return Systems(systems.dataset, tuple(found), tuple(runs))


def drop_measures(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of examples without metrics, which would influence raters."""
    names = list_measures(table)
    return table.drop(columns=[one for one in table if str(one).rpartition("_")[0] in names])


def has_rated_all(judgements: Sequence[Judgement], place: int, names: Sequence[str]) -> bool:
    """Return whether the rater has judged the outputs of all systems for one example."""
    rater = read_rater_name()
    own = {one.model for one in judgements if one.example == place and one.rater == rater}
    return bool(rater) and own.issuperset(names)


def draw_alias_key(systems: Systems) -> None:
    """Draw a table of the systems behind the aliases, for every rater of the dataset."""
    if len(systems) < 2:
        return
    digest = systems.dataset.digest
    raters = [one.rater for one in list_judgements(digest) if one.counts]
    if read_rater_name():
        raters.insert(0, read_rater_name())
    raters = list(dict.fromkeys(raters))[:MAX_RATERS]
    if not raters:
        return
    with st.expander("Key of blind rating", key="blind_key", type="compact"):
        st.caption("What each rater sees in place of the names while rating is blind.")
        rows = build_key_table(digest, raters, systems.names)
        heads = ["Rater", *(name_alias(number) for number in range(len(systems)))]
        draw_text_table(
            pd.DataFrame([tuple(map(escape_markdown, row)) for row in rows], columns=heads)
        )


# Errors that a program such as xCOMET marked in an output. A rater can adopt them.


def draw_automatic_errors(
    judged: Sequence[Judgement], fresh: Judgement, adopt: Callable[[Judgement], None] | None
) -> None:
    """Draw the errors that programs marked in an output.

    Args:
        judged: all judgements of the example's outputs.
        fresh: an empty judgement of the present output.
        adopt: adds a program's errors to the rater's own; None if the user may not mark errors.
    """
    for one in judged:
        is_here = one.model == fresh.model and one.output == fresh.output
        if not is_here or one.differs or not is_automatic(one.rater):
            continue
        st.caption(f"Marked by {escape_markdown(shorten_line(one.rater))}, in no figure")
        draw_marked_errors(one)
        if one.spans and adopt:
            st.button(
                "Start from these",
                key=f"automatic_{one.id}",
                on_click=adopt,
                args=(one,),
                help="Adds these errors to your saved marks, where you keep or delete each of them."
                " Save first what you have marked.",
            )


def draw_marked_errors(judgement: Judgement) -> None:
    """Draw marked errors in words, one per line."""
    lines = [f"• {judgement.describe(span)}" for span in judgement.spans]
    st.text(escape_controls("\n".join(lines)) or "no errors")


def merge_marks(own: Judgement, program: Judgement) -> Judgement:
    """Return a rater's judgement with those errors of a program that it lacks."""
    new = tuple(span for span in program.spans if span not in own.spans)
    return replace(own, spans=own.spans + new)


# The sheet in which a rater marks errors in one output: texts, picture, errors and score.


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


# Errors of the open example: a rater marks them under a name, and sees other raters' marks.


# Keys of widgets.
EXPANDER_KEY, SHEET_KEY_PREFIX = "errors", "judging"
# Session keys: the open sheet with the judgement on which it was opened, the `Stale` that waits
# for a choice, how often a choice restarted a sheet, the sheet that was saved last, and the error
# message.
OPEN_SHEET_KEY, STALE_KEY, SHEET_TURN_KEY = "judged_held", "judged_stale", "judged_turn"
SAVED_SHEET_KEY, PROBLEM_KEY = "judged_saved", "judged_problem"
# Session key: the number of other raters' judgements that are drawn. The second value is the number
# that a click adds.
LISTED_COUNT_KEY, RATINGS_PER_CLICK = "judged_listed", 20


def draw_error_marking(page: AnalysePage, systems: Systems, place: int) -> None:
    """Draw the errors in the outputs of one example, given by its index, and the sheet."""
    dataset, names = systems.dataset, systems.titles_by_name
    judged = _list_example_judgements(dataset.digest, place)
    count = sum(len(one.spans) for one in judged)
    is_blind = page.state.is_blind
    label = f"Errors ({count})" if judged and not is_blind else "Errors"
    # Attention follows below the outputs of models, so errors start collapsed there.
    is_open = bool(judged) or is_blind or not systems.has_models
    with st.expander(label, key=EXPANDER_KEY, type="compact", expanded=is_open, on_change="rerun"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            is_named = is_blind or not can_write()
            rater = read_rater_name() if is_named else draw_rater_input()
            model = next(iter(names))
            if len(names) > 1:
                if page.state.judged not in names and not is_blind:
                    # The table opens with the examples that the second of two systems does worse.
                    page.set(judged=list(names)[-1])
                model = page.choose_segment("Output of", "judged", names)
        row = systems.runs[list(names).index(model)].rows.get(place)
        if row is None or row.error:
            st.caption("This system has no output for the example, so there is nothing to mark.")
            return
        text = dataset.examples[place].text
        fresh = Judgement(dataset.digest, place, model, rater, text, row.output)
        own = [one for one in judged if one.model == model and not _is_by_other_rater(one, rater)]
        if refusal := _explain_refusal(rater):
            st.caption(refusal)
            rater = ""
        else:
            _draw_sheet(fresh, names[model], judged, dataset, is_blind)
        draw_automatic_errors(
            judged, fresh, partial(_adopt_program_marks, fresh, judged) if rater else None
        )
        people = [one for one in judged if not is_automatic(one.rater)]
        if is_blind and not own:
            st.caption("You see the marks of other raters after you have saved yours.")
        else:
            _draw_other_raters(
                [one for one in people if one.model == model and _is_by_other_rater(one, rater)]
            )


def _explain_refusal(rater: str) -> str:
    """Return why a rater may not mark errors, or ""."""
    if not can_write():
        return "This analysis is shared read only: you see what raters marked."
    if is_automatic(rater):
        return f"Names that end in “{AUTOMATIC.strip()}” belong to programs. Type another name."
    return "" if rater else "Type your name to mark errors: raters are told apart by it."


def _list_example_judgements(digest: str, place: int) -> list[Judgement]:
    """Return the judgements of raters on one example."""
    return [one for one in list_judgements(digest) if one.example == place and one.rater]


def _is_by_other_rater(judgement: Judgement, rater: str) -> bool:
    return judgement.rater != rater or bool(judgement.differs)


def _draw_sheet(
    fresh: Judgement, title: str, judged: Sequence[Judgement], dataset: Dataset, is_blind: bool
) -> None:
    """Draw the rater's own marks in the output, with an error message below."""
    try:
        check_length(fresh.source, fresh.output)
    except InputError as refusal:
        st.caption(escape_markdown(str(refusal)))
        return
    turn = st.session_state.get(SHEET_TURN_KEY, 0)
    held = _get_opened_judgement((compute_judgement_id(fresh), turn), fresh, judged)
    own = _fit_to_output(held, fresh)
    if own is not held:
        st.caption(
            "Another output of this system was judged under this name. If you save, your marks"
            " replace the marks of that output."
        )
    mark = f"{compute_judgement_id(own)} {own.version} {turn}"
    categories = list_offered_categories(fresh.dataset, fresh.rater if is_blind else "")
    picture = dataset.picture(dataset.examples[fresh.example])
    sheet = ErrorSheet(
        title, own, picture, categories, mark, st.session_state.get(SAVED_SHEET_KEY, "")
    )
    # Leave out the system's name, which a page in blind rating must not contain.
    key = f"{SHEET_KEY_PREFIX}_{compute_judgement_id(own)}"
    draw_error_sheet(sheet, key=key, on_save=lambda: _save_sheet(own, key, mark))
    if own.version:
        with st.popover("Remove what I marked", key="judged_removing", type="tertiary"):
            st.caption("What was marked under this name goes, for everybody who has this set.")
            st.button("Remove it", key="judged_remove", on_click=_remove_judgement, args=(own,))
    show_deferred(PROBLEM_KEY)
    _draw_conflict()


def _fit_to_output(own: Judgement, fresh: Judgement) -> Judgement:
    """Return a rater's judgement, without its marks if it is about another output."""
    if (own.output, own.source) == (fresh.output, fresh.source):
        return own
    return replace(fresh, id=own.id, version=own.version, origin=own.origin)


def _get_opened_judgement(
    sheet: tuple[str, int], fresh: Judgement, judged: Sequence[Judgement]
) -> Judgement:
    """Return the rater's judgement as it was when the sheet was opened.

    If another session saves a judgement meanwhile, the marks on the sheet are kept. The sheet's
    version is then older, so the rater has to choose.
    """
    own = fresh
    opened: tuple[object, Judgement] = st.session_state.get(OPEN_SHEET_KEY, (None, fresh))
    if opened[0] == sheet:
        return opened[1]
    for one in judged:
        if one.model == fresh.model and not _is_by_other_rater(one, fresh.rater):
            own = one
    st.session_state[OPEN_SHEET_KEY] = (sheet, own)
    return own


def _adopt_program_marks(fresh: Judgement, judged: Sequence[Judgement], program: Judgement) -> None:
    """Open the rater's sheet again, with the errors of a program added to the saved ones."""
    st.session_state.pop(OPEN_SHEET_KEY, None)
    own = _fit_to_output(
        _get_opened_judgement((compute_judgement_id(fresh), -1), fresh, judged), fresh
    )
    turn = st.session_state.get(SHEET_TURN_KEY, 0) + 1
    st.session_state[SHEET_TURN_KEY] = turn
    st.session_state[OPEN_SHEET_KEY] = (
        (compute_judgement_id(fresh), turn),
        merge_marks(own, program),
    )


def _keep_save_error(doing: str = "saving the errors") -> AbstractContextManager[None]:
    """Show below the sheet an error, or that another version was saved meanwhile."""
    return keep_save_error(doing, PROBLEM_KEY, STALE_KEY)


def _save_sheet(own: Judgement, key: str, mark: str) -> None:
    """Save the judgement. It is committed when the page says so; otherwise the sheet is kept."""
    with _keep_save_error():
        spans, score = read_saved_errors(key)
        if not (score is None or type(score) in (int, float)):
            raise InputError("The score is not a number. Enter a score from 0 to 100.")
        number = None if score is None else float(str(score))
        marked = replace(own, spans=parse_spans(spans), score=number)
        open_note_store().judgements.save(marked, get_user_digest())
        st.session_state[SAVED_SHEET_KEY] = mark
        for name in (STALE_KEY, OPEN_SHEET_KEY):
            st.session_state.pop(name, None)


def _remove_judgement(own: Judgement) -> None:
    with _keep_save_error("removing the errors"):
        open_note_store().judgements.remove(own, get_user_digest())
        _accept_saved_version()


def _draw_conflict() -> None:
    """Draw the version saved meanwhile under this rater's name, and the choice between both."""
    stale: Stale[Judgement] | None = st.session_state.get(STALE_KEY)
    if stale is None:
        return
    did = "was removed" if stale.there is None else "was changed"
    st.warning(
        f"What was marked under this name {did} meanwhile, perhaps in another window."
        " Nothing was overwritten. Choose which of the two stays."
    )
    if stale.there:
        _draw_judgement(stale.there)
    with st.container(horizontal=True):
        st.button("Keep what is there", on_click=_accept_saved_version)
        st.button(
            "Save mine", key="judged_overwrite", on_click=_overwrite_saved_version, args=(stale,)
        )


def _accept_saved_version() -> None:
    st.session_state.pop(STALE_KEY, None)
    st.session_state[SHEET_TURN_KEY] = st.session_state.get(SHEET_TURN_KEY, 0) + 1


def _overwrite_saved_version(stale: Stale[Judgement]) -> None:
    with _keep_save_error():
        version = stale.there.version if stale.there else 0
        open_note_store().judgements.save(replace(stale.own, version=version), get_user_digest())
        _accept_saved_version()


def _draw_other_raters(others: Sequence[Judgement]) -> None:
    """Draw marks of other raters in this output, only on demand so that they influence nobody."""
    if not others:
        return
    raters = ", ".join(dict.fromkeys(one.rater for one in others))
    with st.popover(f"Other raters: {escape_markdown(shorten_line(raters))}", type="tertiary"):
        most = st.session_state.get(LISTED_COUNT_KEY, RATINGS_PER_CLICK)
        for one in others[:most]:
            _draw_judgement(one)
        if len(others) > most:
            label = f"Show more of {len(others):,}"
            st.button(
                label,
                key="judged_more",
                on_click=_list_more_ratings,
                args=(most + RATINGS_PER_CLICK,),
            )


def _list_more_ratings(most: int) -> None:
    st.session_state[LISTED_COUNT_KEY] = most


def _draw_judgement(judgement: Judgement) -> None:
    """Draw a rater's marks, one per line."""
    score = (
        "no score" if judgement.score is None else f"score {format_three_digits(judgement.score)}"
    )
    about = f"{judgement.rater}: {score}, cost by MQM {format_three_digits(judgement.mqm)}"
    if judgement.differs:
        about += ", brought in and different from what is here"
    st.caption(escape_markdown(about))
    draw_marked_errors(judgement)
