"""Lesson 12: a spatial transformer's window on a picture (survey Eq. 25-42, Fig. 8-11)."""

from __future__ import annotations

import streamlit as st

from areaviz.data.picture_samples import sample
from areaviz.data.scenes import make_scene
from areaviz.lessons.page_parts import columns
from areaviz.trace.picture import Picture
from areaviz.ui.components.window import window

_SCENE, _SIDE = 9, 40
"""Number of the sample scene, and pixels a side."""
_THETA = (0.45, -0.16, -0.36, 0.16, 0.45, 0.02)
"""Where the window lies at first: [2 x 3], row by row."""


@st.fragment
def show() -> None:
    """A window to be dragged on a picture, with what it gives; all of it in the browser."""
    left, right = columns()
    with left:
        # The browser computes everything here, so no run of the page follows a drag.
        window({"Scene": _scene(), "Digit": sample("digit-2")}, _THETA, key="transformed-window")
        st.caption(
            "Drag the window, its edges and its corners, or move them by the arrow keys (with"
            " Shift: finely). Point at the output to see what a pixel is made of."
        )
    with right:
        _words()


@st.cache_data(show_spinner=False, max_entries=1)
def _scene() -> Picture:
    return Picture.of("scene", make_scene("samples", _SCENE).pixels(_SIDE))


def _words() -> None:
    st.markdown(
        "A **spatial transformer** looks softly at a place: six numbers $\\theta$ (the survey's"
        " $A_j$), which a network computes from the picture (Eq. 25), say where the window lies."
        " $\\theta$ maps the **output to the input**, the inverse of what one might expect (Eq."
        " 30):"
    )
    st.latex(
        r"\begin{pmatrix}x^S\\ y^S\end{pmatrix} ="
        r" \begin{bmatrix}\textcolor{#0072B2}{\theta_{11}} & "
        r"\textcolor{#009E73}{\theta_{12}} & \textcolor{#D55E00}{\theta_{13}}\\"
        r" \textcolor{#0072B2}{\theta_{21}} & "
        r"\textcolor{#009E73}{\theta_{22}} & \textcolor{#D55E00}{\theta_{23}}\end{bmatrix}"
        r"\begin{pmatrix}x\\ y\\ 1\end{pmatrix}"
    )
    st.markdown(
        "So every output pixel asks one place of the input (a dot, Eq. 26 to 28) and **each gets"
        " exactly one value**. The other way round, input pixels would land between the output's,"
        " with holes and collisions. It also means that a *smaller* window *enlarges*. The columns"
        " of $\\theta$ are what the handles move: the :orange[centre] of the window, and the ways"
        " from there to its :blue[right] and its :green[bottom] edge."
    )
    st.markdown("A dot lies between four pixels and takes each by its nearness (Eq. 32, Fig. 11):")
    st.latex(
        r"\begin{aligned}X^{out} = \sum_{u,v} X_{uv} &\max(0, 1-|x^S - v|) \\[-1.4em] \cdot"
        r" &\max(0, 1-|y^S - u|)"
        r"\end{aligned}"
    )
    st.markdown(
        "Nothing is drawn by chance, so this learns by plain **gradients** (Eq. 35 to 42): a dot"
        " feels which way its four pixels grow brighter, the *slope*, and the slopes of all dots"
        " pull on $\\theta$. Only these four pixels are felt: a window far from everything learns"
        " nothing. **Outside** the picture all is 0, and so is the slope."
    )
    st.caption(
        "Here −1 and 1 are the outer edges of the picture; the survey puts them on the middles of"
        " the outer pixels. The last formula counts x and y in pixels. Brightness, the mean of red,"
        " green and blue, goes from 0 to 1; its slope is for a step of one input pixel."
    )
