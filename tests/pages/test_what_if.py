"""What if: choosing a change by pointing, decoding again, links, faithfulness, and errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from typing import Protocol

import numpy as np
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from areaviz.app.what_if_result import CAVEAT
from areaviz.backend.backend import OWN_WORK, Backend, Caller
from areaviz.media import pictures
from areaviz.trace.areas import Area, format_span
from areaviz.trace.changes import Gate, Hide, Weigh, format_changes
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request
from tests import fakes
from tests.pages import folder
from tests.pages.conftest import Open, drawn_texts, open_tab, shown
from tests.pages.pictured import Pictured
from tests.sampled import sampled

Use = Callable[[Backend], None]
ORIGINAL, CHANGED = "Ein kleiner Hund rennt.", "Ein Hund rennt."
LINK = {"model": "char-area", "text": folder.TEXT, "site": "encoder-decoder", "items": "5"}


class Changing(fakes.FakeBackend):
    """A backend that writes another sentence under any change, half as probable.

    It cannot change head 4.
    """

    def __init__(self) -> None:
        super().__init__({"char-area": folder.card("char-area", "area")})
        self.asked: list[Request] = []

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        self.asked.append(request)
        if any(isinstance(change, Gate) and change.head == 3 for change in request.changes):
            raise InputError("Head 4 cannot be changed; choose another head.")
        made = fakes.trace(
            request.text, request.target or (CHANGED if request.changes else ORIGINAL)
        )
        sure = made.output.probabilities * np.float32(0.5 if request.changes else 1)
        return replace(made, request=request, output=replace(made.output, probabilities=sure))


def open_panel(app: AppTest) -> None:
    """Open the tab of the panel."""
    for page in ("translate", "caption"):
        if page in app.session_state:
            open_tab(app, page, "what_if")


def opened(open_page: Open, use_backend: Use, **params: str) -> tuple[AppTest, Changing]:
    """Open the page with the panel, and return it with its backend."""
    use_backend(backend := Changing())
    app = open_page("translate", **{**LINK, **params})
    open_panel(app)
    return app.run(), backend


class Acts(Protocol):
    """A widget that was used."""

    def run(self) -> AppTest:
        """Run the page."""


def act(app: AppTest, used: Acts) -> AppTest:
    """Use a widget, and return the page with the panel open, which `AppTest` would close."""
    open_panel(app)
    app = used.run()
    assert not app.exception
    return app


def decode(app: AppTest) -> AppTest:
    return act(app, next(button for button in app.button if button.label == "Decode again").click())


def add(app: AppTest) -> AppTest:
    return act(
        app, next(button for button in app.button if button.label == "Add this change").click()
    )


def test_closed_panel_runs_no_model(open_page: Open, use_backend: Use) -> None:
    use_backend(Changing())
    app = open_page("translate", **LINK)
    assert ORIGINAL in drawn_texts(app) and not any(
        button.label == "Add this change" for button in app.button
    )


def test_banned_area_decodes_the_sentence_again(open_page: Open, use_backend: Use) -> None:
    app, backend = opened(open_page, use_backend)
    assert app.selectbox(key="translate_area").options[0].endswith("% on average over the heads")
    heaviest = app.session_state["translate_area"]
    app = add(app)
    assert f"({format_span(heaviest)})" in shown(app) and CHANGED not in shown(app), (
        "nothing runs before it is asked"
    )
    assert len(backend.asked) == 1
    app = decode(app)
    ban = Weigh("encoder-decoder", areas=(heaviest,))
    assert backend.asked[1:] == [
        Request("char-area", folder.TEXT, changes=(ban,)),
        Request("char-area", folder.TEXT, changes=(ban,), target=ORIGINAL),
    ]
    said = shown(app)
    assert ORIGINAL in said and CHANGED in said and "Instead of: Ein kleiner Hund rennt." in said
    assert "Mean probability of the original output: 0.62 before, 0.31 with the changes." in said
    assert app.query_params["changes"] == format_changes((ban,))
    assert "with 1 change" in said


def test_every_kind_of_change_can_be_added_and_removed(open_page: Open, use_backend: Use) -> None:
    app, backend = opened(open_page, use_backend, head="2", layer="2")
    app = act(app, app.segmented_control(key="translate_where").set_value("this head"))
    app = act(app, app.checkbox(key="translate_overlapping").check())
    app = act(app, app.slider(key="translate_factor").set_value(2.0))
    area = app.session_state["translate_area"]
    app = add(app)
    app = act(app, app.segmented_control(key="translate_kind_of_change").set_value("head"))
    app = add(app)
    app = act(app, app.segmented_control(key="translate_kind_of_change").set_value("hide"))
    app = act(app, app.button_group(key="translate_words").set_value([1, 2]))
    app = decode(add(app))
    weigh = Weigh("encoder-decoder", tuple(range(area.left, area.left + area.width)), (), 2.0, 1, 1)
    gate, hide = Gate("encoder-decoder", 1, 1), Hide("source", (*range(2, 7), *range(8, 11)))
    assert backend.asked[1].changes == (weigh, gate, hide)
    assert "Hidden: “small dog”" in shown(app)
    app = decode(act(app, app.button(key="translate_off_1").click()))
    assert backend.asked[-1].changes == (weigh, hide)
    app = act(app, app.button(key="translate_start_over").click())
    assert "changes" not in app.query_params and CHANGED not in shown(app)


def test_link_restores_the_changes(open_page: Open, use_backend: Use) -> None:
    changes = format_changes(
        (Gate("encoder self", 0, 1), Weigh("decoder self", areas=(Area(0, 0, 1, 2),), factor=0.5))
    )
    app, backend = opened(open_page, use_backend, changes=changes)
    assert not app.exception and not app.error
    assert "Switched off: Within the source, layer 1, head 2" in shown(app)
    assert "Weight times 0.5: “⟨start⟩" in shown(app) and CHANGED in shown(app)
    assert app.query_params["changes"] == changes
    assert len(backend.asked) == 3, "runs are remembered between reruns of the page"


def test_changes_belong_to_their_sentence(open_page: Open, use_backend: Use) -> None:
    app, _ = opened(open_page, use_backend, changes="gate:encoder self")
    app = act(app, app.text_input(key="translate_text").set_value("Two cats sleep."))
    assert CHANGED not in shown(app) and "changes" not in app.query_params
    app = act(app, app.text_input(key="translate_text").set_value(folder.TEXT))
    assert CHANGED in shown(app)


def test_impossible_change_shows_error_and_keeps_result(open_page: Open, use_backend: Use) -> None:
    app, _ = opened(open_page, use_backend, changes="gate:encoder self:head=4")
    assert not app.exception
    assert [error.value for error in app.error] == [
        "Head 4 cannot be changed\\; choose another head\\."
    ]
    assert ORIGINAL in drawn_texts(app)
    app = act(app, app.button(key="translate_start_over").click())
    assert not app.error


def test_unusable_link_gives_one_error(open_page: Open, use_backend: Use) -> None:
    for wrong in ({"changes": "ban:everything"}, {"swap": "no-such-picture"}):
        use_backend(Changing())
        app = open_page("translate", **{**LINK, **wrong})
        assert not app.exception and len(app.error) == 1


def test_changes_of_broken_link_do_not_reach_next_sentence(
    open_page: Open, use_backend: Use
) -> None:
    for wrong in ({"model": "not-here"}, {"method": "guess"}, {"text": ""}):
        use_backend(backend := Changing())
        app = open_page("translate", **{**LINK, "changes": "gate:encoder self", **wrong})
        assert not app.exception and len(app.error) == 1
        app = act(app, app.text_input(key="translate_text").set_value("Two cats sleep."))
        assert "changes" not in app.query_params
        assert [
            request.changes for request in backend.asked if request.text == "Two cats sleep."
        ] == [()]


def test_linked_changes_wait_for_their_picture(open_page: Open, use_backend: Use) -> None:
    backend, file = Pictured(), BytesIO()
    use_backend(backend)
    Image.new("RGB", (40, 40), "red").save(file, "PNG")
    name = pictures.decode_picture(file.getvalue(), "upload").picture.name
    app = open_page(
        "caption", picture=name, changes=format_changes((Hide("picture", (1,)),)), swap="scene-20"
    )
    assert not app.exception and "Upload it again" in shown(app)
    assert backend.asked and not any(request.changes for request in backend.asked)
    assert not {"changes", "swap"} & app.query_params.keys()
    app = act(
        app, app.file_uploader(key="caption_file").upload("red.png", file.getvalue(), "image/png")
    )
    assert app.query_params["picture"] == name and app.query_params["swap"] == "scene-20"
    assert backend.asked[-1].changes == (Hide("picture", (1,)),)


def test_faithfulness_is_measured_on_demand(open_page: Open, use_backend: Use) -> None:
    app, backend = opened(open_page, use_backend)
    assert CAVEAT in shown(app) and not app.table and len(backend.asked) == 1
    app = act(app, app.button(key="translate_measure").click())
    assert not app.exception and not app.error
    assert len(backend.asked) == 2 + 2 * 6
    table = app.table[0].value
    assert list(table.iloc[:, 1]) == ["0.341", "0.341"]
    assert list(table.iloc[:, 2]) == ["0.341 ± 0.000"] * 2
    app = act(app, app.number_input(key="translate_k").set_value(80))
    assert not app.table
    app = act(app, app.button(key="translate_measure").click())
    assert len(app.error) == 1 and "Choose a smaller number" in shown(app)


def against(app: AppTest, word: int, foil: str) -> AppTest:
    """Choose a word and a foil, and return the page; `AppTest` cannot type into a list."""
    open_panel(app)
    app.session_state["translate"] = replace(app.session_state["translate"], word=word, foil=foil)
    return app.run()


def test_word_is_compared_with_foil_before_and_after_change(
    open_page: Open, use_backend: Use
) -> None:
    app, backend = opened(open_page, use_backend)
    # The fifth item is locked, and the second word contains it.
    assert app.session_state["translate"].word == 4 and not app.table
    app = against(app, 4, "großer")
    assert backend.asked[1:] == [Request("char-area", folder.TEXT, target="Ein großer")]
    table = app.table[0].value
    likely = fakes.trace(folder.TEXT, ORIGINAL).output.probabilities
    assert table.iloc[0, 1] == f"{np.prod(likely[4:11].astype(float)):.3f}" and len(table) == 1
    app = decode(add(app))
    table = app.table[0].value
    assert list(table.iloc[:, 0]) == ["As it is", "With the changes"]
    assert backend.asked[-1].target == "Ein großer" and backend.asked[-1].changes


def test_link_restores_word_and_foil(open_page: Open, use_backend: Use) -> None:
    app, backend = opened(open_page, use_backend)
    app = against(app, 4, "größer. Ja")
    assert app.query_params["foil"] in ("5.größer. Ja", ["5.größer. Ja"])
    given = {name: value for name, value in app.query_params.items() if isinstance(value, str)}
    given |= {name: value[0] for name, value in app.query_params.items() if name not in given}
    again = open_page("translate", **given)
    state = again.session_state["translate"]
    assert not again.exception and (state.word, state.foil) == (4, "größer. Ja")
    assert backend.asked[-1].target == "Ein größer. Ja" and len(again.table) == 1


@pytest.mark.parametrize("code", sampled(["", "5", "5.", "0.a", "x.a", "123456.a"], "5.", "0.a"))
def test_invalid_foil_in_link_is_ignored(code: str, open_page: Open, use_backend: Use) -> None:
    app, backend = opened(open_page, use_backend, foil=code)
    assert not app.exception and not app.error and not app.table
    assert app.session_state["translate"].foil is None and len(backend.asked) == 1


def test_map_is_measured_by_the_contrast(open_page: Open, use_backend: Use) -> None:
    app, backend = opened(open_page, use_backend)
    app = against(app, 4, "großer")
    open_panel(app)
    app.session_state["translate"] = replace(app.session_state["translate"], is_contrast=True)
    app = act(app.run(), app.button(key="translate_measure").click())
    assert not app.error and "lead" in shown(app) and len(app.table) == 2
    assert {request.target for request in backend.asked[2:]} == {ORIGINAL, "Ein großer"}


def test_invalid_foil_is_reported_and_page_stays(open_page: Open, use_backend: Use) -> None:
    app, _ = opened(open_page, use_backend)
    for foil, part in (("kleiner", "is the word at this place"), (" ", "1 to 200 characters")):
        app = against(app, 4, foil)
        assert part in shown(app) and CAVEAT in shown(app)


def test_picture_is_swapped_and_cells_are_hidden(open_page: Open, use_backend: Use) -> None:
    backend = Pictured()
    use_backend(backend)
    app = open_page("caption", site="encoder-decoder", items="2", side="memory")
    open_panel(app)
    app = app.run()
    app = act(app, app.segmented_control(key="caption_kind_of_change").set_value("hide"))
    app = add(app)
    app = act(app, app.segmented_control(key="caption_kind_of_change").set_value("picture"))
    app = act(app, app.selectbox(key="caption_swap").select_index(0))
    app = decode(app)
    assert not app.error
    changed = backend.asked[-2]
    assert changed.changes == (Hide("picture", (1,)),)
    assert changed.picture is not None and changed.picture.name == app.query_params["swap"]
    assert (
        backend.asked[0].picture is not None
        and changed.picture.name != backend.asked[0].picture.name
    )
    again = open_page("caption", **app.query_params)
    assert again.query_params == app.query_params and "What if" in shown(again)
