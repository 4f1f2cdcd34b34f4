"""Translate in a session: requests, views, links, and errors."""

from __future__ import annotations

import errno
import io
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from areaviz.app.examples import SAMPLES
from areaviz.app.files import list_files
from areaviz.backend.backend import OWN_WORK, Backend, Caller
from areaviz.cards.card import Card
from areaviz.trace import file as codec
from areaviz.trace.changes import Gate, format_changes
from areaviz.trace.errors import BackendError
from areaviz.trace.record import VERSION, Trace
from areaviz.trace.request import Focus, Progress, Request, to_params
from areaviz.views.views import VIEWS
from tests import fakes
from tests.pages import folder
from tests.pages.conftest import Open, drawn_texts, shown, with_tab
from tests.sampled import sampled

TEXT = "translate_text"
OLDER = "The result below is from your previous input."
AREA, REGULAR = "Ein kleiner Hund rennt.", "Ein kleiner Hund läuft."


def control(app: AppTest, label: str) -> object:
    return next(element for element in app.segmented_control if element.label == label)


def ask(app: AppTest, text: str) -> AppTest:
    return app.text_input(key=TEXT).set_value(text).run()


class Faked(fakes.FakeBackend):
    """A backend that answers every request with a made-up trace, and records the requests."""

    def __init__(self, error: Exception | None = None, damaged: tuple[str, ...] = ()) -> None:
        cards = [folder.card(f"char-{kind}", kind) for kind in ("area", "regular")]
        super().__init__({card.name: card for card in cards})
        self.asked: list[Request] = []
        self.error, self.damaged = error, damaged

    def problems(self) -> tuple[str, ...]:
        return self.damaged

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        self.asked.append(request)
        if progress:
            progress(0.5, "Writing item 3")
        if self.error:
            raise self.error
        return folder.trace(request)


def test_first_sentence_is_translated_at_once(
    open_page: Open, use_backend: Callable[[Backend], None]
) -> None:
    use_backend(faked := Faked())
    app = open_page("translate")
    assert not app.exception and not app.error
    assert AREA in drawn_texts(app) and [request.text for request in faked.asked] == [SAMPLES[0]]


def test_input_stays_in_sight_after_a_run(open_page: Open) -> None:
    app = ask(open_page("translate"), folder.TEXT)
    assert not app.error and app.text_input(key=TEXT).value == folder.TEXT
    assert not app.expander
    # The model, its options and the samples are next to the input.
    assert app.selectbox(key="translate_model").value == "char-area"
    assert app.select_slider(key="translate_area_size").value == 0
    assert SAMPLES[1][:20] in [one.label[:20] for one in app.button]


def test_hostile_text_is_drawn_as_text_only(
    open_page: Open, use_backend: Callable[[Backend], None]
) -> None:
    use_backend(Faked())
    text = "**bold** :red[x] [l](http://a.example) <script>alert(1)</script>"
    app = ask(open_page("translate"), text)
    assert not app.exception and app.text_input(key=TEXT).value == text
    assert not any(text in one.value for one in (*app.markdown, *app.caption))


def test_no_sentence_is_repeated(open_page: Open) -> None:
    app = ask(open_page("translate"), folder.TEXT)
    said = shown(app)
    assert "How to read this" not in said and "Mean probability" not in said
    assert drawn_texts(app).count(AREA) == 1
    labels = [one.label for one in (*app.button, *app.segmented_control, *app.selectbox)]
    assert len(labels) == len(set(labels))


def test_tabs_are_closed_at_first_and_one_click_opens_one(open_page: Open) -> None:
    app = ask(open_page("translate"), folder.TEXT)
    tabs = control(app, "Further views of this result")
    assert tabs.options == [
        "Without areas", "What if", "All words at once", "As a table", "Attribution",
        "Another model",
    ]  # fmt: skip
    assert not tabs.value and not app.get("plotly_chart") and not app.dataframe
    app = with_tab(app, "view")
    assert len(app.get("plotly_chart")) == 1
    app = with_tab(app, "table")
    assert not app.get("plotly_chart") and len(app.dataframe) == 1
    assert "char-area, greedy" in shown(app)
    app = control(app, "Further views of this result").set_value([]).run()
    assert not app.dataframe


@pytest.mark.parametrize(
    ("params", "tabs"),
    sampled(
        [
            ({}, []),
            ({"view": "matrix"}, ["view"]),
            ({"compare": "1"}, ["compare"]),
            ({"view": "matrix", "compare": "1"}, ["view", "compare"]),
            ({"changes": "gate encoder-decoder 1 1 0", "view": "matrix"}, ["what_if", "view"]),
            ({"foil": "1.der"}, ["what_if"]),
        ],
        ({}, []),
        ({"changes": "gate encoder-decoder 1 1 0", "view": "matrix"}, ["what_if", "view"]),
        many=True,
    ),
)
def test_link_opens_the_tabs_that_show_its_values(
    open_page: Open,
    use_backend: Callable[[Backend], None],
    params: dict[str, str],
    tabs: list[str],
) -> None:
    use_backend(Faked())
    if "changes" in params:
        params = {**params, "changes": format_changes((Gate("encoder-decoder", 0, 0),))}
    app = open_page("translate", model="char-area", text=folder.TEXT, **params)
    assert not app.exception and not app.error
    assert control(app, "Further views of this result").value == tabs
    if "compare" in params:
        assert app.selectbox(key="translate_compare").value == "char-regular"
        assert {AREA, REGULAR} <= set(drawn_texts(app))


def test_tab_without_areas_shows_partner_side_by_side(open_page: Open) -> None:
    app = ask(open_page("translate"), folder.TEXT)
    assert app.selectbox(key="translate_model").value == "char-area"
    app = with_tab(app, "without")
    assert "attend to one character at a time" in shown(app)
    app = app.button(key="translate_beside").click().run()
    assert not app.exception and not app.error
    assert control(app, "Further views of this result").value == ["compare"]
    assert {AREA, REGULAR} <= set(drawn_texts(app))


def test_model_without_areas_has_no_tab_without_areas(open_page: Open) -> None:
    app = open_page("translate", model="char-regular", text=folder.TEXT)
    assert "Without areas" not in control(app, "Further views of this result").options


def test_linked_options_are_shown_in_the_options(open_page: Open) -> None:
    app = open_page("translate", model="char-area", text=folder.TEXT, area="1", method="beam")
    assert app.select_slider(key="translate_area_size").value == 1
    assert app.segmented_control(key="translate_method").value == "beam"


def test_german_input_and_unsure_output_give_warnings(
    open_page: Open, use_backend: Callable[[Backend], None]
) -> None:
    class Unsure(Faked):
        def trace(
            self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
        ) -> Trace:
            made = super().trace(request, progress, caller)
            likely = np.full_like(made.output.probabilities, 0.3)
            return replace(made, output=replace(made.output, probabilities=likely))

    use_backend(Unsure())
    app = ask(open_page("translate"), "Ein Mann und der Hund auf dem Weg")
    (doubt,) = app.warning
    assert "reads like German" in doubt.value and "It knows nothing." in doubt.value.replace(
        "\\", ""
    )
    use_backend(Faked())
    assert not ask(open_page("translate"), folder.TEXT).warning


def test_sentence_is_translated_and_shown(open_page: Open) -> None:
    app = ask(open_page("translate"), folder.TEXT)
    assert not app.exception and not app.error
    assert AREA in drawn_texts(app)
    labels = {element.label for element in app.segmented_control}
    # The legend of the ribbon chooses heads.
    assert {"Attention type", "Layer"} <= labels and "Head" not in labels


def test_button_and_sample_run_the_model(
    open_page: Open, use_backend: Callable[[Backend], None]
) -> None:
    use_backend(faked := Faked())
    app = open_page("translate", text=folder.TEXT, method="guess")
    assert not faked.asked, "the link cannot be followed"
    next(button for button in app.button if button.label == "Translate").click().run()
    assert [request.text for request in faked.asked] == [folder.TEXT]
    app.button(key=f"translate_try {SAMPLES[3]}").click().run()
    assert faked.asked[-1].text == SAMPLES[3] == app.text_input(key=TEXT).value


def test_only_the_chosen_view_is_computed(open_page: Open) -> None:
    app = with_tab(ask(open_page("translate"), folder.TEXT), "view")
    for name in control(app, "View").options:
        app = control(app, "View").set_value(name).run()
        assert not app.exception and not app.error
        assert len(app.get("plotly_chart")) == 1


def test_every_setting_affects_the_shown_result(
    open_page: Open, use_backend: Callable[[Backend], None]
) -> None:
    use_backend(faked := Faked())
    app = open_page("translate", text=folder.TEXT)
    app.select_slider(key="translate_area_size").set_value(1).run()
    app.segmented_control(key="translate_method").set_value("beam").run()
    app.number_input(key="translate_beam").set_value(2).run()
    app.selectbox(key="translate_model").set_value("char-regular").run()
    area = Request("char-area", folder.TEXT)
    assert faked.asked == [
        area,
        replace(area, area_size=1),
        replace(area, area_size=1, method="beam"),
        replace(area, area_size=1, method="beam", beam=2),
        replace(area, model="char-regular", area_size=1, method="beam", beam=2),
    ]
    assert REGULAR in drawn_texts(app) and AREA not in drawn_texts(app)


def test_single_items_are_explained(open_page: Open) -> None:
    app = open_page("translate", model="char-area", text=folder.TEXT, area="1")
    assert "Single items only, by the same weights" in shown(app)


def test_unusable_text_keeps_older_result_with_label(
    open_page: Open,
) -> None:
    app = ask(open_page("translate"), folder.TEXT)
    assert OLDER not in shown(app)
    for text in ("There is no trace of this.", "a" * 4097):
        app = ask(app, text)
        assert len(app.error) == 1 and OLDER in shown(app) and AREA in drawn_texts(app)
        assert app.text_input(key=TEXT).value == text
        assert app.query_params["text"] == folder.TEXT
    app = ask(app, folder.TEXT)
    assert AREA in drawn_texts(app) and not app.error and OLDER not in shown(app)


def test_failure_never_shows_older_result_for_newer_text(
    open_page: Open, use_backend: Callable[[Backend], None]
) -> None:
    use_backend(faked := Faked())
    app = ask(open_page("translate"), folder.TEXT)
    faked.error = BackendError("The model cannot be reached.")
    app = ask(app, "Another text.")
    assert len(app.error) == 1 and AREA not in drawn_texts(app) and not app.get("plotly_chart")


def test_compared_models_are_side_by_side(open_page: Open) -> None:
    app = with_tab(ask(open_page("translate"), folder.TEXT), "compare")
    app = app.selectbox(key="translate_compare").set_value("char-regular").run()
    assert not app.exception and not app.error
    assert {AREA, REGULAR} <= set(drawn_texts(app))
    assert app.selectbox(key="translate_compare").value == "char-regular"
    assert len(with_tab(app, "view").get("plotly_chart")) == 2
    assert app.query_params["compare"] == "char-regular"


def test_regular_model_ignores_area_size(
    open_page: Open, use_backend: Callable[[Backend], None]
) -> None:
    use_backend(faked := Faked())
    open_page("translate", model="char-area", text=folder.TEXT, area="3", compare="1")
    assert [(request.model, request.area_size) for request in faked.asked] == [
        ("char-area", 3),
        ("char-regular", None),
    ]


def test_link_restores_page_in_a_fresh_session(open_page: Open) -> None:
    request = Request("char-area", folder.TEXT, method="beam")
    focus = Focus("encoder self", 1, 2, "memory", (2, 3, 7), "word")
    params = {**to_params(request, focus), "compare": "0"}
    app = open_page("translate", **params)
    assert not app.exception and not app.error
    assert AREA in drawn_texts(app)
    assert app.text_input(key=TEXT).value == folder.TEXT
    assert app.segmented_control(key="translate_method").value == "beam"
    assert app.segmented_control(key="translate_site").value == "encoder self"
    assert control(app, "Layer").value == 1 and app.query_params["head"] == "3"
    assert {name: app.query_params[name] for name in to_params(request, focus)} == to_params(
        request, focus
    )


def test_copied_link_opens_the_same_view(open_page: Open) -> None:
    app = with_tab(open_page("translate", text=folder.TEXT, head="4", site="encoder self"), "view")
    app = control(app, "View").set_value(control(app, "View").options[-1]).run()
    again = open_page("translate", **app.query_params)
    assert again.query_params == app.query_params and again.query_params["head"] == "4"
    assert control(again, "View").value == control(app, "View").value
    assert [one.value for one in again.code] == [one.value for one in app.code]


def test_address_follows_the_layer(open_page: Open) -> None:
    app = ask(open_page("translate"), folder.TEXT)
    assert "layer" not in app.query_params and "view" not in app.query_params
    app = control(app, "Layer").set_value(1).run()
    assert app.query_params["layer"] == "2"


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"model": "nobody", "text": folder.TEXT}, "“nobody”, which is not here"),
        ({"text": folder.TEXT, "area": "many"}, "must be a whole number"),
        ({"text": folder.TEXT, "beam": "99"}, "99"),
        ({"text": folder.TEXT, "method": "guess"}, "guess"),
        ({"text": folder.TEXT, "site": "encoder-decoder", "items": "x"}, "positions"),
        ({"text": "a" * 4097}, "4,097"),
        ({"text": folder.TEXT, "model": "../../etc/passwd"}, "does not exist"),
    ],
)
def test_invalid_link_shows_error_on_usable_page(
    open_page: Open, params: dict[str, str], said: str
) -> None:
    app = open_page("translate", **params)
    assert not app.exception
    assert len(app.error) == 1 and said in shown(app)
    assert app.text_input(key=TEXT).value == params["text"]
    assert AREA in drawn_texts(ask(app.text_input(key=TEXT).set_value("").run(), folder.TEXT))


def test_link_to_missing_part_shows_available_parts(open_page: Open) -> None:
    asked = {
        "text": folder.TEXT,
        "site": "encoder nothing",
        "layer": "9",
        "head": "40",
        "items": "400",
        "view": "none",
    }
    app = open_page("translate", **asked)
    assert not app.exception and not app.error
    for said in (
        "Attention type “encoder nothing”",
        "Layer “9”",
        "Head “40”",
        "View “none” does not exist",
    ):
        assert said in shown(app)
    assert AREA in drawn_texts(app)


def test_items_beyond_the_end_are_reported(open_page: Open) -> None:
    app = open_page("translate", text=folder.TEXT, site="encoder-decoder", items="2,400")
    assert "past the end" in shown(app)
    assert app.query_params["items"] == "2"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Type a sentence"),
        ("  \n ", "Type a sentence"),
        ("a" * 4097, "4,097"),
        ("e" + "\u0301" * 31, "30"),
    ],
)
def test_unusable_text_gives_one_sentence(open_page: Open, text: str, said: str) -> None:
    app = ask(open_page("translate"), text)
    assert not app.exception
    assert len(app.error) == 1 and said in shown(app)
    assert app.text_input(key=TEXT).value == text


@pytest.mark.parametrize(
    "text",
    sampled(
        [
            "a",
            "🙂 👩‍👩‍👧 ok",
            "שלום עולם",
            "e\u0301le\u0300ve",
            "two\nlines\r\nhere",
            "日本語の文",
            "**bold** <b>x</b> $a$ `c`",
            "x" * 300,
        ],
        "🙂 👩‍👩‍👧 ok",
        "**bold** <b>x</b> $a$ `c`",
    ),
)
def test_unusual_text_is_shown_as_text(
    open_page: Open, use_backend: Callable[[Backend], None], text: str
) -> None:
    use_backend(faked := Faked())
    app = ask(open_page("translate"), text)
    assert not app.exception and not app.error
    assert AREA in drawn_texts(app)
    assert faked.asked[1:] == [Request("char-area", text).checked()]
    assert len(with_tab(app, "view").get("plotly_chart")) == 1


def test_markup_in_a_message_stays_text(
    open_page: Open, use_backend: Callable[[Backend], None]
) -> None:
    use_backend(Faked(BackendError("Bad ![x](http://a.example/x.png) **word**.")))
    app = ask(open_page("translate"), folder.TEXT)
    assert app.error[0].value == r"Bad \!\[x\]\(http\:\/\/a\.example\/x\.png\) \*\*word\*\*\."


def test_unexpected_error_is_logged_and_shown_without_traceback(
    open_page: Open, use_backend: Callable[[Backend], None], caplog: pytest.LogCaptureFixture
) -> None:
    use_backend(Faked(ZeroDivisionError("secret detail")))
    app = ask(open_page("translate"), folder.TEXT)
    assert not app.exception and len(app.error) == 1
    assert "The error is in the app's log" in shown(app) and "secret detail" not in shown(app)
    assert "secret detail" in caplog.text
    assert app.text_input(key=TEXT).value == folder.TEXT


def test_damaged_checkpoints_are_reported_and_skipped(
    open_page: Open, use_backend: Callable[[Backend], None]
) -> None:
    damaged = ("The checkpoint token-area is damaged; restore it.",)
    use_backend(Faked(damaged=damaged))
    app = ask(open_page("translate"), folder.TEXT)
    assert [element.value.replace("\\", "") for element in app.error] == list(damaged)
    assert AREA in drawn_texts(app)


def test_page_without_models_says_so(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AREAVIZ_BACKEND", "replay:/nowhere at all")
    app = open_page("translate", text=folder.TEXT)
    assert not app.exception and len(app.error) == 1 and "no stored trace" in shown(app)


def test_unknown_setting_gives_one_error(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AREAVIZ_BACKEND", "cloud")
    app = open_page("translate")
    assert not app.exception and len(app.error) == 1 and "AREAVIZ_BACKEND" in shown(app)


def test_all_files_are_offered_for_each_trace(open_page: Open) -> None:
    app = ask(open_page("translate"), folder.TEXT)
    labels = ["Interactive page (.html)", "SVG", "PDF", "PNG", "CSV", "JSON", "Trace"]
    assert sorted(button.label for button in app.download_button) == sorted(labels)
    app = open_page("translate", text=folder.TEXT, compare="1")
    assert sorted(button.label for button in app.download_button) == sorted(labels)
    app = control(app, "From").set_value(control(app, "From").options[1]).run()
    assert {button.key.split("_trace")[0] for button in app.download_button}, "of the other model"


def test_stored_trace_can_be_opened_instead(open_page: Open) -> None:
    app = open_page("translate", text=folder.TEXT)
    content = codec.trace_to_bytes(folder.trace(Request("char-regular", "Two cats sleep.")))
    app = app.file_uploader(key="stored_file").upload("mine.npz", content).run()
    assert not app.exception and not app.error
    assert REGULAR in drawn_texts(app) and "Stored trace" in shown(app)
    assert not any("http" in code.value for code in app.code), "a stored trace has no link"


def newer() -> bytes:
    source = zipfile.ZipFile(io.BytesIO(codec.trace_to_bytes(folder.trace(folder.requests()[0]))))
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name in source.namelist():
            content = source.read(name)
            archive.writestr(
                name,
                content.replace(b'"version": %d' % VERSION, b'"version": 9')
                if name.endswith("json")
                else content,
            )
    return target.getvalue()


@pytest.mark.parametrize(
    ("content", "said"), [(b"hello", "not a trace"), (b"", "not a trace"), (newer(), "Update")]
)
def test_file_that_is_not_a_trace_gives_one_error(
    open_page: Open, content: bytes, said: str
) -> None:
    app = open_page("translate", text=folder.TEXT)
    app = app.file_uploader(key="stored_file").upload("mine.npz", content).run()
    assert not app.exception and len(app.error) == 1 and said in shown(app)


def test_files_are_made_without_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that downloads do not use the disk, so that a full disk cannot spoil them."""
    trace = folder.trace(folder.requests()[0])
    focus = Focus("encoder-decoder", items=(1,))
    view = next(view for view in VIEWS.values() if view.fits(trace, focus))
    list_files(view, trace, focus)["png"].make()  # load the fonts first

    def full(*args: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.write", full)
    monkeypatch.setattr("tempfile.NamedTemporaryFile", full)
    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    made = {kind: file.make() for kind, file in list_files(view, trace, focus).items()}
    assert (
        made["svg"].startswith(b"<?xml")
        and made["pdf"].startswith(b"%PDF")
        and made["png"].startswith(b"\x89PNG")
    )
    assert codec.trace_from_bytes(made["npz"]).request == trace.request
    assert made["csv"] and made["json"]


def test_sessions_are_kept_apart(open_page: Open) -> None:
    first, second = open_page("translate"), open_page("translate", text=folder.TEXT)
    assert folder.TEXT in drawn_texts(second) and folder.TEXT not in drawn_texts(first)


def test_session_keeps_only_traces_of_last_question(
    open_page: Open, use_backend: Callable[[Backend], None]
) -> None:
    use_backend(Faked())
    app = open_page("translate")
    for text in ("A dog runs.", "A cat sleeps.", "Two men sit."):
        ask(app, text)
    kept = {
        name: app.session_state[name] for name in app.session_state if name in app.session_state
    }
    assert {trace.request.text for trace in traces_in(kept)} == {"Two men sit."}


def traces_in(value: object) -> Iterator[Trace]:
    """Yield every trace that can be reached from a value of a session."""
    if isinstance(value, Trace):
        yield value
    elif isinstance(value, Mapping):
        yield from traces_in(tuple(value.values()))
    elif isinstance(value, list | tuple | set):
        for one in value:
            yield from traces_in(one)
    elif is_dataclass(value):
        yield from traces_in([getattr(value, field.name) for field in fields(value)])


def test_all_heads_are_shown_with_dataset_statistics(
    open_page: Open, use_backend: Callable[[Backend], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = Faked()
    card = replace(folder.card("char-area", "area"), heads={"encoder-decoder": folder.HEADS})
    monkeypatch.setattr(backend, "models", lambda: {"char-area": card})
    use_backend(backend)
    app = open_page("translate", text=folder.TEXT, view="overview")
    assert not app.exception and not app.error
    tables = [frame.value for frame in app.dataframe if "Name" in frame.value]
    assert len(tables) == 1 and list(tables[0]["Query dependence (bits)"]) == [2.5, 0.12]
    assert "200 validation examples" in shown(app)
    other = open_page("translate", text=folder.TEXT, view="overview", site="encoder self")
    assert not [frame for frame in other.dataframe if "Name" in frame.value]


class Blind(Faked):
    """A backend with a model that attends to nothing."""

    def models(self) -> dict[str, Card]:
        return {**super().models(), "blind": folder.card("blind", "none")}

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        if request.model != "blind":
            return super().trace(request, progress, caller)
        return replace(fakes.trace(request.text), request=request, maps={})


def test_model_without_attention_shows_output_and_confidence(
    open_page: Open, use_backend: Callable[[Backend], None]
) -> None:
    use_backend(Blind())
    app = open_page("translate", model="blind", text="A dog.")
    assert not app.exception and not app.error
    assert "encodes the whole sentence once" in shown(app) and "Ein kleiner Hund" in shown(app)
    assert [chart.key for chart in app.get("plotly_chart")] == ["chart_blind_0"]
    app = with_tab(app, "compare")
    app.selectbox(key="translate_compare").set_value("char-area").run()
    assert not app.exception and not app.error and AREA in drawn_texts(app)
