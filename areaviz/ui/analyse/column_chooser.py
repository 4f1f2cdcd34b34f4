"""The column chooser: one row per column, with its name, three of its cells and its role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from areaviz.app.texts import escape_markdown, pluralise, shorten_line
from areaviz.draw.labels import escape_controls
from areaviz.intake.columns import OF_SYSTEMS, OUTPUT, ROLES, SCORE, Column
from areaviz.intake.joined_columns import Chosen, JoinedColumns
from areaviz.intake.roles import list_systems
from areaviz.trace.errors import InputError

# Session key: the files to which the choice applies, the chosen roles, and whether it is open.
CHOICE_KEY = "analyse_column_choice"
# Prefixes of widget keys. The name of a column follows.
ROLE_KEY_PREFIX, SYSTEM_KEY_PREFIX = "analyse_role ", "analyse_system "
_MAX_SHOWN_CELLS, _MAX_CELL_CHARACTERS = 3, 44


@dataclass(frozen=True, slots=True)
class _RoleChoice:
    """The roles chosen for some files."""

    identity: tuple[str, ...]
    roles: Mapping[str, str]
    # Whether the chooser is open on its own. It then stays open while roles are chosen.
    is_open: bool = False


def read_chosen_roles(identity: tuple[str, ...], kept: Chosen) -> Chosen:
    """Return the roles that the user has chosen for some files in this session.

    Args:
        identity: identifies the files.
        kept: the roles chosen for the files in an earlier session.
    """
    held: _RoleChoice | None = st.session_state.get(CHOICE_KEY)
    if held is None or held.identity != identity:
        st.session_state[CHOICE_KEY] = held = _RoleChoice(identity, dict(kept))
    return held.roles


def draw_column_chooser(
    opened: JoinedColumns | InputError, chosen: Chosen, is_refused: bool
) -> None:
    """Draw the chooser. It is open if a guess is uncertain or the dataset was refused.

    Args:
        opened: the columns, or the reason why there are none.
        chosen: the roles that the user has chosen.
        is_refused: whether the columns could not be combined into a dataset.
    """
    if isinstance(opened, InputError):
        if chosen:
            st.button("Undo all choices of roles", on_click=_reset_roles)
        return
    if not opened.columns:
        return
    unsure = sum(not column.is_sure for column in opened.columns)
    label = f"Columns: {len(opened.columns)}"
    is_open = st.session_state[CHOICE_KEY].is_open or bool(unsure) or is_refused
    _update_choice(is_open=is_open)
    with st.expander(label, expanded=is_open, key="analyse_columns"):
        if unsure:
            what = "is a guess" if unsure == 1 else "are guesses"
            st.caption(f"{pluralise(unsure, 'role')} {what}. Please check what is marked.")
        for column in opened.columns:
            _draw_column_row(column, list_systems(opened.columns))
        if chosen:
            st.button("Undo all choices", on_click=_reset_roles, type="tertiary")


def _draw_column_row(column: Column, systems: list[str]) -> None:
    """Draw the row of a column: name, cells, role, and the system of an output or a score."""
    name, cells, role = st.columns([3, 5, 4], vertical_alignment="center")
    with name:
        st.markdown(f"**{escape_markdown(column.name)}**")
        if not column.is_sure:
            st.badge("please check", color="orange")
    cells.caption("  \n".join(_format_cells(column)))
    with role:
        key = f"{ROLE_KEY_PREFIX}{column.name}"
        # A guess can change with the role of another column, so update the widget.
        st.session_state[key] = column.role
        st.selectbox(
            f"Role of {column.name}",
            list(ROLES),
            key=key,
            format_func=ROLES.__getitem__,
            label_visibility="collapsed",
            on_change=_apply_role,
            args=(column,),
        )
        if column.role in OF_SYSTEMS:
            _draw_system_input(column, systems)


def _format_cells(column: Column) -> list[str]:
    texts = [text for text in column.texts if text.strip()][:_MAX_SHOWN_CELLS]
    return [escape_markdown(shorten_line(text, _MAX_CELL_CHARACTERS)) for text in texts] or [
        "(empty)"
    ]


def _draw_system_input(column: Column, systems: list[str]) -> None:
    """Draw the system's name: free text for an output, a choice of known systems for a score."""
    key = f"{SYSTEM_KEY_PREFIX}{column.name}"
    if column.role == OUTPUT:
        st.session_state[key] = column.system or column.name
        st.text_input(
            f"System of {column.name}",
            key=key,
            max_chars=80,
            label_visibility="collapsed",
            on_change=_apply_system_name,
            args=(column,),
        )
    elif systems:
        st.session_state[key] = column.system if column.system in systems else None
        st.selectbox(
            f"System of {column.name}",
            systems,
            key=key,
            index=None,
            placeholder="Choose the system",
            format_func=escape_controls,
            label_visibility="collapsed",
            on_change=_apply_system_name,
            args=(column,),
        )


def _apply_role(column: Column) -> None:
    role = st.session_state[f"{ROLE_KEY_PREFIX}{column.name}"]
    is_same_system = role in OF_SYSTEMS and column.role in OF_SYSTEMS and column.system
    _set_role(column.name, f"{role}:{column.system}" if is_same_system else role)


def _apply_system_name(column: Column) -> None:
    system = (st.session_state[f"{SYSTEM_KEY_PREFIX}{column.name}"] or "").strip()
    role = OUTPUT if column.role == OUTPUT else SCORE
    _set_role(column.name, f"{role}:{system}" if system else role)


def _set_role(name: str, role: str) -> None:
    _update_choice(roles={**st.session_state[CHOICE_KEY].roles, name: role})


def _reset_roles() -> None:
    _update_choice(roles={})


def _update_choice(**changes: Any) -> None:
    st.session_state[CHOICE_KEY] = replace(st.session_state[CHOICE_KEY], **changes)
